"""Assigns cluster IPs and node ports to services, and reports those that a service cannot have.

Follows pkg/registry/core/service/storage/{alloc,storage}.go.
"""

import zlib
from functools import partial

from inkube.schemas import fielderrors, status
from inkube.schemas.builtin import addresses
from inkube.schemas.builtin.strategies import families
from inkube.schemas.builtin.strategies.allocators import Allocator, items, key_of
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Reservation


def uses_node_ports(spec: Object) -> bool:
    """Return whether each port of a service gets a node port, even if the client requests none."""
    if spec.get("type") == "LoadBalancer":
        return spec.get("allocateLoadBalancerNodePorts") is not False
    return spec.get("type") == "NodePort"


def has_health_port(spec: Object) -> bool:
    """Return whether the service has a node port for the health checks of its load balancer."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def drop_of_other_type(spec: Object, old: Object) -> None:
    """Remove unchanged fields that the new type does not use, in place
    (dropTypeDependentFields)."""
    numbers = [[port.get("nodePort") for port in one.get("ports") or ()] for one in (old, spec)]
    if _may_have_node_ports(old) and not _may_have_node_ports(spec) and numbers[0] == numbers[1]:
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    for member, needs in (
        ("healthCheckNodePort", has_health_port),
        ("externalTrafficPolicy", _is_external),
        ("allocateLoadBalancerNodePorts", _is_balanced),
        ("loadBalancerClass", _is_balanced),
    ):
        if needs(old) and not needs(spec) and spec.get(member) == old.get(member):
            spec.pop(member, None)


def _may_have_node_ports(spec: Object) -> bool:
    return spec.get("type") in ("NodePort", "LoadBalancer")


def _is_external(spec: Object) -> bool:
    """Return whether clients outside the cluster can reach the service (ExternallyAccessible)."""
    is_internal = spec.get("type") == "ClusterIP"
    return _may_have_node_ports(spec) or bool(is_internal and spec.get("externalIPs"))


def _is_balanced(spec: Object) -> bool:
    return spec.get("type") == "LoadBalancer"


def allocate(
    service: Object,
    allocator: Allocator,
    reservation: Reservation | None,
    old: Object | None = None,
) -> None:
    """Assign the missing families and items of a service, in place, and hold all its items for the
    write. `old` is the stored service, of an update.

    `refused` reports families that the service cannot have, and requested items that another
    service has. Raises StatusError 500 if a range has no free item.
    """
    _Allocation(service, allocator, reservation, (old or {}).get("spec") or {}).run()


class _Allocation:
    """The assignment of items for one write of a service."""

    def __init__(
        self, service: Object, allocator: Allocator, reservation: Reservation | None, before: Object
    ) -> None:
        self._service = service
        self._spec = service["spec"]
        self._before = before
        self._allocator = allocator
        self._reservation = reservation or Reservation()
        self._key = key_of(service)
        self._seed = zlib.crc32(service["metadata"].get("uid", "").encode())

    def run(self) -> None:
        spec = self._spec
        if not families.is_well_formed(spec):
            return  # refused by validation, before upstream assigns anything
        if families.settle(spec, self._before, self._allocator.families):
            return  # refused as well
        for item in items(self._service):
            if self._allocator.take(item, self._key):
                self._hold(item)
        self._give_addresses()
        if uses_node_ports(spec):
            self._give_ports(spec.get("ports") or [])
        if has_health_port(spec) and not spec.get("healthCheckNodePort"):
            spec["healthCheckNodePort"] = self._port("HealthCheck NodePort 0")
        self._reservation.require(partial(self._allocator.check, self._service))

    def _give_addresses(self) -> None:
        """Assign an address of each family that has none. A headless service has no addresses."""
        spec = self._spec
        given = _addresses(spec)
        if "None" not in given:
            missing = (spec.get("ipFamilies") or [])[len(given) :]
            if not (given and missing and self._is_refused()):
                given = [*given, *map(self._address, missing)]
        spec["clusterIPs"] = given
        if given:
            spec["clusterIP"] = given[0]

    def _is_refused(self) -> bool:
        """Return whether a requested address is refused: then the others are not assigned."""
        return bool(_address_errors(self._spec, self._before, self._allocator, self._key))

    def _give_ports(self, ports: list[Object]) -> None:
        """Assign missing node ports. Ports with the same number and other protocols share one."""
        known: dict[int, int] = {}
        for port in ports:
            if port.get("nodePort"):
                known.setdefault(port.get("port", 0), port["nodePort"])
        for port in ports:
            if not port.get("nodePort"):
                number = port.get("port", 0)
                if number not in known:
                    known[number] = self._port("nodePort")
                port["nodePort"] = known[number]

    def _address(self, family: str) -> str:
        found = self._allocator.take_address(self._key, self._seed, family)
        if found is None:
            raise status.internal_error("failed to allocate a serviceIP: range is full")
        self._hold(found)
        return found

    def _port(self, name: str) -> int:
        found = self._allocator.take_port(self._key, self._seed)
        if found is None:
            raise status.internal_error(f"failed to allocate a {name}: range is full")
        self._hold(found)
        return found

    def _hold(self, item: str | int) -> None:
        self._reservation.hold(partial(self._allocator.release, item))


def refused(service: Object, old: Object | None, allocator: Allocator) -> list[FieldError]:
    """Return the errors of the first of IP families, addresses and ports that the service cannot
    have.

    A service can keep the items that it had before.
    """
    spec, before = service["spec"], (old or {}).get("spec") or {}
    if not families.is_well_formed(spec) or spec.get("type") == "ExternalName":
        return []  # validation refuses it, and every address of a name
    key = key_of(service)
    errors = families.refused(spec, before, allocator.families)
    errors = errors or _address_errors(spec, before, allocator, key)
    return errors or _port_errors(spec, before, allocator, key)


def _address_errors(
    spec: Object, before: Object, allocator: Allocator, key: str
) -> list[FieldError]:
    """Return the error of the first requested address that the service cannot have."""
    had = _addresses(before)
    for address in _addresses(spec):
        parsed = addresses.parse(address)
        if parsed is None or address in had:
            continue
        network = allocator.range_of(parsed)
        if network is None:
            why = "the provided network does not match the current range"
        elif not allocator.is_assignable(parsed):
            why = f"the provided IP ({parsed}) is not in the valid range. The range of valid IPs is"
            why = f"{why} {network}"
        elif allocator.is_anothers(str(parsed), key):
            why = "provided IP is already allocated"
        else:
            continue
        shown = spec.get("clusterIPs") or [address]
        shown = shown + [""] * (len(spec.get("ipFamilies") or ()) - len(shown))
        why = f"failed to allocate IP {address}: {why}"
        return [fielderrors.invalid("spec.clusterIPs", shown, why)]
    return []


def _addresses(spec: Object) -> list[str]:
    return spec.get("clusterIPs") or list(filter(None, [spec.get("clusterIP")]))


def refused_ports(service: Object, old: Object, allocator: Allocator) -> list[FieldError]:
    """Return the error of the first new node port that a service cannot have. In an update,
    upstream allocates ports before validation, and addresses after it."""
    spec = service["spec"]
    if not _may_have_node_ports(spec) or not families.is_well_formed(spec):
        return []
    return _port_errors(spec, old["spec"], allocator, key_of(service))


def _port_errors(spec: Object, before: Object, allocator: Allocator, key: str) -> list[FieldError]:
    if spec.get("type") == "ClusterIP":
        return []  # validation refuses them
    had = {port.get("nodePort") for port in before.get("ports") or ()}
    own: dict[int, int] = {}
    """Node port → the port that uses it."""
    for index, port in enumerate(spec.get("ports") or ()):
        number, place = port.get("nodePort"), f"spec.ports[{index}].nodePort"
        if not number or number in had:
            continue
        if number not in allocator.ports:
            ports = f"{allocator.ports.start}-{allocator.ports.stop - 1}"
            why = f"provided port is not in the valid range. The range of valid ports is {ports}"
            return [fielderrors.invalid(place, number, why)]
        of = own.setdefault(number, port.get("port", 0))
        if of != port.get("port", 0) or allocator.is_anothers(number, key):
            return [fielderrors.invalid(place, number, "provided port is already allocated")]
    return []
