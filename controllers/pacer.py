"""The pacer: if many coroutines become ready at once, only a few run at a time, between other
events.

A thousand checks can become ready at the same time. Without the pacer, all of them would run before
the event loop reads its sockets again, and every request would wait for them.

A coroutine that summarizes the work of others is patient: among many waiters it returns to the end
of the queue, so that it handles many changes at once.
"""

import asyncio
from collections import deque
from typing import NamedTuple

CROWD = 16
"""The number of waiters from which patient coroutines return to the end of the queue."""
STEPS = 3
"""Waiters that continue in one iteration of the event loop. A request takes one iteration, or three
with its own task, so that requests and waiters share the loop evenly."""
TIMES = 4
"""How many times a patient waiter returns to the end of the queue."""


class _Waiter(NamedTuple):
    future: asyncio.Future[None]
    patience: int
    """How many more times it returns to the end of the queue."""


class Pacer:
    """A queue of waiters. In each iteration of the event loop, STEPS of them continue. The number
    of callers bounds it."""

    def __init__(self) -> None:
        self._waiters: deque[_Waiter] = deque()
        self._is_moving = False

    async def wait(self, *, patient: bool = False) -> None:
        """Wait until it is the caller's turn."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiters.append(_Waiter(turn, TIMES if patient else 0))
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
            waiter.future.set_result(None)
        asyncio.get_running_loop().call_soon(self._release)

    def _next(self) -> _Waiter | None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if waiter.future.done():
                continue
            if not waiter.patience or len(self._waiters) < CROWD:
                return waiter
            self._waiters.append(waiter._replace(patience=waiter.patience - 1))
        return None
