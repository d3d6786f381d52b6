"""Services and endpoints, as stored objects; which addresses they have is `allocation`.

Follows pkg/apis/core/v1/defaults.go SetDefaults_Service, core validation
ValidateService and pkg/registry/core/service.
"""

from typing import Any

from inkube.schemas import fielderrors
from inkube.schemas.builtin.behaviours import addresses, allocation, checks, metadata, naming
from inkube.schemas.builtin.behaviours.allocators import Allocator
from inkube.schemas.builtin.behaviours.base import BuiltinStrategy, keep, same
from inkube.schemas.definitions import Definition
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.strategy import Context

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_LONGEST_STICKY = 86400
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_STICKY_SECONDS = 10_800
_ONCE = "may not change once set"
_FAMILY_FIELDS = (
    "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy",
)  # fmt: skip


class Services(BuiltinStrategy):
    """Types, ports, addresses."""

    def __init__(self, definition: Definition, allocator: Allocator | None = None) -> None:
        """Without an `allocator` each service is given addresses as if it were alone."""
        super().__init__(definition)
        self._allocator = allocator

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
            self._allocate(context, obj)

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_object(context, obj, old)
        _carry_over(obj["spec"], old["spec"])
        self._allocate(context, obj)

    def _allocate(self, context: Context, obj: Object) -> None:
        if obj["spec"]["type"] == "ExternalName":
            for member in _FAMILY_FIELDS:
                obj["spec"].pop(member, None)
        else:
            allocation.allocate(obj, self._allocator or Allocator(), context.reservation)

    def validate(self, context: Context, obj: Object) -> list[FieldError]:
        errors = super().validate(context, obj)
        return errors or self._refused(obj)

    def validate_update(self, context: Context, obj: Object, old: Object) -> list[FieldError]:
        errors = super().validate_update(context, obj, old)
        return errors if errors or context.subresource else self._refused(obj, old)

    def _refused(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """What a client asks for and cannot have."""
        if self._allocator is None:
            return []
        return allocation.refused(obj, old, self._allocator)

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
    allocation.drop_of_other_type(spec, old)
    if allocation.has_health_port(spec) and allocation.has_health_port(old):
        spec.setdefault("healthCheckNodePort", old.get("healthCheckNodePort", 0))
    if allocation.uses_node_ports(spec) and allocation.uses_node_ports(old):
        given = {_identity(port): port.get("nodePort") for port in old.get("ports") or []}
        for port in spec.get("ports") or []:
            if not port.get("nodePort") and given.get(_identity(port)):
                port["nodePort"] = given[_identity(port)]


def _identity(port: Object) -> tuple[Any, Any]:
    return port.get("port"), port.get("protocol")


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
