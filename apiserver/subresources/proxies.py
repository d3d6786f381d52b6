"""The proxy subresources of pods, services and nodes: the reference's refusals, and one of our own.

Nothing listens at the addresses of simulated pods, so nothing is proxied: `kubectl port-forward`
reaches what answers there. Follows pkg/registry/core/{pod,service,node}/strategy.go.
"""

from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

from inkube.apiserver.handlers.verbs import Exchange
from inkube.apiserver.registry.registry import Registry
from inkube.schemas import status
from inkube.schemas.golang.gotext import quote

Object = dict[str, Any]


class Proxies:
    """Refuses as the reference does, as far as it would refuse."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def handlers(self) -> Mapping[tuple[str, str, str], Callable[[Exchange], Any]]:
        """(group, plural, subresource) → handler."""
        return {
            ("", "pods", "proxy"): self.pod,
            ("", "services", "proxy"): self.service,
            ("", "nodes", "proxy"): self.node,
        }

    async def pod(self, exchange: Exchange) -> web.StreamResponse:
        """Raises StatusError, always."""
        _, name, _ = _split(exchange.call.name)
        pod = self._find(exchange, "pods", name)
        if not (pod.get("status") or {}).get("podIP"):
            raise status.bad_request("address not allowed")
        raise _not_proxied("kubectl port-forward")

    async def service(self, exchange: Exchange) -> web.StreamResponse:
        """Raises StatusError, always."""
        _, name, port = _split(exchange.call.name)
        service = self._find(exchange, "services", name)
        ports = service["spec"].get("ports") or []
        names = {text for one in ports for text in (one.get("name", ""), str(one.get("port")))}
        if port and port not in names:
            raise _unavailable(f"no service port {port} found for service {quote(name)}")
        namespace = exchange.call.namespace
        found = self._registry.store.get(f"/registry/endpoints/{namespace}/{name}")
        if found is None:
            raise status.not_found("", "services", name)
        if not any(one.get("addresses") for one in found.value.get("subsets") or ()):
            raise _unavailable(f"no endpoints available for service {quote(name)}")
        raise _not_proxied("kubectl port-forward")

    async def node(self, exchange: Exchange) -> web.StreamResponse:
        """Raises StatusError, always."""
        _, name, _ = _split(exchange.call.name)
        self._find(exchange, "nodes", name)
        raise _not_proxied("kubectl logs, exec and top")

    def _find(self, exchange: Exchange, plural: str, name: str) -> Object:
        entry = self._registry.store.get(exchange.call.resource.key(exchange.call.namespace, name))
        if entry is None:
            raise status.not_found("", plural, name)
        value: Object = entry.value
        return value


def _split(text: str) -> tuple[str, str, str]:
    """Scheme, name and port of `name`, `name:port` or `scheme:name:port`. Raises 400."""
    parts = text.split(":")
    if len(parts) == 1:
        return "", text, ""
    if len(parts) == 2:
        return "", parts[0], parts[1]
    if len(parts) == 3 and parts[0] in ("", "http", "https"):
        return parts[0], parts[1], parts[2]
    raise status.bad_request(f"invalid service request {quote(text)}")


def _unavailable(message: str) -> status.StatusError:
    return status.StatusError(503, status.Reason.SERVICE_UNAVAILABLE, message)


def _not_proxied(instead: str) -> status.StatusError:
    return _unavailable(
        f"not supported: nothing is proxied to simulated nodes and their pods; use {instead}"
    )
