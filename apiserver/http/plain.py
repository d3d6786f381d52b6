"""aiohttp's server and connections, with a count of bytes that clients do not read.

`web.Server` and `web.RequestHandler` are unchanged. The additions are in methods of asyncio's
protocols. `fast` replaces the loop of a connection for tested versions of aiohttp.

An error in a callback of the event loop closes the connection at once. asyncio only logs most of
these errors, and the client would wait for a response that never comes.
"""

import asyncio
import contextlib
import functools
import logging
import re
import socket
import weakref
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, ClassVar, Final, Literal, cast

from aiohttp import __version__, web

from inkube.apiserver.http import unknownmethods
from inkube.apiserver.http.budget import HIGH_WATER, Budget, abort
from inkube.apiserver.http.grace import Grace
from inkube.apiserver.http.httprequest import Request
from inkube.apiserver.http.unknownmethods import KNOWN

logger = logging.getLogger(__name__)

UNSENT = 128 * 1024  # unsent bytes in the system's buffer; Linux would buffer megabytes
_INTERNET = (socket.AF_INET, socket.AF_INET6)
_UNSENT_OPTION: Final[int | None] = getattr(socket, "TCP_NOTSENT_LOWAT", None)

Handler = Callable[[Any], Coroutine[Any, Any, web.StreamResponse]]
ConnectionLoop = Literal["fast", "plain"]
"""The loop that serves connections: that of `fast`, or aiohttp's own."""
Callback = Callable[..., None]

CALLBACK_ERRORS = (Exception, asyncio.CancelledError)
"""What an event loop does not raise itself when a callback raises it."""


class Server(web.Server):
    """aiohttp's low-level server. `settings` are the arguments of each connection."""

    def __init__(
        self, handler: Handler, budget: Budget, request_factory: Any, **settings: Any
    ) -> None:
        super().__init__(handler, request_factory=request_factory)
        self.budget = budget
        self.settings = settings
        self.loop = asyncio.get_running_loop()
        self.grace = Grace()
        """The time for running requests when the server stops."""
        self.is_stopping = False
        """Whether new connections are closed at once."""
        self._ends: set[Callable[[], None]] = set()
        self._accepting: set[asyncio.Task[Any]] = set()
        """The tasks of connections that are not open yet, because of their TLS handshakes."""

    @property
    def connection_loop(self) -> ConnectionLoop:
        """The loop that serves new connections."""
        return "plain"

    @property
    def description(self) -> str:
        """What serves new connections, for the log."""
        return f"connections use the {self.connection_loop} loop, with aiohttp {__version__}"

    def stop_fast_loop(self, reason: str) -> None:
        """Serve new connections with aiohttp's own loop, as this server does anyway."""

    def __call__(self) -> web.RequestHandler:
        """Return the protocol of a new connection. asyncio calls this in the task that ends when
        the connection is open."""
        accepting = asyncio.current_task()
        if accepting is not None:  # None in the loops of uvloop and Windows
            self._accepting.add(accepting)
            accepting.add_done_callback(self._accepting.discard)
        return self.new_connection()

    def new_connection(self) -> web.RequestHandler:
        """Return the protocol of a new connection."""
        return Connection(self, self.budget, loop=self.loop, **self.settings)

    @property
    def connections(self) -> "list[Connection]":  # type: ignore[override] # `__call__` makes them
        """The open connections."""
        return cast("list[Connection]", super().connections)

    @contextlib.contextmanager
    def ending(self, end: Callable[[], None]) -> Iterator[None]:
        """A context in which `end` is called when the server stops: it ends a request that does not
        end by itself."""
        self._ends.add(end)
        try:
            if self.is_stopping:
                self._end_requests()
            yield
        finally:
            self._ends.discard(end)

    def _end_requests(self) -> None:
        while self._ends:
            self._ends.pop()()

    def pre_shutdown(self) -> None:
        """Close the connections, each after its current request."""
        self.is_stopping = True
        self._end_requests()
        for accepting in self._accepting:
            accepting.cancel()
        for connection in self.connections:
            connection.finish()

    async def shutdown(self, timeout: float | None = None) -> None:
        """Wait for running requests as long as `grace` allows, and end the others."""
        connections = self.connections
        running = {each.task for each in connections if each.task is not None}
        await asyncio.gather(*self._accepting, return_exceptions=True)
        try:
            await self.grace.wait(running)
        finally:
            for each in connections:
                if each.transport is not None:
                    each.transport.abort()
        await super().shutdown(timeout)


def abandon(transport: asyncio.Transport | None, error: BaseException) -> None:
    """Log an error in the loop of a connection, and close the connection in the next turn, because
    asyncio's transports continue after a callback, and would close twice."""
    logger.error("a connection is closed after an error in its loop", exc_info=error)
    if transport is not None:
        asyncio.get_running_loop().call_soon(transport.abort)


def guarded(callback: Callback) -> Callback:
    """Return a callback of a connection that closes it if it raises."""

    @functools.wraps(callback)
    def call(connection: "Connection", *args: Any) -> None:
        try:
            callback(connection, *args)
        except CALLBACK_ERRORS as error:
            connection.fail(error)

    return call


class deciding:  # noqa: N801 # used as a function; a generator takes three times as long
    """A context in which a function decides whether the request is cancelled if its client
    disconnects."""

    __slots__ = ("_connection", "_may_cancel")

    def __init__(self, request: web.BaseRequest, may_cancel: Callable[[], bool]) -> None:
        connection = request.protocol
        assert isinstance(connection, Connection), "as the server makes them"
        self._connection = connection
        self._may_cancel = may_cancel

    def __enter__(self) -> None:
        self._connection.may_cancel = self._may_cancel

    def __exit__(self, *error: object) -> None:
        self._connection.may_cancel = None


class Connection(web.RequestHandler):
    """A connection that counts in the budget of its server while its transport is full."""

    __slots__ = (
        "_connection_task", "_noted", "_unusual_head", "budget", "is_upgraded", "may_cancel",
        "pinned_bytes", "server",
    )  # fmt: skip

    notes_requests: ClassVar[bool] = True
    """Whether each new request is given to `note`: aiohttp's loop does not tell the current one."""

    def __init__(self, manager: "Server", budget: Budget, **settings: Any) -> None:
        super().__init__(manager, **settings)
        self.budget = budget
        self.server = manager
        self._unusual_head: re.Match[bytes] | None = None
        """The head that was received last, if its method may be one that the parser does not
        know."""
        self.pinned_bytes = 0
        """Bytes that the current response keeps in addition to those of the transport."""
        self.may_cancel: Callable[[], bool] | None = None
        """Decides, when the client has disconnected, whether the current request is cancelled.
        None: it is."""
        self.is_upgraded = False
        """Whether another parser than that of HTTP reads the bytes. It tells the handler of the
        request that the client has disconnected."""
        self._connection_task: asyncio.Task[Any] | None = None
        """The task of `start`, while it runs."""
        self._noted: weakref.ref[web.BaseRequest] | None = None

    @property
    def unread(self) -> int:
        """The number of unsent bytes: those in the transport, and those of the current response."""
        transport = self.transport
        return 0 if transport is None else transport.get_write_buffer_size() + self.pinned_bytes

    @property
    def task(self) -> "asyncio.Task[Any] | None":
        """The task that ends with the connection; None before it runs and at its end."""
        return self._connection_task

    def note(self, request: web.BaseRequest) -> None:
        """Note the current request."""
        self._noted = weakref.ref(request)

    def current_request(self) -> web.BaseRequest | None:
        """Return the request that runs, or one that has just ended; None without one."""
        return None if self._noted is None else self._noted()

    def finish(self) -> None:
        """Close the connection after its current request, whose body is read to its end. aiohttp's
        `close` reads nothing more."""
        request = self.current_request()
        if request is None:
            self.close()
            return
        if isinstance(request, Request):
            request.close_afterwards()
        request.content.on_eof(self.close)

    def disconnect(self) -> None:
        """Close the connection and drop the unsent bytes."""
        logger.info("a client that does not read is cut off: %d bytes wait for it", self.unread)
        abort(self.transport)

    def fail(self, error: BaseException) -> None:
        """Close the connection at once after an error in its loop, and cancel its request."""
        abandon(self.transport, error)
        if self._connection_task is not None:
            self._connection_task.cancel()

    async def start(self) -> None:
        """Run requests until the connection closes. aiohttp runs this in a task."""
        self._connection_task = asyncio.current_task()
        try:
            await self.run_requests()
        except Exception as error:  # noqa: BLE001 # nobody awaits the task
            self._connection_task = None
            self.fail(error)
        except asyncio.CancelledError:
            if self.transport is not None:  # `close` of an idle connection cancels its wait
                self.transport.close()
            raise
        finally:
            self._connection_task = None

    async def run_requests(self) -> None:
        """Run requests until the connection closes, with aiohttp's own loop."""
        await super().start()

    @guarded
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Limit the unsent bytes of the new connection."""
        self.transport = cast("asyncio.Transport", transport)  # also for `fail`
        super().connection_made(transport)
        # cast: uvloop's transports have asyncio's methods without being instances of its classes
        self.transport.set_write_buffer_limits(HIGH_WATER)
        connection = transport.get_extra_info("socket")
        if _UNSENT_OPTION is not None and connection.family in _INTERNET:
            connection.setsockopt(socket.IPPROTO_TCP, _UNSENT_OPTION, UNSENT)
        if self.server.is_stopping:
            self.transport.abort()

    @guarded
    def data_received(self, data: bytes) -> None:
        """Receive bytes of the client."""
        self.receive(data)

    def receive(self, data: bytes) -> None:
        """Read bytes of the client. Closes the connection if they are no HTTP.

        aiohttp responds to most such bytes. Before 3.14.4, its parser raises the ValueError of a
        URL that cannot be read. Any client can send one, so this is no error of the loop.
        """
        if data and not data.startswith(KNOWN):  # nearly all do: nothing is called for them
            self._unusual_head = unknownmethods.head(data)
        try:
            web.RequestHandler.data_received(self, data)  # super() takes longer, for every request
        except ValueError as error:
            logger.debug("a client sends bytes that are no request: %s", error)
            abort(self.transport)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Return the response to bytes that aiohttp cannot read, or to a request whose method its
        parser does not know."""
        parsed = unknownmethods.message(self._unusual_head, exc)
        if parsed is None:
            return super().handle_error(request, status, exc, message)
        return unknownmethods.deferred(parsed, self, self.server, request.task)

    def set_parser(self, parser: Any, *args: Any, **settings: Any) -> None:
        """Let another parser read the bytes; aiohttp calls this for an upgrade."""
        self.is_upgraded = True
        super().set_parser(parser, *args, **settings)

    @guarded
    def eof_received(self) -> None:
        """Note that the client sends no more."""
        super().eof_received()

    @guarded
    def pause_writing(self) -> None:
        """Count the client as a slow reader."""
        super().pause_writing()
        self.budget.add(self)

    def recount(self) -> None:
        """Count the unsent bytes again if the client is counted."""
        self.budget.recount(self)

    @guarded
    def resume_writing(self) -> None:
        """Stop counting the client, which has read its bytes."""
        self.budget.remove(self)
        super().resume_writing()

    @guarded
    def connection_lost(self, exc: BaseException | None) -> None:
        """Stop counting the client, which has disconnected, and cancel its request."""
        self.budget.remove(self)
        super().connection_lost(exc)
        task = self._connection_task
        if task is None or self.is_upgraded:
            return
        if self.may_cancel is None or self.may_cancel():
            task.cancel()
