"""A log that several stores share, with delays and with transactions that fail at random."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from inkube.storage.errors import Locked, Unavailable
from inkube.storage.log import Head, Log, MemoryLog, Missed, Record, Transaction


class ShakyLog(MemoryLog):
    """Behaves like a file or a database: commits take time. While `failing` is set, that fraction
    of transactions fails: either it is not committed, or it is committed but reports an error."""

    immediate = False
    shared = True
    poll = 3_600.0  # a store reads other stores' writes on request only

    def __init__(
        self, chance: random.Random, failing: float = 0.0, *, optimistic: bool = False
    ) -> None:
        super().__init__()
        self.optimistic = optimistic
        self.failing = failing
        self.failed = asyncio.Event()
        self._chance = chance
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[Transaction]:
        """See Log."""
        async with self._lock:
            fails = self._fails()
            await self._pause()
            if fails and self._chance.random() < 0.2:
                raise Locked("locked by chance")
            transaction = _Transaction(self)
            yield transaction
            await self._pause()
            if fails and self._chance.random() < 0.5:
                raise Unavailable("not committed, by chance")
            if transaction.records:
                await self.append(transaction.records)
            if fails:
                raise Unavailable("committed, and the answer was lost")

    async def append_next(self, after: Head, records: Sequence[Record]) -> int | None:
        """See Log."""
        async with self._lock:
            await self._pause()
            if after.revision != (await self.newest()).revision:
                return None
            fails = self._fails()
            if fails and self._chance.random() < 0.5:
                raise Unavailable("not committed, by chance")
            await self.append(records)
            await self._pause()
            if fails:
                raise Unavailable("committed, and the answer was lost")
            return 0

    def _fails(self) -> bool:
        fails = self._chance.random() < self.failing
        if fails:
            self.failed.set()
        return fails

    async def _pause(self) -> None:
        for _ in range(self._chance.randrange(6)):
            await asyncio.sleep(0)


class _Transaction:
    """See Transaction: no record is in the log before the commit."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.records: Sequence[Record] = ()

    async def missed(self, revision: int, limit: int) -> Missed:
        """See Transaction."""
        return await self._log.missed(revision, limit)

    async def append(self, records: Sequence[Record]) -> int:
        """See Transaction."""
        self.records = records
        return 0

    async def begin_epoch(self, above: int) -> None:
        """See Transaction. Never called, because this log never goes back."""
        raise AssertionError("this log has one history")
