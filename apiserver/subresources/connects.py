"""Admission of requests that connect to a pod, a service or a node.

Webhooks and policies see the options of the request with the operation CONNECT, before anything
else is checked. Follows apiserver/pkg/endpoints/handlers/get.go, ConnectResource.

A server that shows a dump rejects these requests: nothing of it runs, and its addresses belong to
another network.
"""

from collections.abc import Callable, Mapping

from aiohttp import web
from multidict import MultiDict, MultiDictProxy

from inkube.apiserver.handlers import Exchange, Handler
from inkube.apiserver.http import RequestInfo
from inkube.apiserver.registry import Registry
from inkube.schemas import status
from inkube.schemas.builtin import connects

_KINDS = {
    ("", "pods", "attach"): "PodAttachOptions",
    ("", "pods", "exec"): "PodExecOptions",
    ("", "pods", "portforward"): "PodPortForwardOptions",
    ("", "pods", "proxy"): "PodProxyOptions",
    ("", "services", "proxy"): "ServiceProxyOptions",
    ("", "nodes", "proxy"): "NodeProxyOptions",
}

_NOTHING_RUNS = (
    "this server shows a dump of a cluster. A dump contains objects and logs, but no containers "
    "and no network, so exec, attach, port-forward and proxy are not possible"
)


def admitted(
    registry: Registry,
    handlers: Mapping[tuple[str, str, str], Handler],
    shows_dump: Callable[[], bool],
) -> dict[tuple[str, str, str], Handler]:
    """Return the handlers, those that connect behind admission. `shows_dump` returns whether the
    server shows a dump, without nodes that run its pods."""
    return {
        place: _Admitted(registry, handler, _KINDS[place], shows_dump)
        if place in _KINDS
        else handler
        for place, handler in handlers.items()
    }


class _Admitted:
    """A handler behind admission. Changes by webhooks and policies apply to its query and path."""

    def __init__(
        self, registry: Registry, handler: Handler, kind: str, shows_dump: Callable[[], bool]
    ) -> None:
        self._registry = registry
        self._handler = handler
        self._kind = kind
        self._shows_dump = shows_dump

    async def __call__(self, exchange: Exchange) -> web.StreamResponse:
        """Respond to one request. Raises StatusError of a refusal, and those of the handler."""
        if self._shows_dump():
            raise status.bad_request(_NOTHING_RUNS)
        request, query = exchange.request, exchange.query
        if self._registry.chain.is_idle(request.resource, "CONNECT"):
            return await self._handler(exchange)
        head, path = split_proxy_path(exchange.info)
        options = connects.read(self._kind, lambda name: query.getall(name, ()), path)
        before = dict(options)
        await self._registry.admit(request, options, "CONNECT")
        if options != before:
            kept = [pair for pair in query.items() if pair[0] not in connects.MEMBERS[self._kind]]
            changed = MultiDictProxy(MultiDict([*kept, *connects.query(options)]))
            info = exchange.info._replace(query=changed)
            if options.get("path", "") != path:
                behind = options.get("path", "").lstrip("/")
                info = info._replace(path=f"{head}/{behind}")
            exchange = exchange._replace(info=info)
        return await self._handler(exchange)


def split_proxy_path(info: RequestInfo) -> tuple[str, str]:
    """Return the path of a request to a subresource, and what is behind it: "" or `/…`."""
    place = f"/{info.resource}/{info.name}/{info.subresource}"
    head, found, behind = info.path.partition(place)
    return head + found, behind
