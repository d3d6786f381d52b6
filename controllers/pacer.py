"""The pacer: of many coroutines that become ready at once, a few run at a time, between other
events.

A thousand checks may wake in the same moment; without this they would all run before the event loop
looks at its sockets again, and every request would wait for them.

A coroutine that summarizes the work of others is patient: among many waiters it returns to the end
of the queue, so that it handles many changes at once.
"""

import asyncio
from collections import deque
from typing import NamedTuple

CROWD = 16
"""The number of waiters from which patient coroutines return to the end of the queue."""
STEPS = 3
"""So many go on in one turn of the loop. A request takes one turn, three when it had a task of its
own: so neither waits longer for the other than it did with one."""
TIMES = 4
"""So often a patient waiter lets a crowd go first."""


class _Waiter(NamedTuple):
    turn: asyncio.Future[None]
    patience: int
    """How often it still lets a crowd go first."""


class Pacer:
    """A queue at the event loop's door: some waiters per turn of it. Bounded by its callers."""

    def __init__(self) -> None:
        self._waiting: deque[_Waiter] = deque()
        self._is_moving = False

    async def turn(self, *, patient: bool = False) -> None:
        """Return at one's own turn."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append(_Waiter(turn, TIMES if patient else 0))
        if not self._is_moving:
            self._is_moving = True
            loop.call_soon(self._release)
        await turn

    def _release(self) -> None:
        for _ in range(STEPS):
            waiter = self._next()
            if waiter is None:
                self._is_moving = False
                return
            waiter.turn.set_result(None)
        asyncio.get_running_loop().call_soon(self._release)

    def _next(self) -> _Waiter | None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if waiter.turn.done():
                continue
            if not waiter.patience or len(self._waiting) < CROWD:
                return waiter
            self._waiting.append(waiter._replace(patience=waiter.patience - 1))
        return None
