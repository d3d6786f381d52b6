"""Addresses and node ports that clients choose for services: in range, and nobody else's.

Those the server chooses follow from the service alone (`behaviours.services`).
Follows pkg/registry/core/service/storage/alloc.go.
"""

import ipaddress
from typing import Any

from inkube.apiserver.registry import keys
from inkube.apiserver.registry.admission import Attributes, Operation, Plugin
from inkube.apiserver.registry.resources import Resource
from inkube.schemas import caches, fielderrors, status
from inkube.schemas.builtin import behaviours
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object
from inkube.storage.store import Store

_PORTS = range(30000, 32768)


class ServiceAllocation(Plugin):
    """Judges what a service asks for; looks at other services only if it asks for something."""

    def __init__(self, store: Store, cidr: str) -> None:
        self._store = store
        self._cidr = cidr

    def handles(self, resource: Resource, operation: Operation) -> bool:
        known = (resource.group, resource.plural) == ("", "services")
        return known and operation in ("CREATE", "UPDATE")

    async def validate(self, attributes: Attributes) -> None:
        call, service, old = attributes.call, attributes.object, attributes.old
        if service is None or call.subresource:
            return
        errors = _families(service["spec"]) if old is None else []
        before = (old or {}).get("spec") or {}
        errors = errors or self._address(service, before) + self._ports(service, before)
        if errors:
            raise status.invalid("", "Service", call.name, errors)

    def _others(self, service: Object) -> list[Object]:
        uid = service["metadata"].get("uid")
        found = (entry.value for entry in self._store.list(keys.prefix("services")))
        return [other["spec"] for other in found if other["metadata"]["uid"] != uid]

    def _address(self, service: Object, before: Object) -> list[FieldError]:
        address = service["spec"].get("clusterIP") or ""
        if address == before.get("clusterIP"):
            return []

        parsed = behaviours.addresses.parse(address)
        if parsed is None:
            return []
        shown = service["spec"].get("clusterIPs") or [address]
        if parsed not in _network(self._cidr):
            why = "the provided network does not match the current range"
        elif any(other.get("clusterIP") == address for other in self._others(service)):
            why = "provided IP is already allocated"
        else:
            return []
        why = f"failed to allocate IP {address}: {why}"
        return [fielderrors.invalid("spec.clusterIPs", shown, why)]

    def _ports(self, service: Object, before: Object) -> list[FieldError]:
        had = {_identity(port) for port in before.get("ports") or ()}
        taken: set[tuple[int, str]] | None = None
        errors: list[FieldError] = []
        seen: set[tuple[int, str]] = set()
        for index, port in enumerate(service["spec"].get("ports") or ()):
            number, place = port.get("nodePort"), f"spec.ports[{index}].nodePort"
            if not number:
                continue
            if number not in _PORTS:
                why = (
                    "provided port is not in the valid range. The range of valid ports is "
                    f"{_PORTS.start}-{_PORTS.stop - 1}"
                )
                errors.append(fielderrors.invalid(place, number, why))
                continue
            own = _identity(port)
            if own not in had and taken is None:
                taken = {
                    _identity(one)
                    for other in self._others(service)
                    for one in other.get("ports") or ()
                }
            if own in seen or (own not in had and taken is not None and own in taken):
                why = "provided port is already allocated"
                errors.append(fielderrors.invalid(place, number, why))
            seen.add(own)
        return errors


@caches.of_values(8)
def _network(cidr: str) -> Any:
    return ipaddress.ip_network(cidr)


def _identity(port: Object) -> tuple[int, str]:
    return port.get("nodePort", 0), port.get("protocol", "")


def _families(spec: Object) -> list[FieldError]:
    """There is one range, of IPv4; what needs no address may have both families."""
    if spec.get("type") == "ExternalName":
        return []
    headless = spec.get("clusterIP") == "None" and not spec.get("selector")
    if spec.get("ipFamilyPolicy") == "RequireDualStack" and not headless:
        why = "this cluster is not configured for dual-stack services"
        return [fielderrors.invalid("spec.ipFamilyPolicy", "RequireDualStack", why)]
    families = spec.get("ipFamilies") or []
    if headless:
        return []
    return [
        fielderrors.invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")
        for index, family in enumerate(families)
        if family == "IPv6"
    ]
