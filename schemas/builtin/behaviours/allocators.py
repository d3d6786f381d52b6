"""Who has which cluster IPs and node ports, and which are free.

An `Allocator` holds what is stored and what writes on their way have taken. It is told of every
change of a stored service, by whatever process, and a write is committed only if nobody else has
come to what it takes (`Allocator.check`), so that no two services ever have the same. Follows
pkg/registry/core/service/{ipallocator,portallocator} and service/storage/alloc.go.
"""

import ipaddress
import threading
from collections.abc import Iterable, Iterator
from typing import Final

from inkube.schemas.objects import Object
from inkube.schemas.strategy import Taken

RANGE = "10.0.0.0/16"
"""Where cluster IPs are from when nobody says."""
NODE_PORTS = range(30_000, 32_768)
_STATIC_PORTS = 86
"""Of them left for those who choose one themselves, while there are others
(portallocator.go, calculateRangeOffset)."""

Key = str
"""Of a service: NAMESPACE/NAME."""
Item = str | int
"""A cluster IP or a node port."""


class ServiceRange:
    """The addresses of services. Raises ValueError for what is no range of IPv4 that has some.

    The first belongs to the service `kubernetes`; the next are left for those who choose one
    themselves, while there are others (ipallocator.go, calculateRangeOffset).
    """

    def __init__(self, cidr: str) -> None:
        self.network: Final = ipaddress.IPv4Network(cidr)
        if self.network.num_addresses < 8:
            raise ValueError(f"{cidr} has room for no services: it needs 8 addresses at least")
        self._base = int(self.network.network_address)
        self._last = self.network.num_addresses - 2  # the broadcast address is nobody's
        self._static = min(max(16, self.network.num_addresses // 16), 256)
        if self._static >= self._last:
            self._static = 2

    @property
    def first(self) -> str:
        """The address of the service `kubernetes`."""
        return str(self.network.network_address + 1)

    def addresses(self, seed: int) -> Iterator[str]:
        """All that may be given away, beginning with the one that follows from the seed."""
        for offset in _from_seed(range(self._static, self._last + 1), seed):
            yield str(ipaddress.IPv4Address(self._base + offset))
        for offset in range(2, self._static):
            yield str(ipaddress.IPv4Address(self._base + offset))


def _from_seed(numbers: range, seed: int) -> Iterator[int]:
    start = seed % len(numbers)
    yield from numbers[start:]
    yield from numbers[:start]


def _ports(seed: int) -> Iterator[int]:
    yield from _from_seed(NODE_PORTS[_STATIC_PORTS:], seed)
    yield from NODE_PORTS[:_STATIC_PORTS]


def items(service: Object) -> set[Item]:
    """What a service has: its cluster IPs, node ports and the port of its health check."""
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
    """Under which a service's items are held."""
    meta = service["metadata"]
    return f"{meta.get('namespace', '')}/{meta.get('name', '')}"


class Allocator:
    """What services have, and what writes on their way have taken; any thread may ask.

    Bounded by the ranges: an item is held at most once by each of the writes under way.
    """

    def __init__(self, cidr: str = RANGE) -> None:
        self.range = ServiceRange(cidr)
        self._stored: dict[Item, set[Key]] = {}
        self._taken: dict[Item, tuple[Key, int]] = {}
        """With how many writes of that service have taken it."""
        self._lock = threading.Lock()

    def load(self, services: Iterable[Object]) -> None:
        """Begin anew with these, which are all that are stored."""
        with self._lock:
            self._stored.clear()
            for service in services:
                self._store(service)

    def change(self, before: Object | None, after: Object | None) -> None:
        """A service was created, changed or deleted."""
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
        """Hold an item for a write of that service, unless another one has it."""
        with self._lock:
            return self._take(item, key)

    def _take(self, item: Item, key: Key) -> bool:
        holder, count = self._taken.get(item, (key, 0))
        if holder != key or self._stored.get(item, set()) - {key}:
            return False
        self._taken[item] = key, count + 1
        return True

    def take_address(self, key: Key, seed: int) -> str | None:
        """Hold a free address; None where there is none."""
        with self._lock:
            free = (each for each in self.range.addresses(seed) if self._is_free(each))
            found = next(free, None)
            if found is not None:
                self._take(found, key)
            return found

    def take_port(self, key: Key, seed: int) -> int | None:
        """Hold a free node port; None where there is none."""
        with self._lock:
            found = next((each for each in _ports(seed) if self._is_free(each)), None)
            if found is not None:
                self._take(found, key)
            return found

    def _is_free(self, item: Item) -> bool:
        return item not in self._stored and item not in self._taken

    def release(self, item: Item) -> None:
        """Hold an item no longer for one write."""
        with self._lock:
            key, count = self._taken[item]
            if count > 1:
                self._taken[item] = key, count - 1
            else:
                del self._taken[item]

    def is_anothers(self, item: Item, key: Key) -> bool:
        """Whether another service has an item, or a write of one is about to."""
        with self._lock:
            holder, _ = self._taken.get(item, (key, 0))
            return holder != key or bool(self._stored.get(item, set()) - {key})

    def check(self, service: Object) -> None:
        """That no other service is stored with what this one has. Raises Taken."""
        own = {key_of(service)}
        with self._lock:
            for item in items(service):
                if self._stored.get(item, set()) - own:
                    raise Taken(str(item))
