"""The pacer: coroutines that are ready at once go on one by one, between other people's events.

A thousand checks may wake in the same moment; without this they would all run before the event
loop looks at its sockets again, and every request would wait for them.
"""

import asyncio
from collections import deque


class Pacer:
    """A queue at the event loop's door: one waiter per turn of the loop. Bounded by its callers."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_moving = False

    async def turn(self) -> None:
        """Return at one's own turn."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append(turn)
        if not self._is_moving:
            self._is_moving = True
            loop.call_soon(self._release)
        await turn

    def _release(self) -> None:
        while self._waiting and self._waiting[0].done():
            self._waiting.popleft()
        if not self._waiting:
            self._is_moving = False
            return
        turn = self._waiting.popleft()
        turn.set_result(None)
        turn.get_loop().call_soon(self._release)
