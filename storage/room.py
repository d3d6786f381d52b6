"""Room for so many; who finds none waits outside, and comes in in the order of coming.

`asyncio.Semaphore` does the same in five calls for each who comes and goes, which is a hundredth of
a create; here who finds room is let in by one.
"""

import asyncio
from collections import deque


class Room:
    """Holds `size` at most."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._outside: deque[asyncio.Future[None]] = deque()
        self._coming = 0
        """Who were called in and are on their way; their places are taken."""

    def enter_at_once(self) -> bool:
        """Come in where there is room and nobody waits for it; whether that was so."""
        if not self._free or self._outside or self._coming:
            return False
        self._free -= 1
        return True

    async def enter(self) -> None:
        """Come in as soon as there is room, after all who came before."""
        if self.enter_at_once():
            return
        called = asyncio.get_running_loop().create_future()
        self._outside.append(called)
        try:
            await called
        except asyncio.CancelledError:
            if called.cancelled():
                if called in self._outside:
                    self._outside.remove(called)
            else:  # called in at the same moment
                self._coming -= 1
                self.leave(1)
            raise
        self._coming -= 1
        self._call_in()  # who came meanwhile waits behind this one, even where there is room

    def leave(self, count: int) -> None:
        """So many go; as many are called in."""
        self._free += count
        self._call_in()

    def _call_in(self) -> None:
        while self._free and self._outside:
            called = self._outside.popleft()
            if not called.done():
                self._free -= 1
                self._coming += 1
                called.set_result(None)
