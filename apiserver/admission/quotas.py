"""ResourceQuota admission: refuses objects beyond the quotas of their namespace.

Accepted usage is added to the quota's status in the same commit. `controllers.core.quotas` counts
again after deletions. Follows apiserver/pkg/admission/plugin/resourcequota (controller.go,
checkRequest).
"""

from functools import partial

import orjson

from inkube.apiserver.registry import (
    Effect,
    OnDemand,
    Operation,
    Request,
    Resource,
    StoreCache,
    Write,
    keys,
    refused,
)
from inkube.schemas import builtin, quantity
from inkube.schemas.objects import Object
from inkube.schemas.quantity import Quantity
from inkube.storage import Entry, Store, writes

_PODS = ("", "pods")
PREFIX = keys.prefix("resourcequotas")
_CLASSES = keys.prefix("deviceclasses")


class DeviceClasses:
    """The device classes of a store, for the extended resources of claims."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._provided = StoreCache(store, (_CLASSES,), partial(_provided, store))

    def of(self, request: Request) -> "builtin.devicequotas.Devices":
        """Return what decides about claims in the namespace of a request."""
        namespace = request.namespace
        return builtin.devicequotas.Devices(
            self._provided.value,
            lambda name: self._find(keys.key("pods", namespace, name)),
            lambda: [
                entry.value for entry in self._store.list(keys.key("resourceclaims", namespace, ""))
            ],
        )

    def _find(self, key: str) -> Object | None:
        entry = self._store.get(key)
        return None if entry is None else entry.value


def devices_for(
    write: Write, classes: DeviceClasses | None
) -> "builtin.devicequotas.Devices | None":
    """Return what decides about a claim; None for another kind, and without `classes`."""
    is_claim = (
        write.request.resource.group,
        write.request.resource.plural,
    ) == builtin.quotas.CLAIMS
    return classes.of(write.request) if is_claim and classes is not None else None


class QuotaAdmission(OnDemand):
    """Refuses writes beyond a quota, and charges accepted ones. It must be the last plugin, because
    it counts every write that it accepts."""

    name = "ResourceQuota"
    is_private = False  # it stores the usage of writes that it accepts

    def __init__(self, store: Store, classes: DeviceClasses | None) -> None:
        """Without `classes`, claims use no extended resources."""
        self._store = store
        self._classes = classes
        self._limited = StoreCache(store, (PREFIX,), partial(_namespaces, store))
        """The namespaces with quotas."""
        super().__init__(self._limited)

    def handles(self, resource: Resource, operation: Operation) -> bool:
        return counts(resource, operation)

    async def validate(self, write: Write) -> None:
        if write.request.namespace in self._limited.value:
            for entry in self._matching(write):
                self._check_known(write, entry.value)

    def reserve(self, write: Write) -> Effect | None:
        request = write.request
        if request.namespace not in self._limited.value:
            return None
        devices = self._devices(write)
        for entry in self._matching(write):
            asked = requested(write, devices, entry.value)
            if asked:
                write.beside = (*write.beside, partial(self._charge, write, entry.key, asked))
        return None

    def _matching(self, write: Write) -> list[Entry]:
        """Return the quotas that apply to the write."""
        request = write.request
        if not is_counted(write):
            return []
        entries = self._store.list(f"{PREFIX}{request.namespace}/")
        place, obj = (request.resource.group, request.resource.plural), write.object or {}
        devices = self._devices(write)
        return [
            entry
            for entry in entries
            if builtin.quotas.about(entry.value, *place, devices)
            and builtin.quotas.matches(entry.value, *place, obj)
        ]

    def _devices(self, write: Write) -> "builtin.devicequotas.Devices | None":
        return devices_for(write, self._classes)

    def _check_known(self, write: Write, quota: Object) -> None:
        """Raise StatusError 403 if a container does not set a resource that the quota limits, or if
        the status has a limit without its usage (hasUsageStats)."""
        place = (write.request.resource.group, write.request.resource.plural)
        name, why = quota["metadata"]["name"], ""
        if place == _PODS:
            why = builtin.quotas.unsaid(builtin.quotas.about(quota, *_PODS), write.object or {})
        if why:
            raise refused(write, f"failed quota: {name}: {why}")
        uncounted = builtin.quotas.uncounted(quota, *place, self._devices(write))
        if uncounted:
            text = f"status unknown for quota: {name}, resources: {','.join(uncounted)}"
            raise refused(write, text)

    def _check(
        self, write: Write, entry: Entry, amounts: dict[str, Quantity]
    ) -> dict[str, Quantity]:
        """Return the usage including the write, for the resources that the quota limits. Raises
        StatusError 403."""
        bounds = builtin.quotas.hard(entry.value)
        requested = {name: amount for name, amount in amounts.items() if name in bounds}
        used = {name: self._used(write.request, entry, name) for name in requested}
        more = {name: amount for name, amount in requested.items() if amount.sign > 0}
        beyond = builtin.quotas.exceeded(bounds, used, more)
        if beyond:
            name = entry.value["metadata"]["name"]
            why = builtin.quotas.refusal(name, beyond, requested, used, bounds)
            raise refused(write, why)
        return {name: used[name].add(requested[name]) for name in used}

    def _charge(self, write: Write, key: str, amounts: dict[str, Quantity]) -> list[writes.Write]:
        """Return the writes that charge a quota. Raises StatusError 403 if the limit is
        exceeded."""
        entry = self._store.get(key)
        used = {} if entry is None else self._check(write, entry, amounts)
        return [_charged(entry, used)] if entry is not None and used else []

    def _used(self, request: Request, entry: Entry, name: str) -> Quantity:
        """Return the usage in the status, or count it if the status is incomplete."""
        known = ((entry.value.get("status") or {}).get("used") or {}).get(name)
        if known is not None:
            return quantity.parse(known)
        devices = None if self._classes is None else self._classes.of(request)
        own = (request.resource.group, request.resource.plural)
        amount = quantity.ZERO
        for place in builtin.quotas.counted_resources(name, devices):
            prefix = keys.key(place[1], request.namespace, "")  # pods and claims share names
            prefix = request.resource.key(request.namespace, "") if place == own else prefix
            objects = (one.value for one in self._store.list(prefix))
            amount = amount.add(builtin.quotas.total(entry.value, name, place, objects, devices))
        return amount


def counts(resource: Resource, operation: Operation) -> bool:
    """Return whether writes of a kind can change usage."""
    if not resource.namespaced:
        return False
    place = (resource.group, resource.plural)
    changes = builtin.quotas.charges_updates(*place) or place == _PODS
    return operation == "CREATE" or (operation == "UPDATE" and changes)


def _namespaces(store: Store) -> frozenset[str]:
    """Return the namespaces with quotas."""
    return frozenset(entry.key.split("/")[3] for entry in store.list(PREFIX))


def _provided(store: Store) -> dict[str, str]:
    return builtin.devicequotas.provided(entry.value for entry in store.list(_CLASSES))


def _charged(entry: Entry, used: dict[str, Quantity]) -> writes.Write:
    """Return the write of a quota's new usage. The status gets no limits without usage, which mean
    that nobody has counted."""
    quota: Object = orjson.loads(entry.data)
    quota["metadata"].pop("resourceVersion", None)
    observed, bounds = quota.get("status") or {}, quota["spec"]["hard"]
    known = (observed.get("used") or {}) | {
        name: quantity.canonical(amount) for name, amount in used.items()
    }
    hard = (observed.get("hard") or {}) | {name: bounds[name] for name in used}
    quota["status"] = {"hard": dict(sorted(hard.items())), "used": dict(sorted(known.items()))}
    return writes.Update(entry.key, quota, entry.revision)


def is_counted(write: Write) -> bool:
    """Return whether the write can change usage. Writes to most subresources cannot, and updates of
    pods only if these get into another scope."""
    request, old = write.request, write.old
    if request.subresource:  # for example, a token is not another service account
        return request.subresource == "resize"
    pods = (request.resource.group, request.resource.plural) == _PODS
    if not pods or write.operation != "UPDATE" or write.object is None or old is None:
        return True
    return builtin.quotas.ends(old["spec"]) != builtin.quotas.ends(write.object["spec"])


def requested(
    write: Write, devices: "builtin.devicequotas.Devices | None", quota: Object
) -> dict[str, Quantity]:
    """Return the difference in usage between the new object and the old one, or the usage of the
    new one if the quota did not match the old one."""
    place, old = (write.request.resource.group, write.request.resource.plural), write.old
    used = builtin.quotas.usage(*place, write.object or {}, devices)
    is_update = write.operation == "UPDATE"
    if is_update and old is not None and builtin.quotas.matches(quota, *place, old):
        before = builtin.quotas.usage(*place, old, devices)
        for name, amount in before.items():
            used[name] = used.get(name, quantity.ZERO).subtract(amount)
    return {name: amount for name, amount in used.items() if amount.sign}
