"""Services and endpoints, as stored objects: addresses and node ports are made from the uid.

A cluster allocates them from a pool; here each follows from the object alone, which keeps this
pure and repeatable. Follows pkg/apis/core/v1/defaults.go SetDefaults_Service, core validation
ValidateService and pkg/registry/core/service.
"""

import copy
import ipaddress
import zlib
from collections.abc import Callable, Container, Iterator
from typing import Any, Final, Self

from inkube.schemas import fielderrors, status
from inkube.schemas.builtin.behaviours import addresses, checks, metadata, naming
from inkube.schemas.builtin.behaviours.base import BuiltinStrategy, keep, same
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context

RANGE = "10.0.0.0/16"
"""Where the addresses of services are from when nobody says."""
_FIRST_NODE_PORT, _NODE_PORTS = 30_000, 2_768
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_LONGEST_STICKY = 86400
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_STICKY_SECONDS = 10_800
_ONCE = "may not change once set"
_FAMILY_FIELDS = (
    "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy",
)  # fmt: skip


class ServiceRange:
    """The addresses of services. Raises ValueError for what is no range of IPv4 that has some.

    The first belongs to the service `kubernetes`; those at either end are left to who chooses one
    (pkg/registry/core/service/ipallocator/ipallocator.go, calculateRangeOffset).
    """

    def __init__(self, cidr: str) -> None:
        self.network: Final = ipaddress.IPv4Network(cidr)
        if self.network.num_addresses < 8:
            raise ValueError(f"{cidr} has room for no services: it needs 8 addresses at least")
        self._skipped = min(max(16, self.network.num_addresses // 16), 256)
        self._count = self.network.num_addresses - 2 * self._skipped
        if self._count < 1:
            self._skipped, self._count = 2, self.network.num_addresses - 3

    @property
    def first(self) -> str:
        """The address of the service `kubernetes`."""
        return str(self.network.network_address + 1)

    @property
    def is_narrow(self) -> bool:
        """Whether two services are likely to hit the same address by chance."""
        return self._count < 2**12

    def addresses(self, seed: int) -> Iterator[str]:
        """All that may be given away, beginning with the one that follows from the seed."""
        first = int(self.network.network_address) + self._skipped
        for step in range(self._count):
            yield str(ipaddress.IPv4Address(first + (seed + step) % self._count))


class Services(BuiltinStrategy):
    """Types, ports, addresses."""

    addresses = ServiceRange(RANGE)
    taken: Callable[[], Container[str]] = frozenset
    """The addresses that others have, asked where two are likely to meet by chance."""

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        if not spec.get("sessionAffinity"):
            spec["sessionAffinity"] = "None"
        if spec["sessionAffinity"] == "ClientIP":
            config = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
            config.setdefault("timeoutSeconds", _STICKY_SECONDS)
        else:
            spec.pop("sessionAffinityConfig", None)
        if not spec.get("type"):
            spec["type"] = "ClusterIP"
        for port in spec.get("ports") or []:
            port.setdefault("protocol", "TCP")
            if port.get("targetPort") in (None, 0, ""):
                port["targetPort"] = port.get("port", 0)
        kind = spec["type"]
        if kind in ("NodePort", "LoadBalancer") and not spec.get("externalTrafficPolicy"):
            spec["externalTrafficPolicy"] = "Cluster"
        if kind != "ExternalName" and not spec.get("internalTrafficPolicy"):
            spec["internalTrafficPolicy"] = "Cluster"
        if kind == "LoadBalancer":
            spec.setdefault("allocateLoadBalancerNodePorts", True)

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        if obj["spec"]["type"] != "ExternalName":
            self._allocate(obj)

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_object(context, obj, old)
        _carry_over(obj["spec"], old["spec"])
        self._allocate(obj)

    def placed(self, addresses: ServiceRange, taken: Callable[[], Container[str]]) -> Self:
        """The same of another range, among services that are there."""
        made = copy.copy(self)
        made.addresses = addresses
        made.taken = taken
        return made

    def _allocate(self, obj: Object) -> None:
        spec = obj["spec"]
        if spec["type"] == "ExternalName":
            for member in _FAMILY_FIELDS:
                spec.pop(member, None)
            return
        seed = zlib.crc32(obj["metadata"].get("uid", "").encode())
        if not spec.get("clusterIP"):
            given = spec.get("clusterIPs") or []
            spec["clusterIP"] = given[0] if given else self._free(seed)
        spec.setdefault("clusterIPs", [spec["clusterIP"]])
        both = spec["clusterIP"] == "None" and not spec.get("selector")
        if not spec.get("ipFamilyPolicy"):
            spec["ipFamilyPolicy"] = "RequireDualStack" if both else "SingleStack"
        if not spec.get("ipFamilies"):
            dual = spec["ipFamilyPolicy"] == "RequireDualStack"
            spec["ipFamilies"] = ["IPv4", "IPv6"] if dual else ["IPv4"]
        if _uses_node_ports(spec):
            _allocate_node_ports(spec.get("ports") or [], seed)

    def _free(self, seed: int) -> str:
        """Raises StatusError 500 where there is no address left."""
        wanted = self.addresses.addresses(seed)
        if not self.addresses.is_narrow:
            return next(wanted)
        taken = self.taken()
        found = next((address for address in wanted if address not in taken), None)
        if found is None:
            raise status.internal("failed to allocate a serviceIP: range is full")
        return found

    def check(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        headless = spec.get("clusterIP") == "None"
        ports = spec.get("ports") or []
        errors = checks.one_of(spec.get("type"), "spec.type", _TYPES)
        if not ports and not headless and spec.get("type") != "ExternalName":
            errors.append(fielderrors.required("spec.ports"))
        for index, port in enumerate(ports):
            errors += _port(port, f"spec.ports[{index}]", many=len(ports) > 1)
        errors += _distinct(ports)
        errors += metadata.labels(spec.get("selector") or {}, "spec.selector")
        affinities = ("ClientIP", "None")
        errors += checks.one_of(spec.get("sessionAffinity"), "spec.sessionAffinity", affinities)
        return errors + _addresses(spec) + _policies(spec) + _reach(spec)

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors = []
        spec, before = obj["spec"], old["spec"]
        named = (spec.get("type"), before.get("type"))
        address, previous = spec.get("clusterIP"), before.get("clusterIP")
        if "ExternalName" not in named and previous and address != previous:
            value = spec.get("clusterIPs") or [address or ""]
            errors.append(fielderrors.invalid("spec.clusterIPs[0]", value, _ONCE))
        loads = ("LoadBalancer", "LoadBalancer")
        class_name, known = spec.get("loadBalancerClass"), before.get("loadBalancerClass")
        if named == loads and class_name != known:
            why = "may not change once set"
            errors.append(fielderrors.invalid("spec.loadBalancerClass", class_name, why))
        return errors + self.check(obj)

    def warnings_on_create(self, context: Context, obj: Object) -> list[str]:
        return _warnings(obj["spec"])

    def warnings_on_update(self, context: Context, obj: Object, old: Object) -> list[str]:
        return _warnings(obj["spec"])


def _warnings(spec: Object) -> list[str]:
    """pkg/api/service/warnings.go, GetWarningsForService."""
    found = []
    if spec.get("clusterIP") == "None":
        if spec.get("externalIPs"):
            found.append("spec.externalIPs is ignored for headless services")
        if spec.get("sessionAffinity", "None") != "None":
            found.append("spec.SessionAffinity is ignored for headless services")
    return found


def _carry_over(spec: Object, old: Object) -> None:
    """What the old service was given stays where the new one leaves it open
    (patchAllocatedValues)."""
    if spec.get("type") == "ExternalName" or old.get("type") == "ExternalName":
        return
    for member in _FAMILY_FIELDS:
        if not spec.get(member):
            keep(spec, old, member)
    if _uses_node_ports(spec) and _uses_node_ports(old):
        given = {_identity(port): port.get("nodePort") for port in old.get("ports") or []}
        for port in spec.get("ports") or []:
            if not port.get("nodePort") and given.get(_identity(port)):
                port["nodePort"] = given[_identity(port)]


def _identity(port: Object) -> tuple[Any, Any]:
    return port.get("port"), port.get("protocol")


def _uses_node_ports(spec: Object) -> bool:
    if spec.get("type") == "LoadBalancer":
        return spec.get("allocateLoadBalancerNodePorts") is not False
    return spec.get("type") == "NodePort"


def _allocate_node_ports(ports: list[Object], seed: int) -> None:
    taken = {port.get("nodePort") for port in ports}
    for index, port in enumerate(ports):
        number = (seed + index) % _NODE_PORTS
        while not port.get("nodePort"):
            if _FIRST_NODE_PORT + number not in taken:
                port["nodePort"] = _FIRST_NODE_PORT + number
                taken.add(port["nodePort"])
            number = (number + 1) % _NODE_PORTS


def _port(port: Object, path: str, *, many: bool) -> list[FieldError]:
    errors = []
    name = port.get("name", "")
    if name:
        errors += checks.named(name, f"{path}.name", naming.label)
    elif many:
        errors.append(fielderrors.required(f"{path}.name"))
    errors += checks.port(port.get("port", 0), f"{path}.port")
    errors += checks.one_of(port.get("protocol"), f"{path}.protocol", _PROTOCOLS)
    if port.get("appProtocol"):
        errors += checks.named(port["appProtocol"], f"{path}.appProtocol", names.label_key)
    return errors + checks.port_or_name(port.get("targetPort", 0), f"{path}.targetPort")


def _distinct(ports: list[Object]) -> list[FieldError]:
    paths = [f"spec.ports[{index}]" for index in range(len(ports))]
    errors = checks.duplicates(
        [port.get("name") for port in ports], [f"{path}.name" for path in paths]
    )
    seen: set[tuple[Any, Any]] = set()
    for port, path in zip(ports, paths, strict=True):
        if _identity(port) in seen:
            value = {"protocol": port.get("protocol"), "port": port.get("port"), "targetPort": 0}
            errors.append(fielderrors.duplicate(path, value))
        seen.add(_identity(port))
    return errors


def _addresses(spec: Object) -> list[FieldError]:
    """ValidateServiceClusterIPsRelatedFields, as far as it looks at one service."""
    kind, address = spec.get("type"), spec.get("clusterIP", "")
    many = spec.get("clusterIPs") or []
    errors: list[FieldError] = []
    if kind == "ExternalName":
        if not spec.get("externalName"):
            errors.append(fielderrors.required("spec.externalName"))
        else:
            name = spec["externalName"].removesuffix(".").lower()
            errors += checks.named(name, "spec.externalName", naming.subdomain)
        if address or many:
            why = "may not be set for ExternalName services"
            errors.append(fielderrors.forbidden("spec.clusterIPs", why))
        why = "may not be set for ExternalName services"
        return errors + [
            fielderrors.forbidden(f"spec.{member}", why)
            for member in ("ipFamilies", "ipFamilyPolicy")
            if spec.get(member)
        ]
    errors += _families(spec)
    if many and many[0] != address:
        why = "first value must match `clusterIP`"
        return [*errors, fielderrors.invalid("spec.clusterIPs", many, why)]
    for index, one in enumerate(many or [address]):
        place = f"spec.clusterIPs[{index}]"
        if one == "None":
            if len(many) > 1:
                why = "'None' must be the first and only value"
                errors.append(fielderrors.invalid(place, one, why))
            elif kind in ("NodePort", "LoadBalancer"):
                why = f"may not be set to 'None' for {kind} services"
                errors.append(fielderrors.invalid(place, one, why))
        elif one:
            errors += addresses.check(one, place)
    return errors


def _families(spec: Object) -> list[FieldError]:
    policies = ("PreferDualStack", "RequireDualStack", "SingleStack")
    policy = spec.get("ipFamilyPolicy")
    errors: list[FieldError] = []
    if policy and policy not in policies:
        errors.append(fielderrors.not_supported("spec.ipFamilyPolicy", policy, policies))
    seen: set[str] = set()
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        place = f"spec.ipFamilies[{index}]"
        if family not in ("IPv4", "IPv6"):
            errors.append(fielderrors.not_supported(place, family, ("IPv4", "IPv6")))
        if family in seen:
            errors.append(fielderrors.duplicate(place, family))
        seen.add(family)
    return errors


def _policies(spec: Object) -> list[FieldError]:
    """Traffic policies and what only load balancers have (ValidateService)."""
    kind = spec.get("type")
    external, inner = spec.get("externalTrafficPolicy"), spec.get("internalTrafficPolicy")
    reachable = kind in ("NodePort", "LoadBalancer") or (
        kind == "ClusterIP" and bool(spec.get("externalIPs"))
    )
    errors: list[FieldError] = []
    if external:
        if not reachable:
            why = "may only be set for externally-accessible services"
            errors.append(fielderrors.invalid("spec.externalTrafficPolicy", external, why))
        elif external not in ("Cluster", "Local"):
            choices = ("Cluster", "Local")
            errors.append(
                fielderrors.not_supported("spec.externalTrafficPolicy", external, choices)
            )
    if inner and inner not in ("Cluster", "Local"):
        choices = ("Cluster", "Local")
        errors.append(fielderrors.not_supported("spec.internalTrafficPolicy", inner, choices))
    only = "may only be used when `type` is 'LoadBalancer'"
    if kind != "LoadBalancer":
        errors += [
            fielderrors.forbidden(f"spec.{member}", only)
            for member in ("allocateLoadBalancerNodePorts", "loadBalancerClass")
            if spec.get(member) is not None
        ]
    if spec.get("loadBalancerClass") and kind == "LoadBalancer":
        name = spec["loadBalancerClass"]
        errors += checks.named(name, "spec.loadBalancerClass", names.label_key)
    if spec.get("loadBalancerSourceRanges"):
        if kind != "LoadBalancer":
            errors.append(fielderrors.forbidden("spec.LoadBalancerSourceRanges", only))
        else:
            for index, block in enumerate(spec["loadBalancerSourceRanges"]):
                place = f"spec.loadBalancerSourceRanges[{index}]"
                errors += addresses.check_block(block.strip(), place)
    check_port = spec.get("healthCheckNodePort")
    if check_port and not (kind == "LoadBalancer" and external == "Local"):
        why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        errors.append(fielderrors.invalid("spec.healthCheckNodePort", check_port, why))
    return errors


def _reach(spec: Object) -> list[FieldError]:
    """Addresses outside of the cluster, node ports, how long clients stick."""
    errors: list[FieldError] = []
    for index, address in enumerate(spec.get("externalIPs") or ()):
        place = f"spec.externalIPs[{index}]"
        found = addresses.check(address, place)
        errors += found or addresses.check_reachable(address, place)
    if spec.get("type") == "ClusterIP":
        why = "may not be used when `type` is 'ClusterIP'"
        errors += [
            fielderrors.forbidden(f"spec.ports[{index}].nodePort", why)
            for index, port in enumerate(spec.get("ports") or ())
            if port.get("nodePort")
        ]
    seconds = ((spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}).get(
        "timeoutSeconds"
    )
    if seconds is not None and not 0 < seconds <= _LONGEST_STICKY:
        why = f"must be greater than 0 and less than {_LONGEST_STICKY}"
        place = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
        errors.append(fielderrors.invalid(place, seconds, why))
    return errors


class EndpointSlices(BuiltinStrategy):
    """A part of a service's addresses, all of one type."""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        _drop_topology(obj, {})

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_object(context, obj, old)
        _drop_topology(obj, old)


def _drop_topology(obj: Object, old: Object) -> None:
    """dropTopologyOnV1: the topology of earlier versions goes once the endpoints change."""
    endpoints, before = obj.get("endpoints") or [], old.get("endpoints") or []
    if same(endpoints, before):
        return
    known = {(each.get("deprecatedTopology") or {}).get(_HOSTNAME) for each in before}
    for endpoint in endpoints:
        node = (endpoint.pop("deprecatedTopology", None) or {}).get(_HOSTNAME)
        if (
            endpoint.get("nodeName") is None
            and node in known
            and node
            and not names.subdomain(node)
        ):
            endpoint["nodeName"] = node


_HOSTNAME = "kubernetes.io/hostname"
