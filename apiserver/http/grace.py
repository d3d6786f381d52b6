"""The time that running requests have when a server stops."""

import asyncio
import logging
from collections.abc import Collection
from typing import Any

logger = logging.getLogger(__name__)

STOP_SECONDS = 1.5
"""The limit for running requests when a server in another program stops."""
GRACE_SECONDS = 60.0
"""The limit when a process that only serves stops; kube-apiserver's --request-timeout."""
_QUIET_SECONDS = 1.0
"""The seconds of a stop that need no explanation."""


class Grace:
    """The time for running requests, which begins with the first wait for them. Several waits share
    it: the ports of one server stop one after the other."""

    def __init__(self, seconds: float = STOP_SECONDS) -> None:
        self.seconds = seconds
        self._deadline: float | None = None
        self._waits: set[asyncio.Future[None]] = set()

    async def wait(self, running: Collection["asyncio.Task[Any]"]) -> None:
        """Wait until all tasks have ended, or the time is over."""
        now = asyncio.get_running_loop().time()
        if self._deadline is None:
            self._deadline = now + self.seconds
        waiting = asyncio.ensure_future(_wait(running, max(0.0, self._deadline - now)))
        self._waits.add(waiting)
        try:
            await asyncio.wait([waiting])
        finally:
            self._waits.discard(waiting)
            waiting.cancel()

    def end(self) -> None:
        """Wait no longer."""
        self._deadline = asyncio.get_running_loop().time()
        for waiting in self._waits:
            waiting.cancel()


async def _wait(running: Collection["asyncio.Task[Any]"], seconds: float) -> None:
    if running:
        _, running = await asyncio.wait(running, timeout=min(seconds, _QUIET_SECONDS))
    if running and seconds > _QUIET_SECONDS:
        logger.info("waiting up to %d s for running requests: %d", seconds, len(running))
        await asyncio.wait(running, timeout=seconds - _QUIET_SECONDS)
