"""Queues for writes of one object: one write runs at a time, and begins with the newest state.

A turn is not a lock. A write that waits longer than `PATIENCE` continues without a turn, and the
store then rejects the slower of two writes. A webhook can therefore write the object that it is
called for: that write is only late. A slow write delays each other write by at most `PATIENCE`.
"""

import asyncio
from collections import deque
from typing import NamedTuple, Self

from inkube.schemas.objects import Object
from inkube.storage import Entry, PendingBatch

PATIENCE = 0.25
"""Seconds that a write waits for its turn."""


class UncommittedState(NamedTuple):
    """The state of a write that is not committed yet: `value` replaces `entry`."""

    entry: Entry
    value: Object
    underway: PendingBatch


class _Line:
    """The running and waiting writes of one key."""

    __slots__ = ("is_held", "uncommitted", "waiters")

    def __init__(self) -> None:
        self.is_held = False
        self.waiters: deque[asyncio.Future[None]] = deque()
        self.uncommitted: UncommittedState | None = None


class Queues:
    """The running and waiting writes of each key. Keys without writes use no memory."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}

    @property
    def empty(self) -> bool:
        """Whether no write runs or waits."""
        return not self._lines

    def turn(self, key: str) -> "Turn":
        """Return a turn to write a key, for `async with queues.turn(key): …`."""
        return Turn(self._lines, key)


class Turn:
    """The right to write one key, from `Queues.turn`. At most one write of a key has it."""

    __slots__ = ("_held", "_key", "_line", "_lines")

    def __init__(self, lines: dict[str, _Line], key: str) -> None:
        self._lines = lines
        self._key = key
        self._line: _Line | None = None
        self._held = False

    async def __aenter__(self) -> Self:
        line = self._line = self._lines.get(self._key)
        if line is None:
            line = self._line = self._lines[self._key] = _Line()
        if not line.is_held:
            line.is_held = self._held = True
            return self
        mine = asyncio.get_running_loop().create_future()
        line.waiters.append(mine)
        try:
            async with asyncio.timeout(PATIENCE):
                await mine
        except TimeoutError:
            self._held = _was_given(mine)
        except BaseException:
            self._held = _was_given(mine)
            self.end()
            raise
        else:
            self._held = True
        return self

    async def __aexit__(self, *error: object) -> None:
        self.end()

    @property
    def uncommitted(self) -> UncommittedState | None:
        """The state of the previous write while its commit runs; None without a turn, or if no
        commit runs."""
        state = self._line.uncommitted if self._held and self._line is not None else None
        return None if state is None or state.underway.settled else state

    async def settled(self) -> None:
        """Wait until the previous write, if its commit still runs, is stored or has failed."""
        state = self.uncommitted
        if state is not None:
            await state.underway.outcome()

    def pass_to_next(self, state: UncommittedState) -> None:
        """End the turn while the commit of `state` runs. The next write can begin with `state`."""
        if self._held and self._line is not None and not state.underway.settled:
            self._line.uncommitted = state
            state.underway.future.add_done_callback(self._clear_uncommitted)
        self.end()

    def end(self) -> None:
        """End the turn. The write that waits longest receives it; writes that stopped waiting are
        skipped."""
        line = self._line
        if not self._held or line is None:
            return
        self._held = False
        while line.waiters:
            following = line.waiters.popleft()
            if not following.done():
                following.set_result(None)
                return
        line.is_held = False
        self._clear_uncommitted()

    def _clear_uncommitted(self, settled: object = None) -> None:
        """Drop a state whose commit has ended, and the line if no write runs in it."""
        line = self._line
        if line is None:
            return
        if line.uncommitted is not None and line.uncommitted.underway.settled:
            line.uncommitted = None
        if not line.is_held and line.uncommitted is None and self._lines.get(self._key) is line:
            del self._lines[self._key]


def _was_given(turn: asyncio.Future[None]) -> bool:
    """Return whether the turn was given just before the wait for it ended."""
    return turn.done() and not turn.cancelled()
