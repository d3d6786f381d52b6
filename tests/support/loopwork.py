"""Measures the processor time that the event loop spends between two turns.

Other processes of the machine do not change it, so tests can compare it with a limit. The garbage
collector does not run meanwhile: it would look through the objects of all earlier tests.
"""

import asyncio
import contextlib
import gc
import time
from collections.abc import AsyncIterator


class LoopWork:
    """The longest turn and the whole work since the start, in seconds of processor time."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.total = 0.0

    def _tick(self, seconds: float) -> None:
        self.longest = max(self.longest, seconds)
        self.total += seconds

    @classmethod
    @contextlib.asynccontextmanager
    async def measured(cls) -> AsyncIterator["LoopWork"]:
        """Measure the turns of the running event loop during the block."""
        work = cls()
        collects = gc.isenabled()
        gc.disable()
        is_over = False

        async def tick() -> None:
            before = time.thread_time()
            while not is_over:
                await asyncio.sleep(0)
                now = time.thread_time()
                work._tick(now - before)
                before = now

        ticking = asyncio.create_task(tick())
        await asyncio.sleep(0)
        try:
            yield work
        finally:
            is_over = True
            await ticking  # which measures once more
            if collects:
                gc.enable()
