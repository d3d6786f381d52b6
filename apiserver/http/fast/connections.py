"""A connection whose requests run without separate tasks.

aiohttp wakes the task of the connection, which creates a task for the request, whose end wakes the
first task again: three turns of the event loop and two futures. Here, a request that arrived
completely begins in the next turn, together with all others of that turn, because many small pieces
of work run faster stage by stage. It continues when the future that it awaits is done. A short
response is written where it is made, together with others of the same turn (`outbox`). A GET takes
two thirds of aiohttp's processor time (`make bench`).

`asyncio.current_task` returns the connection's task while a request runs. A time limit therefore
cancels that task, which then takes the request over and raises the cancellation where the request
waits. Each request has its own context. All other cases run in the task, as in aiohttp: a body that
has not arrived completely, pipelined requests, an upgrade, bytes that are not HTTP, the end of a
long response.

Replaces `aiohttp.web_protocol.RequestHandler.start` of the versions in `versions`. The frequent
callbacks catch errors in place, because `plain.guarded` takes 0.1 of the 24 µs of a GET.
"""

import asyncio
from asyncio.tasks import _enter_task, _leave_task  # documented: "Extending", Task lifetime support
from collections.abc import Awaitable, Callable, Generator
from contextvars import copy_context
from typing import Any, NamedTuple

from aiohttp import web
from aiohttp.http_parser import HttpRequestParser
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import ERROR, PayloadAccessError, _ErrInfo

from inkube.apiserver.http import plain
from inkube.apiserver.http.budget import Budget
from inkube.apiserver.http.fast.fallback import FALLBACK
from inkube.apiserver.http.fast.outbox import Outbox
from inkube.apiserver.http.httprequest import Request
from inkube.apiserver.http.httpresponse import BodyResponse

_REQUEST_ENDED = PayloadAccessError()
_COUNTS_MESSAGES = hasattr(HttpRequestParser, "message_consumed")  # since 3.14


class Server(plain.Server):
    """A server whose connections run requests without separate tasks."""

    def __init__(
        self, handler: plain.Handler, budget: Budget, request_factory: Any, **settings: Any
    ) -> None:
        super().__init__(handler, budget, request_factory, **settings)
        self.outbox = Outbox(self.loop.call_soon, _fail)

    @property
    def connection_loop(self) -> plain.ConnectionLoop:
        """The loop that serves new connections: aiohttp's own after an error in this one."""
        return "plain" if FALLBACK.is_on else "fast"

    def stop_fast_loop(self, reason: str) -> None:
        """Serve new connections with aiohttp's own loop."""
        FALLBACK.switch(reason)

    def new_connection(self) -> web.RequestHandler:
        """Return the protocol of a new connection."""
        if FALLBACK.is_on:
            return super().new_connection()
        return Connection(self, self.budget, self.outbox, loop=self.loop, **self.settings)


class _TaskRequest(NamedTuple):
    """A request that the task of the connection continues."""

    request: web.BaseRequest
    payload: StreamReader
    handler: Callable[[Any], Awaitable[web.StreamResponse]]
    """Returns the response to the request."""


class _RunningRequest:
    """A handler that runs outside the task. To await it runs the handler to its response."""

    __slots__ = ("awaited", "coroutine", "payload", "request", "run", "task")

    def __init__(
        self,
        request: web.BaseRequest,
        payload: StreamReader,
        handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        task: "asyncio.Task[None]",
    ) -> None:
        self.request = request
        self.payload = payload
        self.task = task
        """The task that is current while the handler runs."""
        self.coroutine: Any = handler(request)
        """A coroutine, though aiohttp declares an Awaitable."""
        self.run = copy_context().run
        self.awaited: asyncio.Future[Any] | None = None
        """The future that it awaits; None if it only lets other work run (`asyncio.sleep(0)`)."""

    def __await__(self) -> Generator[Any, Any, web.StreamResponse]:
        run, coroutine, awaited = self.run, self.coroutine, self.awaited
        if awaited is not None:
            awaited._asyncio_future_blocking = True  # noqa: SLF001 # "is awaited", to a task
        try:
            while True:
                try:
                    result = yield awaited
                except BaseException as error:  # noqa: BLE001 # a cancellation, or the end of the process
                    awaited = run(coroutine.throw, error)
                else:
                    awaited = run(coroutine.send, result)
        except StopIteration as end:
            response: web.StreamResponse = end.value
            return response

    async def handle(self, _: web.BaseRequest) -> web.StreamResponse:
        """Run the handler to its response; has the signature of a handler."""
        return await self


class Connection(plain.Connection):
    """One connection: its requests, one after the other."""

    __slots__ = ("_idle_waiter", "_is_last", "_outbox", "_running", "_task_request")

    def __init__(
        self, manager: plain.Server, budget: Budget, outbox: Outbox, **settings: Any
    ) -> None:
        super().__init__(manager, budget, **settings)
        self._outbox = outbox
        self._is_last = False
        """Whether the request is the last of those that arrived in one turn. A single one is."""
        self._running: _RunningRequest | None = None
        """The request that waits for a future without the task."""
        self._task_request: _TaskRequest | None = None
        """The request that the task continues."""
        self._idle_waiter = self._loop.create_future()
        """The future that the task awaits while requests run without it."""

    notes_requests = False

    def current_request(self) -> web.BaseRequest | None:
        """Return the request that runs, if it is not in the middle of a step."""
        return self._current_request

    def finish(self) -> None:
        """Close the connection after its current request. One that has just arrived begins
        first."""
        if self._current_request is None and self._messages and self.transport is not None:
            self._loop.call_soon(self.finish)
        else:
            super().finish()

    def fail(self, error: BaseException) -> None:
        """Close the connection at once after an error in its loop. New connections use aiohttp's
        loop."""
        FALLBACK.switch(_reason(error))
        super().fail(error)

    def data_received(self, data: bytes) -> None:
        """Receive bytes. A complete request on an idle connection begins without the task."""
        try:
            idle = self._waiter
            if idle is None or idle.done():
                self.receive(data)
                return
            self._waiter = None  # so that aiohttp does not wake the task
            self.receive(data)
            if self._messages:
                self._idle_waiter = idle
                self._outbox.expect()
                self._loop.call_soon(self._start_request)
            else:
                self._waiter = idle
        except plain.CALLBACK_ERRORS as error:
            self.fail(error)

    def _start_request(self) -> None:
        """Begin the request, or wake the task if only it can run the request."""
        try:
            self._is_last = self._outbox.start_request()
            message, payload = self._messages[0]
            task, handler, idle = self._task_handler, self._request_handler, self._idle_waiter
            is_usual = (
                not isinstance(message, _ErrInfo) and not message.upgrade and payload.is_eof()
            )
            is_single = len(self._messages) == 1 and not idle.done()
            if is_usual and is_single and task is not None and handler is not None:
                self._messages.popleft()
                request = self._request(message, payload, task)
                self._run(_RunningRequest(request, payload, handler, task))
            else:
                self._wait_for_request()
        except plain.CALLBACK_ERRORS as error:
            self.fail(error)

    def _run(self, running: _RunningRequest) -> None:
        """Run a request until it waits or ends."""
        request, payload = running.request, running.payload
        self._running = running  # an error here must cancel it
        _enter_task(self._loop, running.task)
        self._running = self._current_request = None
        try:
            running.awaited = awaited = running.run(running.coroutine.send, None)
        except StopIteration as end:
            self._respond(request, payload, end.value)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 # it is raised there
            self._task_request = _TaskRequest(request, payload, _handler_raising(error))
        else:
            self._running, self._current_request = running, request
            if awaited is None:
                self._loop.call_soon(self._resume)
            else:
                awaited._asyncio_future_blocking = False  # noqa: SLF001 # as a task does
                awaited.add_done_callback(self._resume)
            return
        finally:
            _leave_task(self._loop, running.task)
        self._wait_for_request()

    def _resume(self, awaited: "asyncio.Future[Any] | None" = None) -> None:
        """Continue a request after its wait. If the task was cancelled meanwhile, the task
        continues the request instead, because the cancellation was meant for the request."""
        try:
            running = self._running
            if running is not None and running.awaited is awaited and not self._idle_waiter.done():
                self._run(running)
        except plain.CALLBACK_ERRORS as error:
            self.fail(error)

    def _wait_for_request(self) -> None:
        """Wait for the next request, or wake the task for work that only it can do."""
        idle = self._waiter = self._idle_waiter
        if idle.done():
            self._waiter = None
        elif self._task_request is not None or self._messages:
            idle.set_result(None)
        elif self._close or self._force_close:
            idle.cancel()

    def _respond(
        self, request: web.BaseRequest, payload: StreamReader, response: web.StreamResponse
    ) -> None:
        """End a request if its response can be sent without a wait. Else the task ends it."""
        try:
            whole = self._whole(request, response)
        except Exception as error:  # noqa: BLE001 # it is raised there
            self._task_request = _TaskRequest(request, payload, _handler_raising(error))
            return
        if whole is not None:
            assert self.transport is not None, "else there is no whole response"
            self._outbox.put(self.transport, whole, is_last=self._is_last)
            if self._end_request(payload, response):
                request._task = None  # type: ignore[assignment] # noqa: SLF001 # a cycle
                return
        self._task_request = _TaskRequest(request, payload, _handler_returning(response))

    def _whole(self, request: web.BaseRequest, response: web.StreamResponse) -> bytes | None:
        """Return the bytes of a response that can be sent without a wait, else None."""
        transport = self.transport
        if self._paused or transport is None or transport.is_closing():
            return None
        if not isinstance(response, BodyResponse) or not isinstance(request, Request):
            return None
        return response.whole(request)

    def force_close(self) -> None:
        """Close the connection, after earlier responses are sent."""
        self._outbox.send()
        super().force_close()

    @plain.guarded
    def _process_keepalive(self) -> None:
        """Close the connection if it was idle for too long; a callback of aiohttp's."""
        super()._process_keepalive()

    async def run_requests(self) -> None:
        """Run requests until the connection closes."""
        while self._task_request is not None or not self._force_close:
            if self._task_request is None and not self._messages:
                await self._wait_in_task()
            current, self._task_request = self._task_request or self._next(), None
            if not await self._finish(*current):
                break
            if self._messages:  # pipelined requests: let other connections run
                await asyncio.sleep(0)
        if not self._force_close:
            self._task_handler = None
            if self.transport is not None:
                self.transport.close()

    async def _wait_in_task(self) -> None:
        """Wait for a request that the task must run."""
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        except asyncio.CancelledError:
            running, self._running = self._running, None
            if running is None:
                raise
            self._task_request = _TaskRequest(running.request, running.payload, running.handle)
            running.task.uncancel()
            running.task.cancel()  # meant for the request, which runs as this task
        finally:
            self._waiter = None

    def _next(self) -> _TaskRequest:
        """Return the oldest request that has not begun."""
        message, payload = self._messages.popleft()
        task = asyncio.current_task()
        handler = self._request_handler
        if isinstance(message, _ErrInfo):
            handler, message = self._make_error_handler(message), ERROR
        assert task is not None
        assert handler is not None
        return _TaskRequest(self._request(message, payload, task), payload, handler)

    def _request(self, message: Any, payload: StreamReader, task: Any) -> web.BaseRequest:
        if _COUNTS_MESSAGES:  # the parser pauses while too many requests wait
            if self._parser is not None:
                self._parser.message_consumed()
            if self._buffer_paused and len(self._messages) <= self._msg_queue_resume_size:
                self._resume_reading_if_drained()
        assert self._manager is not None
        factory: Any = self._request_factory
        self._manager.requests_count += 1
        request: web.BaseRequest = factory(message, payload, self, None, task)  # and its writer
        return request

    async def _finish(
        self,
        request: web.BaseRequest,
        payload: StreamReader,
        handler: Callable[[Any], Awaitable[web.StreamResponse]],
    ) -> bool:
        """Run a request to its end. Returns whether the connection stays open."""
        try:
            response, is_disconnected = await self._handle_request(request, None, handler)
            if is_disconnected:
                return False
            if not payload.is_eof():
                await self._linger(payload)
        except ConnectionError:
            self.log_debug("Ignored premature client disconnection")
            return False
        except asyncio.CancelledError:
            self.force_close()
            raise
        except Exception as error:  # noqa: BLE001 # of aiohttp's: a handler's has been answered
            self.log_exception("Unhandled exception", exc_info=error)
            self.force_close()
            return False
        finally:
            request._task = None  # type: ignore[assignment] # noqa: SLF001 # a cycle
        return self._end_request(payload, response)

    async def _linger(self, payload: StreamReader) -> None:
        """Read the rest of an unread body for a limited time. A client that finds the connection
        closed while it sends may never read the response."""
        try:
            async with asyncio.timeout(0 if self._force_close else self._lingering_time):
                while not payload.is_eof():
                    await payload.readany()
        except TimeoutError:
            self.close()

    def _end_request(self, payload: StreamReader, response: web.StreamResponse) -> bool:
        """End a request whose response was sent. Returns whether another request can follow."""
        payload.set_exception(_REQUEST_ENDED)
        self._keepalive = bool(response.keep_alive)
        if not self._keepalive or self._close or self._force_close:
            return False
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
        if self._keepalive_handle is None:
            self._keepalive_handle = self._loop.call_at(
                self._next_keepalive_close_time, self._process_keepalive
            )
        return True


def _fail(transport: asyncio.Transport, error: Exception) -> None:
    """Close the connection of a transport after an error in this loop."""
    FALLBACK.switch(_reason(error))
    plain.abandon(transport, error)


def _reason(error: BaseException) -> str:
    return f"the faster one failed with {error!r}"


def _handler_returning(
    response: web.StreamResponse,
) -> Callable[[Any], Awaitable[web.StreamResponse]]:
    async def handle(_: web.BaseRequest) -> web.StreamResponse:
        return response

    return handle


def _handler_raising(error: BaseException) -> Callable[[Any], Awaitable[web.StreamResponse]]:
    async def handle(_: web.BaseRequest) -> web.StreamResponse:
        raise error

    return handle
