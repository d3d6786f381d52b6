"""The used and free cluster IPs and node ports.

An `Allocator` contains the items of stored services and of writes in progress. It receives every
change of a stored service, from all processes. A write is committed only if no other stored service
has one of its items (`Allocator.check`), so that two services never have the same item. Follows
pkg/registry/core/service/{ipallocator,portallocator} and service/storage/alloc.go.
"""

import ipaddress
import threading
from collections.abc import Iterable, Iterator
from typing import Final

from inkube.schemas.objects import Object
from inkube.schemas.strategy import ReservationLost

RANGE = "10.0.0.0/16"
"""The default range of cluster IPs."""
NODE_PORTS = range(30_000, 32_768)

Key = str
"""The key of a service: NAMESPACE/NAME."""
Item = str | int
"""A cluster IP or a node port."""


class ServiceRange:
    """The range of cluster IPs. Raises ValueError if `cidr` is not an IPv4 network with at least 8
    addresses.

    The first address belongs to the service `kubernetes`. The next addresses are assigned last,
    because users can choose them (ipallocator.go, calculateRangeOffset).
    """

    def __init__(self, cidr: str) -> None:
        self.network: Final = ipaddress.IPv4Network(cidr)
        if self.network.num_addresses < 8:
            raise ValueError(f"{cidr} has room for no services: it needs 8 addresses at least")
        self._base = int(self.network.network_address)
        self._last = self.network.num_addresses - 2  # the broadcast address is not assigned
        self._static = min(max(16, self.network.num_addresses // 16), 256)
        if self._static >= self._last:
            self._static = 2

    @property
    def first(self) -> str:
        """The address of the service `kubernetes`: the first one of the range."""
        return str(self.network.network_address + 1)

    def addresses(self, seed: int) -> Iterator[str]:
        """Yield all addresses that can be assigned. The seed determines the first one."""
        for offset in _from_seed(range(self._static, self._last + 1), seed):
            yield str(ipaddress.IPv4Address(self._base + offset))
        for offset in range(2, self._static):
            yield str(ipaddress.IPv4Address(self._base + offset))


def _from_seed(numbers: range, seed: int) -> Iterator[int]:
    start = seed % len(numbers)
    yield from numbers[start:]
    yield from numbers[:start]


def _ports(ports: range, seed: int) -> Iterator[int]:
    """Yield all ports. The first ones are assigned last, because users can choose them
    (portallocator.go, calculateRangeOffset)."""
    static = min(max(16, len(ports) // 32), 128)
    static = static if static < len(ports) else 0
    yield from _from_seed(ports[static:], seed)
    yield from ports[:static]


def items(service: Object) -> set[Item]:
    """Return the items of a service: its cluster IPs, its node ports and its health check port."""
    spec = service.get("spec") or {}
    found: set[Item] = {
        address for address in spec.get("clusterIPs") or [spec.get("clusterIP")] if address
    }
    found.discard("None")
    found.update(port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort"))
    if spec.get("healthCheckNodePort"):
        found.add(spec["healthCheckNodePort"])
    return found


def key_of(service: Object) -> Key:
    """Return the key of a service in an allocator."""
    meta = service["metadata"]
    return f"{meta.get('namespace', '')}/{meta.get('name', '')}"


class Allocator:
    """The items of stored services and of writes in progress. Threads can share it.

    The ranges limit its size: each write in progress holds an item at most once.
    """

    def __init__(self, cidr: str = RANGE, ports: range = NODE_PORTS) -> None:
        self.range = ServiceRange(cidr)
        self.ports = ports
        self._stored: dict[Item, set[Key]] = {}
        self._taken: dict[Item, tuple[Key, int]] = {}
        """Item → the service, and the number of its writes that hold the item."""
        self._lock = threading.Lock()

    def load(self, services: Iterable[Object]) -> None:
        """Replace the stored services by these."""
        with self._lock:
            self._stored.clear()
            for service in services:
                self._store(service)

    def change(self, before: Object | None, after: Object | None) -> None:
        """Record a created (no `before`), changed or deleted (no `after`) service."""
        with self._lock:
            if before is not None:
                key = key_of(before)
                for item in items(before):
                    keys = self._stored.get(item, set())
                    keys.discard(key)
                    if not keys:
                        self._stored.pop(item, None)
            if after is not None:
                self._store(after)

    def _store(self, service: Object) -> None:
        key = key_of(service)
        for item in items(service):
            self._stored.setdefault(item, set()).add(key)

    def take(self, item: Item, key: Key) -> bool:
        """Hold an item for a write of a service. Returns False if another service has it."""
        with self._lock:
            return self._take(item, key)

    def _take(self, item: Item, key: Key) -> bool:
        holder, count = self._taken.get(item, (key, 0))
        if holder != key or self._stored.get(item, set()) - {key}:
            return False
        self._taken[item] = key, count + 1
        return True

    def take_address(self, key: Key, seed: int) -> str | None:
        """Hold and return a free address; None if all are in use."""
        with self._lock:
            free = (each for each in self.range.addresses(seed) if self._is_free(each))
            found = next(free, None)
            if found is not None:
                self._take(found, key)
            return found

    def take_port(self, key: Key, seed: int) -> int | None:
        """Hold and return a free node port; None if all are in use."""
        with self._lock:
            found = next((each for each in _ports(self.ports, seed) if self._is_free(each)), None)
            if found is not None:
                self._take(found, key)
            return found

    def _is_free(self, item: Item) -> bool:
        return item not in self._stored and item not in self._taken

    def release(self, item: Item) -> None:
        """Release an item that one write holds."""
        with self._lock:
            key, count = self._taken[item]
            if count > 1:
                self._taken[item] = key, count - 1
            else:
                del self._taken[item]

    def is_anothers(self, item: Item, key: Key) -> bool:
        """Return whether another service has an item, or a write of it holds the item."""
        with self._lock:
            holder, _ = self._taken.get(item, (key, 0))
            return holder != key or bool(self._stored.get(item, set()) - {key})

    def check(self, service: Object) -> None:
        """Check that no other stored service has an item of this one. Raises ReservationLost."""
        own = {key_of(service)}
        with self._lock:
            for item in items(service):
                if self._stored.get(item, set()) - own:
                    raise ReservationLost(str(item))
