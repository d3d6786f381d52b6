"""Subresources that return the whole object, and permit changes of one part of it.

Namespaces' finalize, pods' ephemeralcontainers and resize, and approval of certificate requests are
updates with special rules (`BuiltinStrategy.prepare_part`, `check_part`).
"""

from aiohttp import web

from inkube.apiserver.handlers import Exchange, Handlers
from inkube.apiserver.subresources import posted

READ_AND_WRITTEN = ("get", "update", "patch")


class PartHandler:
    """Serves GET, PUT and PATCH of a part, as far as the subresource supports them."""

    def __init__(self, handlers: Handlers, *verbs: str) -> None:
        self._handlers = handlers.by_verb
        self._verbs = verbs or READ_AND_WRITTEN

    async def __call__(self, exchange: Exchange) -> web.StreamResponse:
        """Respond to one request. Raises StatusError 405 for any other verb."""
        request = exchange.request
        posted.check_verb(request, *self._verbs)
        return await self._handlers[request.verb](exchange)
