"""The clocks: real time, and a time that tests move forward.

The composition root chooses the clock; all other code depends on `schemas.clock.Clock`.
"""

import asyncio
import heapq
import itertools
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from inkube.schemas.clock import Clock

__all__ = ["Clock", "FakeClock", "MovableClock", "RevisionClock", "SystemClock"]

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
STEP, LONG = 0.01, 1.0
"""Seconds of a revision in a `RevisionClock`, and of the shortest sleep that moves it."""


class SystemClock:
    """Real time."""

    def now(self) -> datetime:
        """Return the time of day."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """`time.monotonic`."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """`asyncio.sleep`; a negative time returns at once."""
        await asyncio.sleep(max(seconds, 0.0))


class MovableClock:
    """Real time, which `advance` moves forward; due sleepers wake up.

    Servers outside of tests use it: until it is moved, it behaves like a SystemClock.
    """

    def __init__(self, ahead: float = 0.0) -> None:
        self._ahead = ahead
        self._sleepers: set[asyncio.Future[None]] = set()

    @property
    def ahead(self) -> float:
        """Seconds by which the clock was moved."""
        return self._ahead

    @property
    def is_waking(self) -> bool:
        """Whether a sleeper whose time has come does not run yet."""
        return any(future.done() for future in self._sleepers)

    def now(self) -> datetime:
        """Return the time of day, plus the seconds by which the clock was moved."""
        now = datetime.now(UTC)
        return now + timedelta(seconds=self._ahead) if self._ahead else now

    def monotonic(self) -> float:
        """`time.monotonic`, plus the seconds by which the clock was moved."""
        return time.monotonic() + self._ahead

    async def sleep(self, seconds: float) -> None:
        """Wait for a number of seconds of this clock. A negative number returns immediately."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        until = self.monotonic() + seconds
        while (left := until - self.monotonic()) > 0:
            future: asyncio.Future[None] = loop.create_future()
            self._sleepers.add(future)
            timer = loop.call_later(left, _finish, future)
            try:
                await future
            finally:
                timer.cancel()
                self._sleepers.discard(future)

    def advance(self, seconds: float) -> None:
        """Move the clock forward; call this in the event loop of the sleepers. Raises
        ValueError."""
        if seconds < 0:
            raise ValueError(f"a clock cannot move by {seconds:g} seconds; use 0 or more")
        self._ahead += seconds
        for future in tuple(self._sleepers):
            _finish(future)


class FakeClock:
    """A clock that `advance` moves, from any thread, and that wakes up sleepers.

    Otherwise, a frozen clock stands still. A ticking clock also runs with real time: back-offs end
    without a call, and a test skips only long waits (rechecks, leases, lifetimes). A ticking clock
    starts at its first use, because a clock in a marker is created long before its test.
    """

    def __init__(self, start: datetime | None = None, *, ticking: bool = False) -> None:
        self._ticking = ticking
        self._start = start or (None if ticking else EPOCH)
        self._real: float | None = None
        self._moved = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._waking: set[asyncio.Future[None]] = set()
        self._lock = threading.Lock()

    def now(self) -> datetime:
        """Return the start plus the seconds since then."""
        passed = timedelta(seconds=self.monotonic())
        if self._start is None:
            self._start = datetime.now(UTC) - passed
        return self._start + passed

    def monotonic(self) -> float:
        """Return seconds since the start."""
        if not self._ticking:
            return self._moved
        now = time.monotonic()
        if self._real is None:
            self._real = now
        return self._moved + now - self._real

    async def sleep(self, seconds: float) -> None:
        """Wait until `advance`, or real time if the clock ticks, has moved it by the seconds."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (self.monotonic() + seconds, next(self._order), future)
        with self._lock:
            heapq.heappush(self._sleepers, entry)
        try:
            async with asyncio.timeout(seconds if self._ticking else None):
                await future
        except TimeoutError:
            return
        finally:
            self._forget(entry)

    def advance(self, seconds: float) -> None:
        """Move the clock forward and wake up all due sleepers."""
        if seconds < 0:
            raise ValueError(f"a clock cannot move by {seconds:g} seconds; use 0 or more")
        with self._lock:
            self._moved += seconds
            now = self.monotonic()
            while self._sleepers and self._sleepers[0][0] <= now:
                _, _, future = heapq.heappop(self._sleepers)
                if not future.get_loop().is_closed():
                    self._waking.add(future)
                    future.get_loop().call_soon_threadsafe(_finish, future)

    @property
    def sleeping(self) -> int:
        """The number of tasks that wait for this clock."""
        with self._lock:
            return len(self._sleepers)

    @property
    def is_waking(self) -> bool:
        """Whether a sleeper whose time has come does not run yet."""
        with self._lock:
            self._waking = {one for one in self._waking if not one.get_loop().is_closed()}
            return bool(self._waking)

    def _forget(self, entry: tuple[float, int, asyncio.Future[None]]) -> None:
        with self._lock:
            self._waking.discard(entry[2])
            if entry in self._sleepers:
                self._sleepers.remove(entry)
                heapq.heapify(self._sleepers)


class RevisionClock:
    """A clock whose time of day depends on the number of writes, so it is the same in every run.

    Each revision takes STEP seconds. Sleeps and durations use real time; a sleep of LONG seconds or
    more also moves the time of day.
    """

    def __init__(self, revision: Callable[[], int]) -> None:
        self._revision = revision
        self._slept = 0.0

    def now(self) -> datetime:
        """EPOCH plus the time of all revisions and the time of long sleeps."""
        return EPOCH + timedelta(seconds=self._seconds())

    def monotonic(self) -> float:
        """`time.monotonic`."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """`asyncio.sleep`; a negative time returns at once."""
        until = self._seconds() + seconds
        await asyncio.sleep(max(seconds, 0.0))
        if seconds >= LONG:
            self._slept += max(0.0, until - self._seconds())

    def _seconds(self) -> float:
        return self._revision() * STEP + self._slept


def _finish(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
