"""Compaction: which part of the past is removed, and when.

Changes younger than `age` are kept, at most `revisions` of them. The newest revision is always
kept: it shows a process that was suspended that there are changes it has not read. As in etcd3's
compactor (apiserver/pkg/storage/etcd3/compact.go), the compactor notes the newest revision at each
interval to know the age of changes; after a restart it starts again.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

from inkube.storage.failures import Failures

logger = logging.getLogger(__name__)


class CompactionOptions(NamedTuple):
    """The age in seconds and the number of revisions to keep, and seconds between two checks."""

    age: float = 300.0
    revisions: int = 100_000
    interval: float = 30.0


class Compactable(Protocol):
    """The methods of a store that a compactor calls."""

    @property
    def revision(self) -> int:
        """The newest revision."""
        ...

    @property
    def compacted(self) -> int:
        """The oldest revision that can be read."""
        ...

    async def reached(self, revision: int) -> None:
        """Return when the store has reached `revision`."""
        ...

    async def compact(self, revision: int) -> None:
        """Remove the states that reads at `revision` or later do not need. Older revisions can then
        no longer be read."""
        ...


class Compactor:
    """Checks a store regularly and compacts it. `clock` returns seconds."""

    def __init__(
        self, store: Compactable, options: CompactionOptions, clock: Callable[[], float]
    ) -> None:
        self._store = store
        self._options = options
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()

    async def run(self) -> None:
        """Compact until cancelled: at every interval, and earlier if many changes have accumulated.

        After failures the interval grows, and only the first of consecutive failures is logged.
        """
        interval = self._options.interval
        failures = Failures(logger, "compaction", first=interval, longest=20 * interval)
        while True:
            # a fifth more than is kept, so that a busy store is not compacted at every write
            full = self._store.compacted + self._options.revisions * 6 // 5
            try:
                async with asyncio.timeout(self._options.interval):
                    await self._store.reached(full)
            except TimeoutError:
                pass
            try:
                await self.look()
            except Exception as error:  # noqa: BLE001 - logged, and retried
                await asyncio.sleep(failures.failed(error))
            else:
                failures.worked()

    async def look(self) -> None:
        """Compact the changes that are now too old or too many. Raises LogError."""
        now = self._clock()
        target = self._store.revision - self._options.revisions
        self._seen.append((now, self._store.revision))
        while self._seen and self._seen[0][0] <= now - self._options.age:
            target = max(target, self._seen.popleft()[1])
        target = min(target, self._store.revision - 1)
        if target > self._store.compacted:
            await self._store.compact(target)
