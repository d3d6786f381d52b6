"""What would call a kubelet, an address of a pod or of a service: proxies, and what others share.

Everything the reference decides before it calls anybody is decided here. There is no cluster
network, so what passes is refused as the reference refuses a node that cannot be reached; where
simulated kubelets answer, `containers` asks them. Follows pkg/registry/core/{pod,node,service}
(LogLocation, streamLocation, ResourceLocation) and pkg/registry/core/pod/rest.
"""

import ipaddress
from collections.abc import Mapping

from aiohttp import web

from inkube.apiserver.handlers.verbs import Exchange, Handler
from inkube.apiserver.http.options import Query, parse_int
from inkube.apiserver.registry import keys
from inkube.apiserver.registry.calls import Call
from inkube.apiserver.registry.registry import Registry
from inkube.apiserver.subresources import posted
from inkube.schemas import fielderrors, status
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.golang import gotext
from inkube.schemas.objects import Object
from inkube.storage.entry import Entry

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_KUBELET_PORT = 10250
_PROXY_VERBS = ("get", "create", "update", "patch", "delete")


class Proxies:
    """Requests to a pod, a service or a node, passed on; as far as there is where to."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def handlers(self) -> Mapping[tuple[str, str, str], Handler]:
        """(group, plural, subresource) → handler."""
        return {
            ("", "nodes", "proxy"): self.node,
            ("", "pods", "proxy"): self.pod,
            ("", "services", "proxy"): self.service,
        }

    async def pod(self, exchange: Exchange) -> web.StreamResponse:
        """To a pod's address. Raises StatusError."""
        _, name, _ = self._target(exchange)
        pod = self._object(exchange.call, name).value
        address = (pod.get("status") or {}).get("podIP", "")
        if not _is_global(address):
            raise status.bad_request("address not allowed")
        raise _no_network(exchange.call, name)

    async def service(self, exchange: Exchange) -> web.StreamResponse:
        """To an endpoint of a service. Raises StatusError 404 or 503."""
        _, name, port = self._target(exchange)
        call = exchange.call
        service = self._object(call, name).value
        named = _port_name(service, port)
        if named is None:
            text = f"no service port {port} found for service {gotext.quote(name)}"
            raise status.unavailable(text)
        endpoints = self._registry.store.get(keys.key("endpoints", call.namespace, name))
        if endpoints is None:
            raise status.not_found("", "services", name)
        subsets = endpoints.value.get("subsets") or ()
        if not any(subset.get("addresses") for subset in subsets):
            raise status.unavailable(f"no endpoints available for service {gotext.quote(name)}")
        raise _no_network(call, name)

    async def node(self, exchange: Exchange) -> web.StreamResponse:
        """To a kubelet. Raises StatusError."""
        _, name, _ = self._target(exchange)
        node = self._object(exchange.call, name).value
        raise unreachable(node, "")

    def _target(self, exchange: Exchange) -> tuple[str, str, str]:
        posted.check_verb(exchange.call, *_PROXY_VERBS)
        return _split(exchange.call)

    def _object(self, call: Call, name: str) -> Entry:
        entry = self._registry.store.get(call.resource.key(call.namespace, name))
        if entry is None:
            raise status.not_found("", call.resource.plural, name)
        return entry


def _split(call: Call) -> tuple[str, str, str]:
    """Scheme, name and port of `name`, `name:port`, `scheme:name:port`. Raises StatusError 400."""
    parts = call.name.split(":")
    if len(parts) == 1:
        return "", parts[0], ""
    if len(parts) == 2:
        return "", parts[0], parts[1]
    if len(parts) == 3 and parts[0] in ("", "http", "https"):
        return parts[0], parts[1], parts[2]
    kind = call.resource.kind.lower()
    raise status.bad_request(f"invalid {kind} request {gotext.quote(call.name)}")


def _port_name(service: Object, port: str) -> str | None:
    """The name of a service's port that a request means; None where there is none such."""
    ports = service["spec"].get("ports") or []
    if not port:
        return str(ports[0].get("name", "")) if len(ports) == 1 else ""
    for one in ports:
        if port in (one.get("name"), str(one.get("port"))):
            return str(one.get("name", ""))
    return None if port.isdecimal() else port


def _is_global(address: str) -> bool:
    """net.IP.IsGlobalUnicast, which private addresses are too."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    special = found.is_multicast or found.is_loopback or found.is_link_local
    return not (special or found.is_unspecified or str(found) == "255.255.255.255")


def container_of(call: Call, pod: Object, query: Query) -> str:
    """The container that is meant, the only one if none is named. Raises StatusError 400."""
    spec = pod["spec"]
    names = [one["name"] for member in _CONTAINERS for one in spec.get(member) or ()]
    wanted = query.get("container", "")
    if wanted:
        if wanted not in names:
            raise status.bad_request(f"container {wanted} is not valid for pod {call.name}")
        return wanted
    own = spec.get("containers") or []
    if len(own) == 1:
        return str(own[0]["name"])
    choices = f", choose one of: [{' '.join(names)}]" if own else ""
    raise status.bad_request(f"a container name must be specified for pod {call.name}{choices}")


def log_errors(query: Query) -> list[FieldError]:
    """ValidatePodLogOptions. Raises StatusError 400 for what is no number."""
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
    stream = query.get("stream") or "All"
    if stream not in ("All", "Stdout", "Stderr"):
        errors.append(fielderrors.not_supported("stream", stream, ["All", "Stderr", "Stdout"]))
    elif stream != "All" and query.get("tailLines"):
        why = "`tailLines` and specific `stream` are mutually exclusive for now"
        errors.append(fielderrors.forbidden("[]", why))
    return errors


def unreachable(node: Object, path: str) -> status.StatusError:
    """500: nothing listens where the node's kubelet should."""
    addresses = (node.get("status") or {}).get("addresses") or ()
    name = node["metadata"]["name"]
    host = next((one.get("address") for one in addresses if one.get("type") == "InternalIP"), None)
    if host is None:
        return status.unknown(f"no preferred addresses found; known addresses: [] of node {name}")
    told = (node.get("status") or {}).get("daemonEndpoints") or {}
    port = (told.get("kubeletEndpoint") or {}).get("Port") or _KUBELET_PORT
    text = f'Get "https://{host}:{port}/{path}": no kubelet can be reached from this server'
    return status.internal(text)


def _no_network(call: Call, name: str) -> status.StatusError:
    """503: there is no cluster network to pass the request on to."""
    kind = call.resource.plural
    text = f"error trying to reach {kind} {gotext.quote(name)}: this server has no cluster network"
    return status.unavailable(text)
