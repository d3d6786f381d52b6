"""Turns of the event loop: who comes first in one, and who is one of many.

Many requests that arrive together are worked on faster stage by stage than one after the other:
the code and data of one stage stay in the processor's caches. Who comes alone waits for nothing.
The writer asks who is first, to commit where it stands; the registry, above, works in stages.
"""

import asyncio


class Turns:
    """Counts who asks in each turn of one loop, that of who asks first."""

    def __init__(self) -> None:
        self._asked = False
        self._loop: asyncio.AbstractEventLoop | None = None
        """Known once: to find out which one runs is a system call up to Python 3.11."""

    def first(self) -> bool:
        """Whether nobody else asked in this turn."""
        if self._asked:
            return False
        self._asked = True
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        self._loop.call_soon(self._end)
        return True

    async def stage(self) -> None:
        """Begin a stage: at once, or in the next turn when others have begun it in this one."""
        if not self.first():
            await asyncio.sleep(0)

    def _end(self) -> None:
        self._asked = False
