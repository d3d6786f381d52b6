"""Services and endpoints, as stored objects. `allocation` assigns addresses.

Follows pkg/registry/core/service. core.services.rules contains the rules for fields.
"""

from collections.abc import Sequence
from typing import Any

from inkube.schemas.builtin import addresses
from inkube.schemas.builtin.strategies import allocation, families
from inkube.schemas.builtin.strategies.allocators import BOTH_FAMILIES, Allocator
from inkube.schemas.builtin.strategies.base import BuiltinStrategy, keep
from inkube.schemas.definitions import Definition
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.schemas.objects import semantically_same as same
from inkube.schemas.strategy import Context

_FAMILY_FIELDS = (
    "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy",
)  # fmt: skip


class Services(BuiltinStrategy):
    """The strategy of Services: it sets types, ports and addresses."""

    def __init__(self, definition: Definition, allocator: Allocator | None = None) -> None:
        """Create the strategy. Without an `allocator`, each service gets addresses as the only
        service, in a cluster with both families."""
        super().__init__(definition)
        self._allocator = allocator

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        self._allocate(context, obj)

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_object(context, obj, old)
        spec, before = obj["spec"], old["spec"]
        if spec["type"] == "ExternalName" != before.get("type"):
            _drop_addresses(spec, before)
        changed = spec.get("clusterIP", "") != before.get("clusterIP", "")
        if changed and spec.get("clusterIPs") == before.get("clusterIPs"):
            spec.pop("clusterIPs", None)  # NormalizeClusterIPs: the older field has precedence
        allocation.drop_of_other_type(spec, before)
        _carry_over(spec, before)
        self._allocate(context, obj, old)

    def _allocate(self, context: Context, obj: Object, old: Object | None = None) -> None:
        spec = obj["spec"]
        if spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        if spec["type"] != "ExternalName":
            allocator = self._allocator or Allocator(BOTH_FAMILIES)
            allocation.allocate(obj, allocator, context.reservation, old)
        elif spec.get("internalTrafficPolicy") in ("Cluster", "Local"):
            del spec["internalTrafficPolicy"]  # no effect for this type; invalid values stay

    def validate(self, context: Context, obj: Object) -> list[FieldError]:
        errors = self._contradictions(obj) or self._refused(obj)  # addresses are assigned first
        return errors or super().validate(context, obj)

    def validate_update(self, context: Context, obj: Object, old: Object) -> list[FieldError]:
        if context.subresource:
            return super().validate_update(context, obj, old)
        errors = self._contradictions(obj, old)  # addresses are first
        errors = errors or families.refused(obj["spec"], old["spec"], self._configured)
        if self._allocator is not None:
            errors = errors or allocation.refused_ports(obj, old, self._allocator)
        errors = errors or super().validate_update(context, obj, old)
        return errors or self._refused(obj, old)

    def _contradictions(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """Return the errors of addresses and families that contradict each other
        (initIPFamilyFields)."""
        spec, before = obj["spec"], old and old["spec"]
        stored = (before or {}).get("clusterIPs") or ()
        added = [each for each in spec.get("clusterIPs") or () if each not in stored]
        is_odd = any(addresses.check(each, "") for each in added if each != "None")
        if not (is_odd or families.is_contradictory(spec, before or {})):
            return []
        return self.rules.errors("core.v1.ServiceSpec/related", spec, "spec", before)

    @property
    def _configured(self) -> Sequence[str]:
        """The IP families of the cluster."""
        return families.BOTH if self._allocator is None else self._allocator.families

    def _refused(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """Return the errors of the first families, address or port that the service cannot have."""
        if self._allocator is None:
            return families.refused(obj["spec"], (old or {}).get("spec") or {}, families.BOTH)
        return allocation.refused(obj, old, self._allocator)


def _drop_addresses(spec: Object, old: Object) -> None:
    """Remove the unchanged addresses of a service that becomes an ExternalName, in place
    (dropTypeDependentFields)."""
    for member in _FAMILY_FIELDS:
        if same(spec.get(member), old.get(member)):
            spec.pop(member, None)


def _carry_over(spec: Object, old: Object) -> None:
    """Copy assigned values of the old service to fields that the new one omits, in place
    (patchAllocatedValues)."""
    if spec.get("type") == "ExternalName" or old.get("type") == "ExternalName":
        return
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    for member in _FAMILY_FIELDS:
        pointer = member in ("ipFamilyPolicy", "internalTrafficPolicy")
        if spec.get(member) is None or not (pointer or spec[member]):
            keep(spec, old, member)
    if allocation.has_health_port(spec) and allocation.has_health_port(old):
        spec.setdefault("healthCheckNodePort", old.get("healthCheckNodePort", 0))
    if allocation.uses_node_ports(spec) and allocation.uses_node_ports(old):
        given = {_identity(port): port.get("nodePort") for port in old.get("ports") or []}
        for port in spec.get("ports") or []:
            if not port.get("nodePort") and given.get(_identity(port)):
                port["nodePort"] = given[_identity(port)]


def _identity(port: Object) -> tuple[Any, Any]:
    return port.get("port"), port.get("protocol")


class EndpointSlices(BuiltinStrategy):
    """The strategy of EndpointSlices: each is a part of a service's addresses, with one address
    type."""

    def prepare_for_create(self, context: Context, obj: Object) -> None:
        super().prepare_for_create(context, obj)
        _drop_topology(obj, {})

    def prepare_object(self, context: Context, obj: Object, old: Object) -> None:
        super().prepare_object(context, obj, old)
        _drop_topology(obj, old)


def _drop_topology(obj: Object, old: Object) -> None:
    """Remove the topology of earlier versions if the endpoints change, in place (dropTopologyOnV1).

    A valid hostname in it that an old endpoint also has becomes the nodeName.
    """
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
