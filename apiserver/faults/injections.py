"""The effects of faults on one request, as plain values for every room that the request passes."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import NamedTuple

from inkube.schemas.status import StatusError


class Gate:
    """Holds the requests of one Fault until it opens. `on_change` is called with each change of
    `waiting`, the number of held requests."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self.waiting = 0
        self._on_change = on_change
        self._opened = asyncio.Event()

    def open(self) -> None:
        """Let all requests continue, also future ones."""
        self._opened.set()

    async def passed(self, seconds: float) -> None:
        """Return when the gate opens, after `seconds` at the latest."""
        if self._opened.is_set():
            return
        self._count(1)
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._opened.wait()
        finally:
            self._count(-1)

    def _count(self, more: int) -> None:
        self.waiting += more
        self._on_change()


class Hold(NamedTuple):
    """A gate at which a request waits, for at most `seconds`, before or after it is carried
    out."""

    gate: Gate
    seconds: float
    is_after: bool


class WatchFault(NamedTuple):
    """How a watch ends: after a number of events (None: at its normal end), by `Cut`, `Close`,
    `Expired`, or `Silent`, which leaves it open."""

    events: int | None = None
    end: str = "Cut"
    without_bookmarks: bool = False
    merge_seconds: float = 0.0
    """The changes of an object within this time are one event."""
    repeat: int = 0
    """The number of changes before the start that are sent again."""


class Injection(NamedTuple):
    """The combined effects of faults on one request. `names` are those of the faults."""

    names: tuple[str, ...]
    delay: float = 0.0
    """Seconds before any other effect."""
    holds: tuple[Hold, ...] = ()
    refusal: StatusError | None = None
    disconnects: bool = False
    carried_out: bool = False
    """Whether the request is carried out before it is rejected or disconnected."""
    watch_fault: WatchFault | None = None
    stale_changes: int = 0
    """A read returns the state before this number of changes to the requested objects."""
    rate: int = 0
    """Bytes of the response per second. 0 means no limit."""

    @property
    def ends(self) -> bool:
        """Whether this excludes further effects."""
        return self.disconnects or self.refusal is not None

    async def hold(self, *, is_after: bool) -> None:
        """Wait at the gates before the request is carried out, or at those after it."""
        for each in self.holds:
            if each.is_after == is_after:
                await each.gate.passed(each.seconds)

    def and_then(self, other: "Injection") -> "Injection":
        """Return the combination of both. Delays are added; for other effects, the later value
        takes precedence if it is set."""
        return Injection(
            names=self.names + other.names,
            delay=self.delay + other.delay,
            holds=self.holds + other.holds,
            refusal=other.refusal or self.refusal,
            disconnects=self.disconnects or other.disconnects,
            carried_out=self.carried_out or other.carried_out,
            watch_fault=other.watch_fault or self.watch_fault,
            stale_changes=other.stale_changes or self.stale_changes,
            rate=other.rate or self.rate,
        )
