"""The checks before a kubelet is called, and the rejection of requests without a kubelet.

Follows pkg/registry/core/{pod,node} (LogLocation, streamLocation) and pkg/registry/core/pod/rest.
"""

from inkube.apiserver.http import Query, parse_int
from inkube.apiserver.registry import Request
from inkube.schemas import fielderrors, status
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.objects import Object

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_KUBELET_PORT = 10250
LOGS_HAVE_STREAMS = 32
"""The minor since which PodLogOptions has `stream`; before, it is an unknown parameter."""


def container_of(request: Request, pod: Object, query: Query) -> str:
    """Return the requested container, or the only one if none is requested. Raises StatusError
    400."""
    spec = pod["spec"]
    names = [one["name"] for member in _CONTAINERS for one in spec.get(member) or ()]
    wanted = query.get("container", "")
    if wanted:
        if wanted not in names:
            raise status.bad_request(f"container {wanted} is not valid for pod {request.name}")
        return wanted
    own = spec.get("containers") or []
    if len(own) == 1:
        return str(own[0]["name"])
    choices = f", choose one of: [{' '.join(names)}]" if own else ""
    raise status.bad_request(f"a container name must be specified for pod {request.name}{choices}")


def log_errors(query: Query, *, has_streams: bool) -> list[FieldError]:
    """Return the errors in the options of a log request (ValidatePodLogOptions).
    `has_streams`: the minor knows `stream`. Raises StatusError 400 for values that are not numbers.
    """
    bounds = {"limitBytes": 1, "sinceSeconds": 1, "tailLines": 0}
    errors = []
    for member, least in bounds.items():
        text = query.get(member, "")
        if text and parse_int(text) < least:
            why = "must be greater than 0" if least else "must be greater than or equal to 0"
            errors.append(fielderrors.invalid(member, int(text), why))
    if query.get("sinceTime") and query.get("sinceSeconds"):
        why = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        errors.append(fielderrors.forbidden("[]", why))
    if has_streams and "stream" in query:
        # the gate PodLogsQuerySplitStreams is off
        errors.append(fielderrors.forbidden("stream", "may not be specified"))
    return errors


def check_address(node: Object) -> str:
    """Return the address of the node's kubelet. Raises StatusError 500 if it has none."""
    addresses = (node.get("status") or {}).get("addresses") or ()
    host = next((one.get("address") for one in addresses if one.get("type") == "InternalIP"), None)
    if host is None:
        raise status.unknown("no preferred addresses found; known addresses: []")
    return str(host)


def unreachable(node: Object, path: str) -> status.StatusError:
    """Return the error 500: nothing listens at the address of the node's kubelet. Raises it if the
    node has no address."""
    host = check_address(node)
    endpoints = (node.get("status") or {}).get("daemonEndpoints") or {}
    port = (endpoints.get("kubeletEndpoint") or {}).get("Port") or _KUBELET_PORT
    text = f'Get "https://{host}:{port}/{path}": no kubelet can be reached from this server'
    return status.internal(text)
