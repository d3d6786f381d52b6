"""aiohttp's server and connections, with a count of bytes that clients do not read.

`web.Server` and `web.RequestHandler` are unchanged. The additions are in methods of asyncio's
protocols. `fast` replaces the loop of a connection for tested versions of aiohttp.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine
from typing import Any, Final, cast

from aiohttp import web

from inkube.apiserver.http.budget import HIGH_WATER, Budget, abort

logger = logging.getLogger(__name__)

UNSENT = 128 * 1024  # unsent bytes in the system's buffer; Linux would buffer megabytes

_INTERNET = (socket.AF_INET, socket.AF_INET6)
_UNSENT_OPTION: Final[int | None] = getattr(socket, "TCP_NOTSENT_LOWAT", None)

Handler = Callable[[Any], Coroutine[Any, Any, web.StreamResponse]]


class Server(web.Server):
    """aiohttp's low-level server. `settings` are the arguments of each connection."""

    def __init__(
        self, handler: Handler, budget: Budget, request_factory: Any, **settings: Any
    ) -> None:
        super().__init__(handler, request_factory=request_factory)
        self.budget = budget
        self.settings = settings
        self.loop = asyncio.get_running_loop()

    def __call__(self) -> web.RequestHandler:
        """Return the protocol of a new connection."""
        return Connection(self, self.budget, loop=self.loop, **self.settings)


class Connection(web.RequestHandler):
    """A connection that counts in the budget of its server while its transport is full."""

    __slots__ = ("budget", "pinned_bytes")

    def __init__(self, manager: web.Server, budget: Budget, **settings: Any) -> None:
        super().__init__(manager, **settings)
        self.budget = budget
        self.pinned_bytes = 0
        """Bytes that the current response keeps in addition to those of the transport."""

    @property
    def unread(self) -> int:
        """The number of unsent bytes: those in the transport, and those of the current response."""
        transport = self.transport
        return 0 if transport is None else transport.get_write_buffer_size() + self.pinned_bytes

    def disconnect(self) -> None:
        """Close the connection and drop the unsent bytes."""
        logger.info("a client that does not read is cut off: %d bytes wait for it", self.unread)
        abort(self.transport)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Limit the unsent bytes of the new connection."""
        super().connection_made(transport)
        # cast: uvloop's transports have asyncio's methods without being instances of its classes
        cast("asyncio.Transport", transport).set_write_buffer_limits(HIGH_WATER)
        connection = transport.get_extra_info("socket")
        if _UNSENT_OPTION is not None and connection.family in _INTERNET:
            connection.setsockopt(socket.IPPROTO_TCP, _UNSENT_OPTION, UNSENT)

    def pause_writing(self) -> None:
        """Count the client as a slow reader."""
        super().pause_writing()
        self.budget.add(self)

    def recount(self) -> None:
        """Count the unsent bytes again if the client is counted."""
        self.budget.recount(self)

    def resume_writing(self) -> None:
        """Stop counting the client, which has read its bytes."""
        self.budget.remove(self)
        super().resume_writing()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Stop counting the client, which has disconnected."""
        self.budget.remove(self)
        super().connection_lost(exc)
