"""Watches as streams: frames written straight to the transport, as soon as changes are published.

    initial events → queued changes of the subscription → attached: gathered → written in bursts
                          ↑ the client is slow: back to the queue, until it caught up ↓

The server disconnects a client whose queue is full. The client resumes from the last version that
it received. All streams end at once when the server stops.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import HttpVersion11

from inkube.apiserver import streaming
from inkube.apiserver.handlers import Exchange
from inkube.apiserver.http import (
    HIGH_WATER,
    PIECE,
    Form,
    Request,
    negotiation,
    read_list_options,
    responses,
)
from inkube.apiserver.registry import Registry, SystemFields, conversions
from inkube.apiserver.watching import messages
from inkube.apiserver.watching.bursts import Bursts
from inkube.apiserver.watching.endings import WatchEnd
from inkube.apiserver.watching.framecache import FrameCache
from inkube.apiserver.watching.frames import (
    CHUNKED_EVENTS,
    CHUNKS,
    EVENTS,
    RAW_LINES,
    Framer,
    SharedFrames,
    Wire,
)
from inkube.apiserver.watching.watch import Watcher, too_old
from inkube.schemas import status
from inkube.storage import Change, Subscription
from inkube.storage import errors as storage_errors

logger = logging.getLogger(__name__)

BURST_BYTES = 256 * 1024  # bytes of gathered changes before a burst
SHORTEST = 1800.0  # --min-request-timeout: a watch without a timeout ends after 1 to 2 times this
CHECK_SECONDS = 2.0  # seconds between checks whether the client of an idle stream is connected
BOOKMARK = 60.0
LAST_EVENT_ID = "Last-Event-ID"
BEFORE_END = 2.0  # seconds between the last bookmark and the timeout


class OpenWatch(NamedTuple):
    """A watch that receives every change from now on; with `name`, those of one object."""

    group: str
    resource: str
    namespace: str
    name: str
    label_selector: str
    field_selector: str
    user: str
    user_agent: str


class Sink(Protocol):
    """The target of packed frames: a transport (asyncio.Transport), or a part of one."""

    def write(self, data: bytes) -> None:
        """Write without waiting."""
        ...

    def is_closing(self) -> bool:
        """Whether writes no longer reach the client."""
        ...

    def get_write_buffer_size(self) -> int:
        """Return the number of unsent bytes."""
        ...

    def abort(self) -> None:
        """Disconnect the client at once."""
        ...

    def close(self) -> None:
        """Close after all written bytes are sent."""
        ...


class Connection(Protocol):
    """The response to a watch: a body of HTTP, a WebSocket (`messages`), or a part of a connection
    (`shared`).

    After `open`, only the stream writes to its sink. Frames are packed by `wire`.
    """

    wire: Wire
    response: web.StreamResponse

    def sink(self, request: web.BaseRequest) -> Sink | None:
        """Return the target of frames after `open`; None if the client has disconnected."""
        ...

    async def open(self, request: web.BaseRequest, on_disconnect: Callable[[], None]) -> None:
        """Start the response. `on_disconnect` is called when the client closes it. Raises
        StatusError."""
        ...

    async def drain(self) -> None:
        """Wait while the client reads too slowly. Raises ConnectionError."""
        ...

    async def finish(self) -> None:
        """End the response. Raises ConnectionError."""
        ...

    def release(self) -> None:
        """Release all resources after the end of the watch."""
        ...


class _Http:
    """A watch as the body of an HTTP response (`Connection`)."""

    def __init__(self, response: web.StreamResponse, wire: Wire) -> None:
        self.response = response
        self._writer: AbstractStreamWriter
        self.wire = wire
        if wire in (CHUNKS, CHUNKED_EVENTS):
            response.enable_chunked_encoding()

    def sink(self, request: web.BaseRequest) -> Sink | None:
        return request.transport

    async def open(self, request: web.BaseRequest, on_disconnect: Callable[[], None]) -> None:
        await self.response.prepare(request)
        self._writer = request.writer

    async def drain(self) -> None:
        await self._writer.drain()

    async def finish(self) -> None:
        await self.response.write_eof()

    def release(self) -> None:
        pass  # aiohttp releases a response


def _reads_events(request: web.BaseRequest) -> bool:
    return request.headers.get(hdrs.ACCEPT) == negotiation.EVENTS


def _over_http(request: web.BaseRequest, warnings: Collection[str], form: Form) -> _Http:
    chunks = request.version >= HttpVersion11
    if _reads_events(request):
        return _Http(responses.events(warnings), CHUNKED_EVENTS if chunks else EVENTS)
    media = responses.WATCH if form.protobuf else negotiation.JSON
    return _Http(responses.stream(warnings, media), CHUNKS if chunks else RAW_LINES)


class Streams:
    """All open watches of a server."""

    def __init__(self, registry: Registry, system_fields: SystemFields) -> None:
        self._registry = registry
        self._system_fields = system_fields
        self._bursts = Bursts()
        self._frames = FrameCache()
        self._open: set[_Stream] = set()
        self._closed = False
        self.on_close: list[Callable[[], None]] = []
        """Functions that end the shared connections. `close` calls them."""

    @property
    def count(self) -> int:
        """The number of open watches."""
        return len(self._open)

    def open(self) -> list[OpenWatch]:
        """Return the open watches. Safe in other threads."""
        return [_open_watch(stream) for stream in tuple(self._open)]

    async def serve(self, exchange: Exchange) -> web.StreamResponse:
        """Serve a watch request. Returns at the end of the stream."""
        request, http = exchange.request, exchange.http
        options = read_list_options(
            exchange.query,
            is_watch=request.verb == "watch",
            streams_lists=request.resource.wording.streams_lists,
        )
        told = http.headers.get(LAST_EVENT_ID, "")
        if told.isdecimal() and _reads_events(http):  # an EventSource that connects again
            options = options._replace(resource_version=told, match="", initial_events=None)
        if exchange.form.media == negotiation.YAML:
            raise status.not_acceptable(
                f"only the following media types are accepted: {negotiation.JSON}"
            )
        watcher = Watcher(self._registry, request, options)
        form = exchange.form._replace(pretty=False)  # the client reads lines
        connection: Connection
        if isinstance(http, Request) and http.channel is not None:
            connection = http.channel
            http.channel.warnings = request.warnings
        elif hdrs.UPGRADE in http.headers and streaming.sockets.is_upgrade(http):
            connection = messages.Socket(http, is_text=not form.protobuf)
        else:
            connection = _over_http(http, request.warnings, form)
        framer = Framer(watcher, form, self._system_fields, self._frames, wire=connection.wire)
        injection = None if exchange.injection is None else exchange.injection.watch_fault
        ending = None if injection is None else WatchEnd(injection)
        stream = _Stream(watcher, framer, connection, self._bursts, ending)
        stream.agent = http.headers.get(hdrs.USER_AGENT, "")
        try:
            return await self._run(stream, exchange)
        except ConnectionError:
            return connection.response

    async def _run(self, stream: "_Stream", exchange: Exchange) -> web.StreamResponse:
        head = exchange.http.method == "HEAD"
        failure: status.StatusError | None = None
        try:
            await stream.start()
        except status.StatusError as error:
            if error.code != 410:
                raise
            failure = error
        self._open.add(stream)
        try:
            await stream.connection.open(exchange.http, stream.stop)
            sink = stream.connection.sink(exchange.http)
            if sink is not None and not head and not self._closed:
                await stream.run(sink, failure)
            if sink is not None and not sink.is_closing():
                await stream.connection.finish()
        finally:
            self._open.discard(stream)
            stream.close()
        return stream.connection.response

    def close(self) -> None:
        """End every stream, also those that begin later."""
        self._closed = True
        for close in self.on_close:
            close()
        for stream in tuple(self._open):
            stream.stop()


class _Stream:
    """One watch, written to its connection."""

    def __init__(
        self,
        watcher: Watcher,
        framer: Framer,
        connection: Connection,
        bursts: Bursts,
        watch_end: WatchEnd | None,
    ) -> None:
        self.connection = connection
        self.agent = ""
        self.watcher = watcher
        self._bursts = bursts
        self._watch_end = watch_end
        self._framer = framer
        self._subscription: Subscription | None = None
        watcher.request.resource.watchers.add(self.stop)
        self._initial: Iterable[bytes] = ()
        self._pending_changes: list[Change] = []
        self._gathered_bytes = 0
        self._sink: Sink
        self._loop = asyncio.get_running_loop()
        self._woken: asyncio.Future[None] | None = None
        self._ended = False
        self._is_writing = False
        timeout = watcher.options.timeout or _default_timeout()
        self._until = self._loop.time() + timeout
        self._bookmark_at = self._next_bookmark()
        self._timer: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Subscribe. Raises StatusError as `Watcher.subscribe`."""
        self._subscription, found = await self.watcher.subscribe()
        self._initial = self._framer.added_frames(found)

    async def run(self, sink: Sink, failure: status.StatusError | None = None) -> None:
        """Write until the client leaves, the timeout, or a disconnection by the server. If there is
        a `failure`, write only that error."""
        self._sink = sink
        if failure is not None:
            await self._fail(failure)
            return
        subscription = self._subscription
        assert subscription is not None, "begin comes first"
        self._check_connected()
        try:
            await self._tell_initial()
            while not self._ended:
                await self._catch_up(subscription)
                if not self._ended:
                    await self._send_followed(subscription)
        except storage_errors.SlowConsumer:
            sink.abort()
        except storage_errors.Compacted as error:
            await self._fail(too_old(self.watcher.start, error.compacted))
        except status.StatusError as error:  # of a conversion webhook
            await self._fail(error)

    async def _fail(self, error: status.StatusError) -> None:
        """Write an ERROR event."""
        self._send(self._framer.error(error))
        await self._drain()

    def stop(self) -> None:
        """End now. A client whose transport is full is disconnected."""
        self._ended = True
        self._flush({})
        self._pause()
        if self._is_writing:
            self._sink.abort()

    def close(self) -> None:
        """Release all resources of the stream."""
        self.connection.release()
        self.watcher.request.resource.watchers.discard(self.stop)
        if self._timer is not None:
            self._timer.cancel()
        if self._subscription is not None:
            self._subscription.close()

    async def _tell_initial(self) -> None:
        """Write the initial events, as fast as the client reads."""
        initial, self._initial = self._initial, ()
        if self._watch_end is not None:
            initial = self._watch_end.until(initial)
        for piece in _pieces(initial):
            self._send(piece)
            await self._drain()
            if self._ended:
                return
        self._end_as_told()
        if not self._ended:
            self._send(self._framer.prefix(self.watcher.start))
        if self.watcher.tells_end and self._tells_bookmarks and not self._ended:
            self._send(self._framer.bookmark(self.watcher.start, end=True))

    def _end_as_told(self) -> None:
        """End as a Fault requires, after its number of events."""
        ending = self._watch_end
        if ending is None or not ending.is_due or self._ended:
            return
        self._ended = True
        if ending.end_type == "Expired":
            start = self.watcher.start
            self._send(self._framer.error(too_old(start, start + 1)))
        elif ending.end_type == "Cut":
            self._sink.close()  # written bytes arrive, but not the end of the response
        self.stop()

    @property
    def _tells_bookmarks(self) -> bool:
        return self._watch_end is None or self._watch_end.bookmarks

    async def _catch_up(self, subscription: Subscription) -> None:
        """Write the queued changes, as fast as the client reads."""
        await self._drain()  # until then, changes wait in the shared history
        while not self._ended:
            waiting = await subscription.waiting(PIECE)
            if not waiting:
                return
            await self._send_changes(waiting)

    async def _send_changes(self, changes: Sequence[Change]) -> None:
        request = self.watcher.request
        shown = await conversions.shown_changes(request.resource, request.served, changes)
        self._tell_changes(shown, {})
        await self._drain()

    async def _wait_for_burst(self, subscription: Subscription) -> None:
        """Wait for changes that must be converted first, then write them."""
        held: list[Change] = []

        def hold(changes: Sequence[Change]) -> None:
            held.extend(changes)
            self._pause()

        subscription.attach(hold, self._end_with)
        if self._woken is not None:
            await self._woken
        await self._send_changes(held)

    async def _send_followed(self, subscription: Subscription) -> None:
        """Receive changes as they are published, until the client reads slowly or the stream
        ends."""
        self._woken = self._loop.create_future()
        if self.watcher.request.resource.converter is not None:
            await self._wait_for_burst(subscription)
            return
        subscription.attach(self._gather, self._end_with)
        await self._woken

    def _end_with(self, error: storage_errors.StorageError) -> None:
        """Write the gathered changes, then the error that ends the stream."""
        self._flush({})
        self._pause()

    def _gather(self, changes: Sequence[Change]) -> None:
        """Keep published changes until their burst is written."""
        if not self._pending_changes:
            self._bursts.add(self._flush)
        self._pending_changes += changes
        for change in changes:
            self._gathered_bytes += len(change.entry.data)
        if self._gathered_bytes > BURST_BYTES:
            self._flush({})

    def _flush(self, shared_frames: SharedFrames) -> None:
        """Write the gathered changes. Called before every other write, and before the end."""
        if not self._pending_changes:
            return
        changes, self._pending_changes, self._gathered_bytes = self._pending_changes, [], 0
        try:
            self._tell_changes(changes, shared_frames)
        except Exception:
            logger.exception("a change cannot be sent, so its watch ends")
            self.stop()
            return
        if not self._ended and self._sink.get_write_buffer_size() > HIGH_WATER:
            self._pause()

    def _tell_changes(self, changes: Sequence[Change], shared_frames: SharedFrames) -> None:
        """Write changes as events. See `Framer.burst` for `shared_frames`."""
        if self._watch_end is None:
            self._send(self._framer.burst(changes, shared_frames))
        else:
            self._send(b"".join(self._watch_end.until(self._framer.changes(changes))))
            self._end_as_told()

    def _send(self, data: bytes) -> None:
        """Write frames. All writes of the stream go through this method."""
        if self._sink.is_closing():
            self.stop()
        elif data:
            self._sink.write(data)

    def _pause(self) -> None:
        if self._subscription is not None:
            self._subscription.detach()
        self._wake()

    async def _drain(self) -> None:
        """Wait while the transport is full."""
        self._is_writing = True
        await self.connection.drain()
        self._is_writing = False

    def _wake(self) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    def _check_connected(self) -> None:
        """Check regularly for a disconnected client, the timeout, and a due bookmark."""
        now = self._loop.time()
        subscription = self._subscription
        ended = subscription is not None and subscription.is_closed
        if now >= self._until or ended or self._sink.is_closing():
            self.stop()
            return
        if now >= self._bookmark_at:
            self._bookmark_at = self._next_bookmark()
            self._tell_bookmark()
        wait = min(CHECK_SECONDS, self._until - now, max(self._bookmark_at - now, 0.001))
        self._timer = self._loop.call_later(wait, self._check_connected)

    def _tell_bookmark(self) -> None:
        self._flush({})  # can contain the last event of this watch
        subscription = self._subscription
        following = self._woken is not None and not self._woken.done()
        wanted = self.watcher.options.bookmarks and self._tells_bookmarks
        if wanted and subscription is not None and following:
            self._send(self._framer.bookmark(subscription.revision))

    def _next_bookmark(self) -> float:
        """Return the time of the next bookmark: in a minute, or shortly before the timeout."""
        now = self._loop.time()
        before_end = self._until - BEFORE_END
        due = now + BOOKMARK
        return min(due, before_end) if before_end > now else due


def _open_watch(stream: _Stream) -> OpenWatch:
    request, options = stream.watcher.request, stream.watcher.options
    return OpenWatch(
        request.resource.group,
        request.resource.plural,
        request.namespace,
        request.name,
        options.labels,
        options.fields,
        request.user.name,
        stream.agent,
    )


def _default_timeout() -> float:
    """Return a random timeout, so that watches that began together do not end together."""
    return random.uniform(SHORTEST, 2 * SHORTEST)  # noqa: S311 # no secret


def _pieces(frames: Iterable[bytes]) -> Iterator[bytes]:
    """Join frames to pieces of about PIECE bytes."""
    waiting: list[bytes] = []
    size = 0
    for frame in frames:
        waiting.append(frame)
        size += len(frame)
        if size >= PIECE:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)
