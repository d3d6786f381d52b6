"""Services and endpoints, as stored objects: addresses and node ports are made from the uid.

A cluster allocates them from a pool; here each follows from the object alone, which keeps this
pure and repeatable. Follows pkg/apis/core/v1/defaults.go SetDefaults_Service, core validation
ValidateService and pkg/registry/core/service.
"""

import ipaddress
import zlib
from typing import Any

from inkube.schemas import fielderrors
from inkube.schemas.builtin.behaviours import checks, metadata, naming
from inkube.schemas.builtin.behaviours.base import Behaviour, keep
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

_NETWORK = int(ipaddress.IPv4Address("10.96.0.0"))
_ADDRESSES = 2**16
_FIRST_NODE_PORT, _NODE_PORTS = 30_000, 2_768
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_STICKY_SECONDS = 10_800
_ONCE = "may not change once set"
_FAMILY_FIELDS = (
    "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy",
)  # fmt: skip


class Services(Behaviour):
    """Types, ports, addresses."""

    name_check = "label1035"
    create_on_update = True
    returns_deleted = True

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

    def prepare_create(self, obj: Object) -> None:
        super().prepare_create(obj)
        _allocate(obj)

    def prepare_update(self, obj: Object, old: Object) -> None:
        super().prepare_update(obj, old)
        _carry_over(obj["spec"], old["spec"])
        _allocate(obj)

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
        return errors + _addresses(spec)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors = []
        spec, before = obj["spec"], old["spec"]
        named = (spec.get("type"), before.get("type"))
        address, previous = spec.get("clusterIP"), before.get("clusterIP")
        if "ExternalName" not in named and previous and address != previous:
            value = spec.get("clusterIPs") or [address or ""]
            errors.append(fielderrors.invalid("spec.clusterIPs[0]", value, _ONCE))
        return errors + self.check(obj)


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


def _allocate(obj: Object) -> None:
    spec = obj["spec"]
    if spec["type"] == "ExternalName":
        for member in _FAMILY_FIELDS:
            spec.pop(member, None)
        return
    seed = zlib.crc32(obj["metadata"].get("uid", "").encode())
    if not spec.get("clusterIP"):
        given = spec.get("clusterIPs") or []
        number = _NETWORK + 256 + seed % (_ADDRESSES - 512)
        spec["clusterIP"] = given[0] if given else str(ipaddress.IPv4Address(number))
    spec.setdefault("clusterIPs", [spec["clusterIP"]])
    both = spec["clusterIP"] == "None" and not spec.get("selector")
    if not spec.get("ipFamilyPolicy"):
        spec["ipFamilyPolicy"] = "RequireDualStack" if both else "SingleStack"
    if not spec.get("ipFamilies"):
        dual = spec["ipFamilyPolicy"] == "RequireDualStack"
        spec["ipFamilies"] = ["IPv4", "IPv6"] if dual else ["IPv4"]
    if _uses_node_ports(spec):
        _allocate_node_ports(spec.get("ports") or [], seed)


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
    kind, address = spec.get("type"), spec.get("clusterIP", "")
    errors = []
    if kind == "ExternalName":
        if not spec.get("externalName"):
            errors.append(fielderrors.required("spec.externalName"))
        else:
            name = spec["externalName"].rstrip(".").lower()
            errors += checks.named(name, "spec.externalName", naming.subdomain)
        if address:
            why = "may not be set for ExternalName services"
            errors.append(fielderrors.forbidden("spec.clusterIPs", why))
    elif address == "None" and kind in ("NodePort", "LoadBalancer"):
        why = f"may not be set to 'None' for {kind} services"
        errors.append(fielderrors.invalid("spec.clusterIPs[0]", address, why))
    elif address != "None" and not _is_address(address):
        why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        errors.append(fielderrors.invalid("spec.clusterIPs[0]", address, why))
    return errors


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


class Endpoints(Behaviour):
    """The old list of a service's addresses."""

    create_on_update = True

    def default(self, obj: Object) -> None:
        for subset in obj.get("subsets") or []:
            for port in subset.get("ports") or []:
                port.setdefault("protocol", "TCP")

    def check(self, obj: Object) -> list[FieldError]:
        errors = []
        for index, subset in enumerate(obj.get("subsets") or []):
            path = f"subsets[{index}]"
            if not subset.get("addresses") and not subset.get("notReadyAddresses"):
                why = "must specify `addresses` or `notReadyAddresses`"
                errors.append(fielderrors.required(path, why))
            for member in ("addresses", "notReadyAddresses"):
                errors += _endpoint_addresses(subset.get(member) or [], f"{path}.{member}")
            ports = subset.get("ports") or []
            for at, port in enumerate(ports):
                errors += _endpoint_port(port, f"{path}.ports[{at}]", many=len(ports) > 1)
        return errors


def _endpoint_addresses(given: list[Object], path: str) -> list[FieldError]:
    why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
    return [
        fielderrors.invalid(f"{path}[{index}].ip", address.get("ip", ""), why)
        for index, address in enumerate(given)
        if not _is_address(address.get("ip", ""))
    ]


def _endpoint_port(port: Object, path: str, *, many: bool) -> list[FieldError]:
    errors = []
    if port.get("name"):
        errors += checks.named(port["name"], f"{path}.name", naming.label)
    elif many:
        errors.append(fielderrors.required(f"{path}.name"))
    errors += checks.port(port.get("port", 0), f"{path}.port")
    return errors + checks.one_of(port.get("protocol"), f"{path}.protocol", _PROTOCOLS)


class EndpointSlices(Behaviour):
    """A part of a service's addresses, all of one type."""

    generation = ("addressType", "endpoints", "ports")

    def default(self, obj: Object) -> None:
        for port in obj.get("ports") or []:
            port.setdefault("name", "")
            port.setdefault("protocol", "TCP")

    def check(self, obj: Object) -> list[FieldError]:
        choices = ("FQDN", "IPv4", "IPv6")
        errors = checks.one_of(obj.get("addressType"), "addressType", choices)
        for index, endpoint in enumerate(obj.get("endpoints") or []):
            if not endpoint.get("addresses"):
                why = "must contain at least 1 address"
                errors.append(fielderrors.required(f"endpoints[{index}].addresses", why))
        return errors

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        return self.check(obj) + checks.immutable(obj, old, "", "addressType")
