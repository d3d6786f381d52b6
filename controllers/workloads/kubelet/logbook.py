"""The log of a container: its newest MiB of lines, with times, and readers that follow it."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from inkube.formats import format_micro_time, rfc3339
from inkube.kinds import Clock

LARGEST = 1024 * 1024
"""Bytes that a log keeps. The oldest lines are dropped first, like in files of a kubelet."""
LONGEST = 16 * 1024
"""Bytes of one line. A longer line is stored in pieces, like in container runtimes."""
SILENCE = 2.0
"""Real seconds without new lines after which a reader that follows receives b""."""


class Line(NamedTuple):
    """One line, with its line break if it has one."""

    moment: datetime
    data: bytes
    is_error: bool = False


class Query(Protocol):
    """The part of a log that a reader requests (PodLogOptions)."""

    @property
    def follow(self) -> bool:
        """Whether to continue with new lines."""
        ...

    @property
    def timestamps(self) -> bool:
        """Whether each line begins with its time."""
        ...

    @property
    def since_seconds(self) -> int | None:
        """Only lines of the last N seconds."""
        ...

    @property
    def since_time(self) -> str:
        """Only lines since a time in RFC 3339; "" means all lines."""
        ...

    @property
    def tail_lines(self) -> int | None:
        """Only the last N lines."""
        ...

    @property
    def limit_bytes(self) -> int | None:
        """Only the first N bytes."""
        ...


class LogBook:
    """The log of one run of a container."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lines: deque[Line] = deque()
        self._size = 0
        self._dropped = 0
        self._open: dict[bool, bytes] = {}
        self._waiting: set[asyncio.Future[None]] = set()
        self.is_over = False

    def write(self, data: bytes, *, is_error: bool = False) -> None:
        """Add output. Readers see a line when it is complete."""
        text = self._open.pop(is_error, b"") + data
        *lines, rest = text.split(b"\n")
        for line in lines:
            self._add(line + b"\n", is_error)
        while len(rest) >= LONGEST:
            self._add(rest[:LONGEST], is_error)
            rest = rest[LONGEST:]
        if rest:
            self._open[is_error] = rest
        self._wake()

    def add(self, line: Line) -> None:
        """Add a line without a change."""
        self._keep(line)
        self._wake()

    def end(self) -> None:
        """Close the log: add incomplete lines, and end the readers that follow."""
        for is_error, rest in self._open.items():
            self._add(rest, is_error)
        self._open.clear()
        self.is_over = True
        self._wake()

    def text(self) -> bytes:
        """Return all lines in the log, joined."""
        return b"".join(line.data for line in self._lines)

    async def read(self, query: Query) -> AsyncGenerator[bytes, None]:
        """Yield the requested part in pieces; b"" if SILENCE seconds pass without a new line."""
        room = query.limit_bytes
        at = self._dropped + self._first(query)
        while True:
            at = max(at, self._dropped)
            piece = b"".join(
                _shown(line, timestamps=query.timestamps)
                for line in list(self._lines)[at - self._dropped :]
            )
            at = self._dropped + len(self._lines)
            if room is not None:
                piece = piece[:room]
                room -= len(piece)
            if piece:
                yield piece
            if room == 0 or not query.follow or self.is_over:
                return
            if not await self._news():
                yield b""

    def _first(self, query: Query) -> int:
        """Return the index of the first requested line."""
        lines = list(self._lines)
        first = 0
        since = _since(query, self._clock.now())
        if since is not None:
            first = next((at for at, line in enumerate(lines) if line.moment >= since), len(lines))
        if query.tail_lines is not None:
            first = max(first, len(lines) - query.tail_lines)
        return first

    async def _news(self) -> bool:
        """Wait until the log gets output or ends. Returns False after SILENCE seconds."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            done, _ = await asyncio.wait({future}, timeout=SILENCE)
        finally:
            self._waiting.discard(future)
        return bool(done)

    def _wake(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    def _add(self, data: bytes, is_error: bool) -> None:
        self._keep(Line(self._clock.now(), data, is_error))

    def _keep(self, line: Line) -> None:
        self._lines.append(line)
        self._size += len(line.data)
        while self._size > LARGEST:
            self._size -= len(self._lines.popleft().data)
            self._dropped += 1


def _since(query: Query, now: datetime) -> datetime | None:
    if query.since_seconds is not None:
        return now - timedelta(seconds=query.since_seconds)
    return rfc3339.parse(query.since_time) if query.since_time else None


def _shown(line: Line, *, timestamps: bool) -> bytes:
    if not timestamps:
        return line.data
    text = format_micro_time(line.moment).removesuffix("Z") + "000Z"
    return text.encode() + b" " + line.data
