"""The finalize subresource of namespaces: only PUT, and only `spec.finalizers`.

Follows pkg/registry/core/namespace/storage (FinalizeREST).
"""

from aiohttp import web

from inkube.apiserver.handlers.verbs import Exchange, Handlers
from inkube.schemas import status


class FinalizeHandler:
    """PUT of /finalize is an update with a strategy of its own."""

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers

    async def __call__(self, exchange: Exchange) -> web.StreamResponse:
        """Answer one request. Raises StatusError 405 for any verb but update."""
        if exchange.call.verb != "update":
            raise status.method_not_allowed()
        return await self._handlers.update(exchange)
