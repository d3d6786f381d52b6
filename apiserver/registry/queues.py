"""Writers of one object, one after the other, so that each meets the newest state once.

A turn is a courtesy, never a lock: who does not get it within `PATIENCE` goes on without, and the
store decides who was first. So a webhook that writes the very object it is asked about is only
late, and what takes long holds nobody up for longer than that.
"""

import asyncio
from collections import deque
from types import TracebackType
from typing import NamedTuple, Self

from inkube.schemas.objects import Object
from inkube.storage import Entry, PendingBatch

PATIENCE = 0.25
"""Seconds that a writer waits for those before it."""


class UncommittedState(NamedTuple):
    """The write before, which is not committed yet: `value` in the place of `entry`."""

    entry: Entry
    value: Object
    underway: PendingBatch


class _Line:
    """Those who write one key."""

    __slots__ = ("held", "uncommitted", "waiting")

    def __init__(self) -> None:
        self.held = False
        self.waiting: deque[asyncio.Future[None]] = deque()
        self.uncommitted: UncommittedState | None = None


class Queues:
    """Who writes which key, and who waits for that. What nobody writes takes no room."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}

    @property
    def empty(self) -> bool:
        """Whether nobody writes or waits."""
        return not self._lines

    def turn(self, key: str) -> "Turn":
        """A turn to write a key: `async with queues.turn(key): …`."""
        return Turn(self._lines, key)


class Turn:
    """See `Queues.turn`."""

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
        if not line.held:
            line.held = self._held = True
            return self
        mine = asyncio.get_running_loop().create_future()
        line.waiting.append(mine)
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

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    @property
    def uncommitted(self) -> UncommittedState | None:
        """The write before this one, while it is underway; None for who has no turn."""
        state = self._line.uncommitted if self._held and self._line is not None else None
        return None if state is None or state.underway.settled else state

    async def settled(self) -> None:
        """Wait until the write before, if there is one, is stored or has failed."""
        state = self.uncommitted
        if state is not None:
            await state.underway.outcome()

    def hand_on(self, state: UncommittedState) -> None:
        """End the turn with a write that is underway: the next may go on from what it stores."""
        if self._held and self._line is not None and not state.underway.settled:
            self._line.uncommitted = state
            state.underway.answer.add_done_callback(self._forget)
        self.end()

    def end(self) -> None:
        """Give the turn to who waits longest; those who gave up are left out."""
        line = self._line
        if not self._held or line is None:
            return
        self._held = False
        while line.waiting:
            following = line.waiting.popleft()
            if not following.done():
                following.set_result(None)
                return
        line.held = False
        self._forget()

    def _forget(self, settled: object = None) -> None:
        """Let go of what is settled, and of a line that nobody stands in."""
        line = self._line
        if line is None:
            return
        if line.uncommitted is not None and line.uncommitted.underway.settled:
            line.uncommitted = None
        if not line.held and line.uncommitted is None and self._lines.get(self._key) is line:
            del self._lines[self._key]


def _was_given(turn: asyncio.Future[None]) -> bool:
    """Whether the turn came in the very moment in which the waiting for it ended."""
    return turn.done() and not turn.cancelled()
