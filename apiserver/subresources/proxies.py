"""proxy of pods, services and nodes: the request is forwarded to a port of a pod.

inkube has no cluster network: a port of a pod is reached as in port-forward, through the simulated
kubelet of the pod's node, over a socket of this process. Endpoints of a service that are not pods,
and addresses in the server's options, are connected to directly. Other valid requests are rejected
as upstream rejects those for unreachable addresses. Follows pkg/registry/core/{pod,node,service}
(ResourceLocation) and pkg/registry/core/pod/rest.
"""

import ipaddress
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from aiohttp import web

from inkube.apiserver import serviceaddresses
from inkube.apiserver.handlers import Exchange, Handler
from inkube.apiserver.registry import Registry, Request, keys
from inkube.apiserver.serviceaddresses import ServiceAddresses
from inkube.apiserver.subresources import podports, posted
from inkube.apiserver.subresources.containers import Kubelet, Sessions
from inkube.apiserver.subresources.nodeless import unreachable
from inkube.schemas import status
from inkube.schemas.golang import gotext
from inkube.schemas.objects import Object
from inkube.storage import Entry

_VERBS = ("get", "create", "update", "patch", "delete")
_HTTP = 80


class _PodPort(NamedTuple):
    """The target of a forwarded request: a port of a pod."""

    scheme: str
    pod: Object
    port: int


class Proxies:
    """Forwards requests for pods, services and nodes, if their target can be reached."""

    def __init__(
        self,
        registry: Registry,
        addresses: ServiceAddresses,
        kubelet: Callable[[], Kubelet | None],
        sessions: Sessions,
    ) -> None:
        self._registry = registry
        self._addresses = addresses
        self._kubelet = kubelet
        self._sessions = sessions

    def handlers(self) -> Mapping[tuple[str, str, str], Handler]:
        """(group, plural, subresource) → handler."""
        return {
            ("", "nodes", "proxy"): self.node,
            ("", "pods", "proxy"): self.pod,
            ("", "services", "proxy"): self.service,
        }

    async def pod(self, exchange: Exchange) -> web.StreamResponse:
        """Forward a request to the address of a pod. Raises StatusError."""
        scheme, name, port = self._target(exchange)
        pod = self._object(exchange.request, name).value
        address = (pod.get("status") or {}).get("podIP", "")
        if not _is_global(address):
            raise status.bad_request("address not allowed")
        place = _PodPort(scheme or "http", pod, _port_number(pod, port))
        return await self._forward(exchange, name, place)

    async def service(self, exchange: Exchange) -> web.StreamResponse:
        """Forward a request to an endpoint of a service. Raises StatusError 404 or 503."""
        scheme, name, port = self._target(exchange)
        request = exchange.request
        service = self._object(request, name).value
        named = _port_name(service, port)
        if named is None:
            text = f"no service port {port} found for service {gotext.quote(name)}"
            raise status.unavailable(text)
        given = self._addresses.declared(request.namespace, name)
        if given is not None:
            return await self._connect(exchange, given, scheme)
        endpoints = self._registry.store.get(keys.key("endpoints", request.namespace, name))
        if endpoints is None:
            raise status.not_found("", "services", name)
        subsets = endpoints.value.get("subsets") or ()
        if not any(subset.get("addresses") for subset in subsets):
            raise status.unavailable(f"no endpoints available for service {gotext.quote(name)}")
        found = list(self._endpoints(subsets, request.namespace, named, scheme or "http"))
        place = random.choice(found) if found else None  # noqa: S311 # they are all alike
        if isinstance(place, str):
            return await self._connect(exchange, place, scheme)
        return await self._forward(exchange, name, place)

    async def node(self, exchange: Exchange) -> web.StreamResponse:
        """Reject a request for a node's kubelet, because nothing listens at its address. Raises
        StatusError."""
        _, name, _ = self._target(exchange)
        node = self._object(exchange.request, name).value
        raise unreachable(node, "")

    def _target(self, exchange: Exchange) -> tuple[str, str, str]:
        posted.check_verb(exchange.request, *_VERBS)
        return _split(exchange.request)

    def _object(self, request: Request, name: str) -> Entry:
        entry = self._registry.store.get(request.resource.key(request.namespace, name))
        if entry is None:
            raise status.not_found("", request.resource.plural, name)
        return entry

    def _endpoints(
        self, subsets: Any, namespace: str, port_name: str, scheme: str
    ) -> Iterator[_PodPort | str]:
        """Yield the pods of a service, with the port of that name, and the addresses of other
        endpoints."""
        for subset in subsets:
            ports = [p["port"] for p in subset.get("ports") or () if _is_named(p, port_name)]
            for address in subset.get("addresses") or () if ports else ():
                target = address.get("targetRef") or {}
                if target.get("kind") != "Pod":
                    if _is_global(address["ip"]):
                        yield serviceaddresses.joined(address["ip"], ports[0])
                    continue
                key = keys.key("pods", target.get("namespace") or namespace, target["name"])
                entry = self._registry.store.get(key)
                if entry is not None:
                    yield _PodPort(scheme, entry.value, ports[0])

    async def _connect(self, exchange: Exchange, address: str, scheme: str) -> web.StreamResponse:
        with self._sessions.open():
            return await podports.forward(exchange, address, scheme or "http")

    async def _forward(
        self, exchange: Exchange, name: str, pod_port: _PodPort | None
    ) -> web.StreamResponse:
        kubelet = self._kubelet()
        if pod_port is None or kubelet is None or not kubelet.answers(pod_port.pod):
            raise _no_network(exchange.request, name)

        async def connect(side: Any) -> None:
            await kubelet.forward(pod_port.pod, pod_port.port, side)

        with self._sessions.open():
            return await podports.forward(exchange, connect, pod_port.scheme)


def _port_number(pod: Object, port: str) -> int:
    """Return the requested port, or the first port of the pod's containers. Raises StatusError
    503."""
    if not port:
        declared = (p for one in pod["spec"]["containers"] for p in one.get("ports") or ())
        first = next(declared, None)
        return int(first["containerPort"]) if first else _HTTP
    if port.isdecimal() and 0 < int(port) < 65536:
        return int(port)
    raise status.unavailable(f"error trying to reach service: dial tcp: unknown port {port}")


def _is_named(port: Object, name: str) -> bool:
    return str(port.get("name") or "") == name


def _split(request: Request) -> tuple[str, str, str]:
    """Return scheme, name and port of `name`, `name:port` or `scheme:name:port`. Raises StatusError
    400."""
    parts = request.name.split(":")
    if len(parts) == 1:
        return "", parts[0], ""
    if len(parts) == 2:
        return "", parts[0], parts[1]
    if len(parts) == 3 and parts[0] in ("", "http", "https"):
        return parts[0], parts[1], parts[2]
    kind = request.resource.kind.lower()
    raise status.bad_request(f"invalid {kind} request {gotext.quote(request.name)}")


def _port_name(service: Object, port: str) -> str | None:
    """Return the name of the requested port of a service, or None if it does not exist."""
    ports = service["spec"].get("ports") or []
    if not port:
        return str(ports[0].get("name", "")) if len(ports) == 1 else ""
    for one in ports:
        if port in (one.get("name"), str(one.get("port"))):
            return str(one.get("name", ""))
    return None if port.isdecimal() else port


def _is_global(address: str) -> bool:
    """Return whether an address is a global unicast address, which includes private addresses
    (net.IP.IsGlobalUnicast)."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    special = found.is_multicast or found.is_loopback or found.is_link_local
    return not (special or found.is_unspecified or str(found) == "255.255.255.255")


def _no_network(request: Request, name: str) -> status.StatusError:
    """Return the error 503, because no cluster network exists through which the request could be
    forwarded."""
    kind = request.resource.plural
    text = f"error trying to reach {kind} {gotext.quote(name)}: this server has no cluster network"
    return status.unavailable(text)
