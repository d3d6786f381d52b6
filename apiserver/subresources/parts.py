"""Subresources that show the object itself and let one part of it change.

Namespaces' finalize, pods' ephemeralcontainers and resize, approval of certificate requests: an
update with a strategy of its own (`BuiltinStrategy.prepare_part`, `check_part`).
"""

from aiohttp import web

from inkube.apiserver.handlers import Exchange, Handlers
from inkube.apiserver.subresources import posted

READ_AND_WRITTEN = ("get", "update", "patch")


class PartHandler:
    """GET, PUT and PATCH of a part, or those of them that there are."""

    def __init__(self, handlers: Handlers, *verbs: str) -> None:
        self._handlers = handlers
        self._verbs = verbs or READ_AND_WRITTEN

    async def __call__(self, exchange: Exchange) -> web.StreamResponse:
        """Answer one request. Raises StatusError 405 for any other verb."""
        call = exchange.call
        posted.check_verb(call, *self._verbs)
        return await self._handlers.by_verb[call.verb](exchange)
