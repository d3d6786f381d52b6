"""What is taken: devices, capacity of devices that several claims share, and counters of pools.

Follows structured/internal/incubating/consumable_capacity.go and `checkAvailableCounters`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from inkube.client import Object
from inkube.controllers.workloads.devices.podclaims import results
from inkube.controllers.workloads.devices.pools import Device, DeviceName, Pool
from inkube.formats import caches, quantity

Quantity = quantity.Quantity
_ZERO = Quantity(0)


@caches.of_texts(4096)
def amount(text: str) -> Quantity:
    """Return the amount of a text such as `40Gi`."""
    return quantity.parse(text)


class Taken:
    """The devices and capacities of all allocated claims, by the uid of the claim.

    Devices that were given with admin access are not taken.
    """

    def __init__(self) -> None:
        self._by_claim: dict[str, list[Object]] = {}
        self._whole: Counter[DeviceName] = Counter()
        self._shares: Counter[DeviceName] = Counter()
        self._capacity: dict[DeviceName, dict[str, Quantity]] = {}

    def set(self, uid: str, allocation: Object | None) -> None:
        """Record the allocation of a claim instead of its former one; None for none."""
        for each in self._by_claim.pop(uid, ()):
            self._count(each, -1)
        own = [each for each in results(allocation) if not each.get("adminAccess")]
        if own:
            self._by_claim[uid] = own
            for each in own:
                self._count(each, 1)

    def has(self, name: DeviceName) -> bool:
        """Return whether a claim has the whole device."""
        return self._whole[name] > 0

    def is_used(self, name: DeviceName) -> bool:
        """Return whether a claim has the device or a share of it."""
        return self._whole[name] > 0 or self._shares[name] > 0

    def capacity(self, name: DeviceName) -> Mapping[str, Quantity]:
        """Return the capacity that shares of a device consume."""
        return self._capacity.get(name, {})

    def _count(self, result: Object, step: int) -> None:
        name = result["driver"], result["pool"], result["device"]
        counts = self._shares if result.get("shareID") else self._whole
        counts[name] += step
        if not counts[name]:
            del counts[name]
        used = self._capacity.setdefault(name, {})
        for what, text in (result.get("consumedCapacity") or {}).items():
            change = amount(str(text))
            before = used.get(what, _ZERO)
            used[what] = before.add(change) if step > 0 else before.subtract(change)
        if not self._shares[name]:
            self._capacity.pop(name, None)


def consumed(device: Object, requirements: Object | None) -> dict[str, Quantity] | None:
    """Return the capacity that a request consumes of a device, or None if the device cannot give
    it, also when nobody else uses it (calculateConsumedCapacity, violatesPolicy)."""
    capacity: Mapping[str, Object] = device.get("capacity") or {}
    asked: Mapping[str, str] = (requirements or {}).get("requests") or {}
    if any(name not in capacity for name in asked):
        return None
    found = {}
    for name, each in capacity.items():
        policy = each.get("requestPolicy") or {}
        value = _consumption(asked.get(name), each, policy)
        if _violates(value, policy) or value > amount(str(each["value"])):
            return None
        found[name] = value
    return found


def exceeds(device: Object, uses: Iterable[Mapping[str, Quantity]]) -> bool:
    """Return whether uses together exceed the capacity of a device."""
    every = list(uses)
    return any(
        total(use.get(name, _ZERO) for use in every) > amount(str(each["value"]))
        for name, each in (device.get("capacity") or {}).items()
    )


def total(values: Iterable[Quantity]) -> Quantity:
    """Return the sum of quantities."""
    found = _ZERO
    for each in values:
        found = found.add(each)
    return found


def _consumption(requested: str | None, capacity: Object, policy: Object) -> Quantity:
    if requested is None:
        return amount(str(policy.get("default") or capacity["value"]))
    wanted, span = amount(str(requested)), policy.get("validRange") or {}
    if span.get("min") is not None:
        return _rounded_up(wanted, span)
    for each in policy.get("validValues") or ():
        if wanted <= amount(str(each)):
            return amount(str(each))
    return wanted


def _rounded_up(value: Quantity, span: Object) -> Quantity:
    """Return the next value of a range (roundUpRange)."""
    least = amount(str(span["min"]))
    if value < least:
        return least
    if span.get("step") is None:
        return value
    start, step = _whole(least), _whole(amount(str(span["step"])))
    steps = -(-(_whole(value) - start) // step)
    return Quantity(start + step * steps, 0, quantity.Format.BINARY)


def _violates(value: Quantity, policy: Object) -> bool:
    if policy.get("default") is not None and value == amount(str(policy["default"])):
        return False
    span = policy.get("validRange")
    if span is not None:
        if span.get("max") is not None and value > amount(str(span["max"])):
            return True
        if span.get("step") is None:
            return False
        offset = _whole(value) - _whole(amount(str(span.get("min") or "0")))
        return offset % _whole(amount(str(span["step"]))) != 0
    values = policy.get("validValues") or ()
    return bool(values) and all(value != amount(str(each)) for each in values)


def _whole(value: Quantity) -> int:
    """Return a quantity as an integer, rounded up (Value)."""
    if value.scale >= 0:
        return int(value.value * 10**value.scale)
    return int(-(-value.value // 10**-value.scale))


class Budgets:
    """The counters of pools: what is left of each after what is allocated."""

    def __init__(self, taken: Taken) -> None:
        self._taken = taken
        self._left: dict[tuple[str, str], dict[tuple[str, str], Quantity]] = {}

    def consume(self, device: Device) -> bool:
        """Take what a device consumes, if all counters of its pool suffice. Returns whether they
        did."""
        left = self._of(device.pool)
        self._change(device, left, -1)
        if all(value.sign >= 0 for value in left.values()):
            return True
        self._change(device, left, 1)
        return False

    def release(self, device: Device) -> None:
        """Give back what a device consumed."""
        self._change(device, self._of(device.pool), 1)

    def _of(self, pool: Pool) -> dict[tuple[str, str], Quantity]:
        left = self._left.get(pool.name)
        if left is None:
            left = self._left[pool.name] = {
                (group, name): amount(str(counter["value"]))
                for group, counters in pool.counters.items()
                for name, counter in counters.items()
            }
            for device in (*pool.devices, *pool.elsewhere):
                if self._taken.is_used(device.name):
                    self._change(device, left, -1)
        return left

    @staticmethod
    def _change(device: Device, left: dict[tuple[str, str], Quantity], step: int) -> None:
        for each in device.object.get("consumesCounters") or ():
            for name, counter in (each.get("counters") or {}).items():
                place, change = (each["counterSet"], name), amount(str(counter["value"]))
                value = left[place]
                left[place] = value.subtract(change) if step < 0 else value.add(change)
