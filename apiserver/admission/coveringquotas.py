"""Kinds whose use needs a quota: `limitedResources` in the configuration of ResourceQuota.

Refuses what consumes such a resource in a namespace where no quota limits it. Follows
apiserver/pkg/admission/plugin/resourcequota (controller.go, CheckRequest) and its configuration
types.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from inkube.apiserver.admission import quotas as admission
from inkube.apiserver.registry import Operation, Plugin, Resource, Write, refused
from inkube.schemas import status
from inkube.schemas.builtin import devicequotas, quotas
from inkube.schemas.objects import Object
from inkube.storage import Store


class Limit(NamedTuple):
    """What needs a quota: resources of a kind, and objects in scopes."""

    group: str
    plural: str
    contains: Collection[str]
    """Parts of names of resources: "pods" stands for `pods` and `count/pods`."""
    scopes: Sequence[Object]


def limits(configuration: Object) -> Sequence[Limit]:
    """Return the limits of a configuration. Raises ValueError for one without a resource."""
    present = configuration.get("limitedResources") or []
    for index, each in enumerate(present):
        if not each.get("resource"):
            raise ValueError(f"limitedResources[{index}].resource: Required value")
    return [
        Limit(
            each.get("apiGroup") or "",
            each["resource"],
            each.get("matchContains") or (),
            each.get("matchScopes") or (),
        )
        for each in present
    ]


class CoveringQuotas(Plugin):
    """Refuses writes that consume a limited resource without a quota for it."""

    name = "ResourceQuota"

    def __init__(
        self, store: Store, configured: Sequence[Limit], classes: admission.DeviceClasses | None
    ) -> None:
        self._store = store
        self._classes = classes
        self._limits = configured

    def handles(self, resource: Resource, operation: Operation) -> bool:
        return admission.counts(resource, operation)

    async def validate(self, write: Write) -> None:
        place, obj = (write.request.resource.group, write.request.resource.plural), write.new
        devices = admission.devices_for(write, self._classes)
        asked = admission.requested(write, devices, {}) if admission.is_counted(write) else {}
        if not any(amount.sign > 0 for amount in asked.values()):
            return
        present = [
            entry.value
            for entry in self._store.list(f"{admission.PREFIX}{write.request.namespace}/")
        ]
        self._check_resources(write, place, present, devices)
        self._check_scopes(place, obj, present)

    def _check_resources(
        self,
        write: Write,
        place: tuple[str, str],
        present: list[Object],
        devices: devicequotas.Devices | None,
    ) -> None:
        """Raise StatusError 403 for a limited resource that no quota limits."""
        obj = write.new
        used = quotas.usage(*place, obj, devices)
        consumed = [name for name, amount in used.items() if amount.sign > 0]
        limited = {
            name
            for limit in self._limits
            if (limit.group, limit.plural) == place
            for name in consumed
            if any(part in name for part in limit.contains)
        }
        for quota in present:
            if quotas.matches(quota, *place, obj):
                limited -= set(quotas.about(quota, *place, devices))
        if limited:
            raise refused(write, f"insufficient quota to consume: {','.join(sorted(limited))}")

    def _check_scopes(self, place: tuple[str, str], obj: Object, present: list[Object]) -> None:
        """Raise StatusError 500, as upstream does, for an object in a limited scope that no quota
        has."""
        covered = {
            scope["scopeName"]
            for quota in present
            for scope in quotas.scopes(quota)
            if quotas.is_in_scope(scope, *place, obj)
        }
        uncovered = [
            scope
            for limit in self._limits
            for scope in limit.scopes
            if quotas.is_in_scope(scope, *place, obj) and scope["scopeName"] not in covered
        ]
        if uncovered:
            text = " ".join(map(_in_go, uncovered))
            raise status.unknown(f"insufficient quota to match these scopes: [{text}]")


def _in_go(scope: Object) -> str:
    """Return a ScopedResourceSelectorRequirement as fmt's %v writes it."""
    values = " ".join(scope.get("values") or ())
    return f"{{{scope['scopeName']} {scope.get('operator', '')} [{values}]}}"
