"""Resource quotas: the usage in their status, computed again after changes.

Such changes are those of a quota, deletions of objects, and changes of pods, services and claims.
Admission charges growing usage. Follows pkg/controller/resourcequota.
"""

from collections.abc import Callable, Iterable

from inkube.controllers.client import Client, Object, Selection, get_or_none
from inkube.controllers.core.catalog import Catalog, Step
from inkube.controllers.informer import Change, Informer, Key
from inkube.controllers.manager import Controller, Manager, Result, Watch
from inkube.schemas import quantity
from inkube.schemas.builtin import devicequotas, quotas
from inkube.schemas.meta import GVR

NAME = "quotas"
_DEVICE_CLASSES = GVR("resource.k8s.io", "v1", "deviceclasses")
RESOURCE = GVR("", "v1", "resourcequotas")
_RECALCULATED = frozenset({
    "v1/pods", "v1/persistentvolumeclaims", "v1/services", "resource.k8s.io/v1/resourceclaims",
})  # fmt: skip
"""Kinds whose objects can reduce their usage while they exist."""


class QuotaController:
    """Computes the usage of quotas."""

    def __init__(
        self, client: Client, catalog: Catalog, informer: Informer, *, extends: bool
    ) -> None:
        """`extends` is whether device classes provide extended resources."""
        self._extends = extends
        self._client = client
        self._catalog = catalog
        self._informer = informer

    def feed(self, add: Callable[[Key], None]) -> Callable[[], None]:
        """Add the quotas of a namespace to the queue after a deletion or reduced usage in it."""

        def follow(step: Step) -> None:
            changed = step.old is not None and step.item.key.resource in _RECALCULATED
            if step.new is None or changed:
                for quota in self._informer.items(step.item.key.namespace or "-"):
                    add(Key.of(quota))

        def anew() -> None:
            for key in self.every():
                add(key)

        return self._catalog.follow(follow, anew)

    def every(self, _change: Change | None = None) -> Iterable[Key]:
        """Return all quotas."""
        return map(Key.of, self._informer.items())

    async def reconcile(self, key: Key) -> Result | None:
        """Update the status of one quota."""
        quota = await get_or_none(self._client, RESOURCE, key.name, key.namespace)
        if quota is None:
            return None
        hard = quotas.hard(quota)
        status = {"hard": hard, "used": await self._usage(quota)}
        if not hard:
            status = {}
        if (quota.get("status") or {}) != status:
            await self._client.update({**quota, "status": status}, subresource="status")
        return None

    async def _usage(self, quota: Object) -> Object:
        namespace = quota["metadata"]["namespace"]
        used = {}
        listed: dict[tuple[str, str], list[Object]] = {}
        names = sorted(quotas.hard(quota))
        devices = await self._devices(namespace, names, listed)
        for name in names:
            places = [*quotas.counted_resources(name, devices)]
            amount = quantity.ZERO
            for place in places:
                objects = await self._list(place, namespace, listed)
                amount = amount.add(quotas.total(quota, name, place, objects, devices))
            if places:
                used[name] = quantity.canonical(amount)
        return used

    async def _devices(
        self, namespace: str, names: list[str], listed: dict[tuple[str, str], list[Object]]
    ) -> devicequotas.Devices | None:
        """Return what decides about the extended resources of claims; None if a quota has none."""
        if not self._extends or not any(n.startswith("requests.") and "/" in n for n in names):
            return None
        classes = (await self._client.list(_DEVICE_CLASSES)).items
        pods = {
            each["metadata"]["name"]: each
            for each in await self._list(("", "pods"), namespace, listed)
        }
        claims = await self._list(quotas.CLAIMS, namespace, listed)
        return devicequotas.Devices(devicequotas.provided(classes), pods.get, lambda: claims)

    async def _list(
        self, place: tuple[str, str], namespace: str, listed: dict[tuple[str, str], list[Object]]
    ) -> list[Object]:
        """Return the objects of a kind, listed once."""
        if place not in listed:
            resource, found = self._resource(*place), []
            if resource is not None:
                found = (await self._client.list(resource, Selection(namespace=namespace))).items
            listed[place] = found
        return listed[place]

    def _resource(self, group: str, plural: str) -> GVR | None:
        """Return the served resource with that name; None if there is none yet."""
        for kind in self._catalog.kinds():
            if (kind.resource.group, kind.resource.resource) == (group, plural):
                return kind.resource
        return None


def _keys_to_recalculate(change: Change) -> Iterable[Key]:
    """Yield the quota of a change, if it is new or its limits differ from those in its status."""
    new = change.new
    if new is None:
        return
    hard = (new.get("spec") or {}).get("hard")
    if change.old is None or hard != (new.get("status") or {}).get("hard"):
        yield Key.of(new)


def add(manager: Manager, catalog: Catalog, client: Client, *, extends: bool) -> None:
    """Add the controller to the manager."""
    informer = manager.informers.of(RESOURCE)
    controller = QuotaController(client, catalog, informer, extends=extends)
    watches = [Watch(RESOURCE, keys=_keys_to_recalculate)]
    if extends:
        watches.append(Watch(_DEVICE_CLASSES, keys=controller.every))
    manager.add(Controller(NAME, controller.reconcile, tuple(watches), sources=(controller.feed,)))
