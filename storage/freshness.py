"""Reads that see every write committed so far, by any process: when the cache is new enough.

A read is linearizable if the cache contains every change that any process committed before the read
began. Some logs can return the newest revision at once. Otherwise one query serves all waiting
reads. A read that arrives during a query waits for the next one, because the result of the running
query may be older than the read.
"""

import asyncio

from inkube.storage.cache import Cache
from inkube.storage.log import Log
from inkube.storage.writer import Writer


class Freshness:
    """Brings the cache up to the newest revision; a log of this process alone always is."""

    def __init__(self, log: Log, cache: Cache, writer: Writer) -> None:
        self._log = log
        self._cache = cache
        self._writer = writer
        self._running: asyncio.Task[int] | None = None
        self._next: asyncio.Task[int] | None = None
        self._explained = 0
        """A newest revision that is older than the cache, for what followed it was compacted."""

    async def current(self) -> None:
        """Return once the cache has all that was committed before this call. Raises LogError."""
        if not self._log.shared:
            return
        newest = self._log.glance()
        if newest is None:
            newest = await self._answer()
            if newest > self._cache.revision:
                await self._writer.catch_up(newest)
        else:
            await self._follow(newest)

    async def look(self) -> bool:
        """As `current` where the log can be glanced at; elsewhere nothing is done. Whether the
        cache has all now. Raises LogError."""
        if not self._log.shared:
            return True
        newest = self._log.glance()
        if newest is not None:
            await self._follow(newest)
        return newest is not None

    async def _follow(self, newest: int) -> None:
        """Have what a glance saw a moment ago. Raises LogError."""
        if newest > self._cache.revision:
            await self._writer.catch_up(newest)
        elif newest < self._cache.revision and newest != self._explained:
            # the last rows were compacted, or the log has gone back
            await self._writer.catch_up()
            self._explained = newest

    async def _answer(self) -> int:
        if self._next is None:
            self._next = asyncio.ensure_future(self._ask(self._running))
            self._next.add_done_callback(_heard)
        # Who is cancelled must not take the answer from the others.
        return await asyncio.shield(self._next)

    async def _ask(self, before: asyncio.Task[int] | None) -> int:
        if before is not None:
            await asyncio.wait([before])
        self._running, self._next = self._next, None
        known = self._cache.revision
        newest = await self._log.newest()
        if newest < known:  # it has gone back
            await self._writer.catch_up()
        return newest


def _heard(task: asyncio.Task[int]) -> None:
    """Consume an error: the task that started the query may no longer wait for it."""
    if not task.cancelled():
        task.exception()
