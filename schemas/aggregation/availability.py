"""The `Available` condition of an APIService for a service: its status, reason and message.

Follows kube-aggregator/pkg/controllers/status/remote/remote_available_controller.go.
"""

from collections.abc import Iterable, Mapping

from inkube.schemas.aggregation import registrations
from inkube.schemas.aggregation.registrations import Service
from inkube.schemas.golang import quote
from inkube.schemas.objects import Object

_FAILED = "FailedDiscoveryCheck"
PASSED = ("True", "Passed", "all checks passed")
Finding = tuple[str, str, str]
"""Status, reason and message."""


def of_service(
    reference: Service, service: Object | None, slices: Iterable[Object]
) -> Finding | None:
    """Return why the service cannot be reached, or None if a request must decide.

    `slices` are the service's EndpointSlices.
    """
    named = f"service/{reference.name} in {quote(reference.namespace)}"
    if service is None:
        return "False", "ServiceNotFound", f"{named} is not present"
    spec = service.get("spec") or {}
    if spec.get("type", "ClusterIP") != "ClusterIP":
        return None
    ports = [one for one in spec.get("ports") or () if one.get("port") == reference.port]
    if not ports:
        text = f"{named} is not listening on port {reference.port}"
        return "False", "ServicePortError", text
    found, name = list(slices), ports[0].get("name") or ""
    if not found:
        return "False", "EndpointsNotFound", f"cannot find endpointslices for {named}"
    if not any(addresses(found, name)):
        text = f"endpointslices for {named} have no addresses with port name {quote(name)}"
        return "False", "MissingEndpoints", text
    return None


def addresses(slices: Iterable[Object], port_name: str) -> Iterable[tuple[tuple[str, int], Object]]:
    """Yield the ready addresses in a service's slices, each with the port of that name, and with
    the `targetRef` of the endpoint."""
    for one in slices:
        for port in one.get("ports") or ():
            if (port.get("name") or "") != port_name or not port.get("port"):
                continue
            for endpoint in one.get("endpoints") or ():
                ready = (endpoint.get("conditions") or {}).get("ready")
                if ready is None or ready:
                    for address in endpoint.get("addresses") or ():
                        yield (address, port["port"]), endpoint.get("targetRef") or {}


def was_asked(finding: Finding) -> bool:
    """Return whether the finding is the result of a request to the server."""
    return finding[1] in (PASSED[1], _FAILED)


def failed_check(message: str) -> Finding:
    """Return the finding for a server whose discovery failed."""
    return "False", _FAILED, message


def next_status(obj: Object, finding: Finding, now: str) -> Object | None:
    """Return the new status of an APIService, or None if it does not change.

    The time of the condition changes only with its status (SetAPIServiceCondition).
    """
    state, reason, message = finding
    outcome = {"status": state, "reason": reason, "message": message}
    old = registrations.condition(obj)
    if old is not None and {key: old.get(key, "") for key in outcome} == outcome:
        return None
    since = old.get("lastTransitionTime", now) if old and old.get("status") == state else now
    new = {"type": registrations.AVAILABLE, "lastTransitionTime": since, **outcome}
    status = obj.get("status") or {}
    others = list(status.get("conditions") or ())
    if old is None:
        return {**status, "conditions": [*others, new]}
    return {**status, "conditions": [new if one is old else one for one in others]}


def service_of(slice_: Mapping[str, object]) -> str:
    """Return the name of the service to which an EndpointSlice belongs."""
    meta = slice_["metadata"]
    labels = meta.get("labels") if isinstance(meta, dict) else None
    return str((labels or {}).get("kubernetes.io/service-name", ""))
