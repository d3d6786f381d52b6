"""One watch as a stream: frames written straight to the transport, when changes are published.

The server disconnects a client whose queue is full. The client resumes from the last version that
it received.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Protocol

from aiohttp import web

from inkube.apiserver.http import HIGH_WATER, PIECE
from inkube.apiserver.registry import conversions
from inkube.apiserver.watching.bursts import Bursts
from inkube.apiserver.watching.endings import Merging, WatchEnd
from inkube.apiserver.watching.frames import Framer, NotTransformableError, SharedFrames, Wire
from inkube.apiserver.watching.watch import Watcher, too_old
from inkube.schemas import status
from inkube.storage import Change, Subscription
from inkube.storage import errors as storage_errors

logger = logging.getLogger(__name__)

BURST_BYTES = 256 * 1024  # bytes of gathered changes before a burst
CHECK_SECONDS = 2.0  # seconds between checks whether the client of an idle stream is connected
BOOKMARK = 60.0
BEFORE_END = 2.0  # seconds between the last bookmark and the timeout


class Sink(Protocol):
    """The target of packed frames: a transport (asyncio.Transport), or a part of one."""

    def write(self, data: bytes) -> None:
        """Write without waiting."""
        ...

    def is_closing(self) -> bool:
        """Return whether writes no longer reach the client."""
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


class State(Enum):
    """The state of a stream."""

    INITIAL = "initial"
    """The objects that exist are written, as fast as the client reads."""
    CATCHING_UP = "catching up"
    """Changes wait in the shared history, and are read from there, as fast as the client reads."""
    FOLLOWING = "following"
    """Changes are received as they are published, and are written in bursts."""
    ENDED = "ended"
    """Nothing is written any more."""


class Stream:
    """One watch, written to its connection.

    ┌─────────┐  all are    ┌─────────────┐ ── no change waits ──▶ ┌───────────┐
    │ initial │ ──────────▶ │ catching up │                        │ following │
    └─────────┘   written   └─────────────┘ ◀── the client reads ─ └───────────┘
         │                         │            slowly                   │
         ▼                         ▼                                     ▼
       ended: the client leaves, the timeout, an error, a Fault, or the kind is served no more
    """

    def __init__(
        self,
        watcher: Watcher,
        framer: Framer,
        connection: Connection,
        bursts: Bursts,
        watch_end: WatchEnd | None,
        agent: str,
    ) -> None:
        self.connection = connection
        self.agent = agent
        self.watcher = watcher
        self.state = State.INITIAL
        self._bursts = bursts
        self._watch_end = watch_end
        seconds = 0.0 if watch_end is None else watch_end.merge_seconds
        self._merging = Merging(seconds, self._write_events) if seconds else None
        self._framer = framer
        self._loop = asyncio.get_running_loop()
        self._subscription: Subscription | None = None
        self._sink: Sink | None = None
        self._left = self._loop.create_future()
        """Done when the state is no longer `following`."""
        self._gathered: list[Change] = []
        """Published changes of the state `following`, until their burst is written."""
        self._gathered_bytes = 0
        self._is_draining = False
        """Whether the transport is full, and the stream waits for the client."""
        watcher.request.resource.watchers.add(self.stop)
        self._until = self._loop.time() + (watcher.options.timeout or math.inf)
        self._bookmark_at = self._next_bookmark()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def _has_ended(self) -> bool:
        return self.state is State.ENDED

    async def start(self) -> Iterable[bytes]:
        """Subscribe, and return the initial events. Raises StatusError as `Watcher.subscribe`."""
        self._subscription, found = await self.watcher.subscribe()
        return self._framer.added_frames(found)

    async def run(self, sink: Sink, initial: Iterable[bytes]) -> None:
        """Write until the client leaves, the timeout, or a disconnection by the server."""
        subscription, self._sink = self._subscription, sink
        assert subscription is not None, "`start` comes first"
        self._check_connected()
        try:
            await self._send_initial(initial)
            while not self._has_ended:
                await self._catch_up(subscription)
                if not self._has_ended:
                    await self._follow(subscription)
        except storage_errors.SlowConsumer:
            sink.abort()
        except storage_errors.Compacted as error:
            await self._fail(too_old(self.watcher.start, error.compacted))
        except status.StatusError as error:  # of a conversion webhook
            await self._fail(error)
        except NotTransformableError:
            self.stop()

    async def refuse(self, sink: Sink, error: status.StatusError) -> None:
        """Write only an ERROR event."""
        self._sink = sink
        await self._fail(error)

    async def _fail(self, error: status.StatusError) -> None:
        """Write an ERROR event."""
        self._send(self._framer.error(error))
        await self._drain()

    def stop(self) -> None:
        """End now. A client whose transport is full is disconnected."""
        self.state = State.ENDED
        self._flush({})
        self._leave()
        if self._is_draining and self._sink is not None:
            self._sink.abort()

    def close(self) -> None:
        """Release all resources of the stream."""
        self.connection.release()
        self.watcher.request.resource.watchers.discard(self.stop)
        if self._timer is not None:
            self._timer.cancel()
        if self._merging is not None:
            self._merging.close()
        if self._subscription is not None:
            self._subscription.close()

    async def _send_initial(self, initial: Iterable[bytes]) -> None:
        """Write the initial events."""
        if self._watch_end is not None:
            initial = self._watch_end.until(initial)
        for piece in _pieces(initial):
            self._send(piece)
            await self._drain()
            if self._has_ended:
                return
        self._end_as_told()
        if not self._has_ended:
            self._send(self._framer.prefix(self.watcher.start))
        if self.watcher.marks_end and self._sends_bookmarks and not self._has_ended:
            self._send(self._framer.bookmark(self.watcher.start, end=True))

    def _end_as_told(self) -> None:
        """End as a Fault requires, after its number of events."""
        ending = self._watch_end
        if ending is None or not ending.is_due or self._has_ended or ending.end_type == "Silent":
            return
        self.state = State.ENDED
        if ending.end_type == "Expired":
            start = self.watcher.start
            self._send(self._framer.error(too_old(start, start + 1)))
        elif ending.end_type == "Cut":
            assert self._sink is not None, "an event was written"
            self._sink.close()  # written bytes arrive, but not the end of the response
        self.stop()

    @property
    def _sends_bookmarks(self) -> bool:
        return self._watch_end is None or self._watch_end.bookmarks

    async def _catch_up(self, subscription: Subscription) -> None:
        """Write the changes that wait in the shared history."""
        self.state = State.CATCHING_UP
        await self._drain()  # until then, changes wait in the shared history
        while not self._has_ended:
            waiting = await subscription.waiting(PIECE)
            if not waiting:
                return
            await self._send_changes(waiting)

    async def _send_changes(self, changes: Sequence[Change]) -> None:
        request = self.watcher.request
        shown = await conversions.shown_changes(request.resource, request.served, changes)
        self._write_changes(shown, {})
        await self._drain()

    async def _follow(self, subscription: Subscription) -> None:
        """Receive changes as they are published, until the client reads slowly or the stream
        ends."""
        self.state, self._left = State.FOLLOWING, self._loop.create_future()
        if self.watcher.request.resource.converter is None:
            subscription.attach(self._gather, self._end_with)
            await self._left
            return
        held: list[Change] = []  # changes that must be converted first

        def hold(changes: Sequence[Change]) -> None:
            held.extend(changes)
            self._leave()

        subscription.attach(hold, self._end_with)
        await self._left
        await self._send_changes(held)

    def _leave(self) -> None:
        """Leave the state `following`."""
        if self.state is State.FOLLOWING:
            self.state = State.CATCHING_UP
        if self._subscription is not None:
            self._subscription.detach()
        if not self._left.done():
            self._left.set_result(None)

    def _end_with(self, error: storage_errors.StorageError) -> None:
        """Write the gathered changes, then the error that ends the stream."""
        self._flush({})
        self._leave()

    def _gather(self, changes: Sequence[Change]) -> None:
        """Keep published changes until their burst is written."""
        if not self._gathered:
            self._bursts.add(self._flush)
            self._gathered_bytes = 0
        self._gathered += changes
        for change in changes:
            self._gathered_bytes += len(change.entry.data)
        if self._gathered_bytes > BURST_BYTES:
            self._flush({})

    def _flush(self, shared_frames: SharedFrames) -> None:
        """Write the gathered changes. Called before every other write, and before the end."""
        if not self._gathered:
            return
        changes, self._gathered = self._gathered, []
        try:
            self._write_changes(changes, shared_frames)
        except NotTransformableError:
            self.stop()
            return
        except Exception:
            logger.exception("a change cannot be sent, so its watch ends")
            self.stop()
            return
        assert self._sink is not None, "`run` sets it"
        if not self._has_ended and self._sink.get_write_buffer_size() > HIGH_WATER:
            self._leave()

    def _write_changes(self, changes: Sequence[Change], shared_frames: SharedFrames) -> None:
        """Write changes as events. See `Framer.burst` for `shared_frames`."""
        if self._watch_end is None:
            self._send(self._framer.burst(changes, shared_frames))
        elif self._merging is not None:
            self._merging.add(changes)
        else:
            self._write_events(changes)

    def _write_events(self, changes: Sequence[Change]) -> None:
        """Write changes as far as a Fault permits."""
        assert self._watch_end is not None, "only a Fault counts events"
        self._send(b"".join(self._watch_end.until(self._framer.changes(changes))))
        self._end_as_told()

    def _send(self, data: bytes) -> None:
        """Write frames. All writes of the stream go through this method."""
        assert self._sink is not None, "`run` sets it"
        if self._sink.is_closing():
            self.stop()
        elif data:
            self._sink.write(data)

    async def _drain(self) -> None:
        """Wait while the transport is full."""
        self._is_draining = True
        await self.connection.drain()
        self._is_draining = False

    def _check_connected(self) -> None:
        """Check regularly for a disconnected client, the timeout, and a due bookmark."""
        now = self._loop.time()
        subscription = self._subscription
        ended = subscription is not None and subscription.is_closed
        gone = self._sink is None or self._sink.is_closing()
        if now >= self._until or ended or gone:
            self.stop()
            return
        if now >= self._bookmark_at:
            self._bookmark_at = self._next_bookmark()
            self._send_bookmark()
        wait = min(CHECK_SECONDS, self._until - now, max(self._bookmark_at - now, 0.001))
        self._timer = self._loop.call_later(wait, self._check_connected)

    def _send_bookmark(self) -> None:
        self._flush({})  # can contain the last event of this watch
        if self._merging is not None:
            self._merging.flush()
        subscription = self._subscription
        following = self.state is State.FOLLOWING
        wanted = self.watcher.options.bookmarks and self._sends_bookmarks
        if wanted and subscription is not None and following and not subscription.is_ahead:
            try:
                self._send(self._framer.bookmark(subscription.revision))
            except NotTransformableError:
                self.stop()

    def _next_bookmark(self) -> float:
        """Return the time of the next bookmark: in a minute, or shortly before the timeout."""
        now = self._loop.time()
        before_end = self._until - BEFORE_END
        due = now + BOOKMARK
        return min(due, before_end) if before_end > now else due


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
