"""The used and free cluster IPs and node ports.

An `Allocator` contains the items of stored services and of writes in progress, the addresses of
IPAddress objects, and the ranges of ServiceCIDR objects. It receives every change of a stored
object of these kinds, from all processes. A write is committed only if no other stored object has
one of its items (`Allocator.check`), so that two services never have the same item. Follows
pkg/registry/core/service/{ipallocator,portallocator} and service/storage/alloc.go.
"""

import ipaddress
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from inkube.schemas.builtin import addresses
from inkube.schemas.objects import Object
from inkube.schemas.strategy import ReservationLost

RANGE = "10.0.0.0/16"
"""The default range of cluster IPs."""
BOTH_FAMILIES = f"{RANGE},fd00::/108"
"""Ranges of a cluster with both families."""
NODE_PORTS = range(30_000, 32_768)

DEFAULT_RANGES = "kubernetes"
"""The name of the ServiceCIDR with the ranges of `--service-cluster-ip-range`."""
_OWN_SERVICE = "default/kubernetes"
_SHORTEST_PREFIX = 64
"""The shortest prefix of a range of IPv6 (ipallocator.go, NewIPAllocator)."""

Key = str
"""The key of a service: NAMESPACE/NAME."""
Item = str | int
"""A cluster IP or a node port."""
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class ServiceRange:
    """A range of cluster IPs. Raises ValueError if `cidr` is not a network, or if it is one of IPv6
    whose prefix has fewer than 64 bits.

    The first addresses are assigned last, because users can choose them (ipallocator.go,
    calculateRangeOffset).
    """

    def __init__(self, cidr: str) -> None:
        self.network: Final[_Network] = ipaddress.ip_network(cidr)
        if self.network.version == 6 and self.network.prefixlen < _SHORTEST_PREFIX:
            raise ValueError(f"{cidr} is too large: a range of IPv6 needs a prefix of /64 to /128")
        self.family: Final = f"IPv{self.network.version}"
        size = self.network.num_addresses
        self._base = int(self.network.network_address)
        self._last = size - (2 if self.network.version == 4 else 1)  # without a broadcast address
        self._static = min(max(16, size // 16), 256)
        if self._static >= self._last:
            self._static = 2

    @property
    def first(self) -> str:
        """The first address that can be assigned."""
        return str(self.network.network_address + 1)

    def has(self, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
        """Return whether an address of the network can be assigned."""
        return 0 < int(address) - self._base <= self._last

    def addresses(self, seed: int) -> Iterator[str]:
        """Yield all addresses that can be assigned. The seed determines the first one."""
        for offset in _from_seed(range(self._static, self._last + 1), seed):
            yield str(self.network[offset])
        for offset in range(1, min(self._static, self._last + 1)):
            yield str(self.network[offset])


def ranges_of(cidrs: str) -> Sequence[ServiceRange]:
    """Return the range or the two ranges of `--service-cluster-ip-range`, such as
    `10.0.0.0/16,fd00::/108`. The first one has the default family.

    Raises ValueError if there are others, or two of one family
    (cmd/kube-apiserver/app/options/validation.go).
    """
    found = [ServiceRange(each.strip()) for each in cidrs.split(",")]
    if len(found) > 2:
        raise ValueError(f"{cidrs} has {len(found)} ranges; there can be two")
    if len({each.family for each in found}) < len(found):
        raise ValueError(f"{cidrs} has two ranges of one family; use one of IPv4 and one of IPv6")
    for each in found:
        if each.network.num_addresses < 8:
            raise ValueError(
                f"{each.network} has room for no services: it needs 8 addresses at least"
            )
    return found


def _from_seed(numbers: range, seed: int) -> Iterator[int]:
    size = numbers.stop - numbers.start  # `len` fails for more than 2**63 numbers
    if size > 0:
        start = seed % size
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
    """The items of stored objects and of writes in progress. Threads can share it.

    `cidrs` are the ranges of `--service-cluster-ip-range`. The ranges limit its size: each write in
    progress holds an item at most once.
    """

    def __init__(self, cidrs: str = RANGE, ports: range = NODE_PORTS) -> None:
        self._default_ranges = ranges_of(cidrs)
        self.families = tuple(each.family for each in self._default_ranges)
        """The IP families of services, the default one first: those of the given ranges."""
        self.ports = ports
        self._ranges = self._default_ranges
        self._own = self._default_ranges[0].first
        """The address of the service `kubernetes`, which has it before it is stored."""
        self._stored: dict[Item, set[Key]] = {}
        self._claimed: dict[Item, Key] = {}
        """Address → the key in the reference of its IPAddress."""
        self._taken: dict[Item, tuple[Key, int]] = {}
        """Item → the service, and the number of its writes that hold the item."""
        self._lock = threading.Lock()

    def load(self, services: Iterable[Object]) -> None:
        """Replace the stored services by these."""
        with self._lock:
            self._stored.clear()
            for service in services:
                self._store(service)

    def use_ranges(self, service_cidrs: Iterable[Object]) -> None:
        """Assign addresses of these ServiceCIDRs: of those that are ready and are not being
        deleted, and of the given ranges until there is a ServiceCIDR for them.

        Ranges of other families than the given ones are not used (cidrallocator.go).
        """
        every = list(service_cidrs)
        default = next((e for e in every if e["metadata"]["name"] == DEFAULT_RANGES), None)
        given = {str(each.network): each for each in self._default_ranges}
        # a server that starts with a second range adds it to the ServiceCIDR of the first one
        found = given if default is None or self._is_upgraded(default) else {}
        for cidr in [cidr for each in every if _is_ready(each) for cidr in each["spec"]["cidrs"]]:
            if cidr not in found:
                try:
                    found[cidr] = ServiceRange(cidr)
                except ValueError:  # upstream's allocators skip it, too
                    continue
        with self._lock:
            self._ranges = [each for each in found.values() if each.family in self.families]

    def _is_upgraded(self, default: Object) -> bool:
        first = str(self._default_ranges[0].network)
        return _is_ready(default) and default["spec"]["cidrs"] == [first]

    def claim(self, claimed: Iterable[Object]) -> None:
        """Replace the stored IPAddresses by these."""
        with self._lock:
            self._claimed = {each["metadata"]["name"]: parent_of(each) for each in claimed}

    def change_claim(self, address: Object, *, is_deleted: bool) -> None:
        """Record a created, changed or deleted IPAddress."""
        with self._lock:
            if is_deleted:
                self._claimed.pop(address["metadata"]["name"], None)
            else:
                self._claimed[address["metadata"]["name"]] = parent_of(address)

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
        if self._is_anothers(item, key):
            return False
        _, count = self._taken.get(item, (key, 0))
        self._taken[item] = key, count + 1
        return True

    def take_address(self, key: Key, seed: int, family: str = "IPv4") -> str | None:
        """Hold and return a free address of a family; None if all are in use."""
        with self._lock:
            for each in self._ranges:
                if each.family == family:
                    free = (one for one in each.addresses(seed) if self._is_free(one))
                    found = next(free, None)
                    if found is not None:
                        self._take(found, key)
                        return found
            return None

    def take_port(self, key: Key, seed: int) -> int | None:
        """Hold and return a free node port; None if all are in use."""
        with self._lock:
            found = next((each for each in _ports(self.ports, seed) if self._is_free(each)), None)
            if found is not None:
                self._take(found, key)
            return found

    def _is_free(self, item: Item) -> bool:
        used = item in self._stored or item in self._taken or item in self._claimed
        return not used and item != self._own

    def release(self, item: Item) -> None:
        """Release an item that one write holds."""
        with self._lock:
            key, count = self._taken[item]
            if count > 1:
                self._taken[item] = key, count - 1
            else:
                del self._taken[item]

    def is_anothers(self, item: Item, key: Key) -> bool:
        """Return whether another object has an item, or a write of another service holds it."""
        with self._lock:
            return self._is_anothers(item, key)

    def _is_anothers(self, item: Item, key: Key) -> bool:
        holder, _ = self._taken.get(item, (key, 0))
        return holder != key or self._is_stored_by_another(item, key)

    def _is_stored_by_another(self, item: Item, key: Key) -> bool:
        if self._claimed.get(item, key) != key or self._stored.get(item, set()) - {key}:
            return True
        return item == self._own and key != _OWN_SERVICE

    def range_of(self, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> "_Network | None":
        """Return the network with an address; None if no ServiceCIDR in use has one."""
        return next((each.network for each in self._ranges if address in each.network), None)

    def is_assignable(self, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
        """Return whether a range has the address, and it can be assigned."""
        return any(each.has(address) for each in self._ranges if address in each.network)

    def check(self, service: Object) -> None:
        """Check that no other stored object has an item of this service, and that new addresses are
        still in a range. Raises ReservationLost."""
        key = key_of(service)
        with self._lock:
            for item in items(service):
                if self._is_stored_by_another(item, key) or self._has_lost_range(item, key):
                    raise ReservationLost(str(item))

    def _has_lost_range(self, item: Item, key: Key) -> bool:
        """Return whether no range has an address that is new for a service."""
        address = addresses.parse(item) if isinstance(item, str) else None
        is_new = key not in self._stored.get(item, ())
        return is_new and address is not None and self.range_of(address) is None


def parent_of(address: Object) -> Key:
    """Return the key of the service that an IPAddress refers to; of another object, a text that is
    no key of a service."""
    parent = address["spec"].get("parentRef") or {}
    key = f"{parent.get('namespace', '')}/{parent.get('name', '')}"
    if (parent.get("group", ""), parent.get("resource")) == ("", "services"):
        return key
    return f"{parent.get('resource', '')}.{parent.get('group', '')}/{key}"


def _is_ready(service_cidr: Object) -> bool:
    """Return whether addresses of a ServiceCIDR can be assigned. Without the condition they can,
    because its controller may not run (cidrallocator.go, isReady)."""
    if "deletionTimestamp" in service_cidr["metadata"]:
        return False
    conditions = (service_cidr.get("status") or {}).get("conditions") or ()
    return all(each.get("status") == "True" for each in conditions if each["type"] == "Ready")
