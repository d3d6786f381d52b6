"""The store everyone uses: reads from memory, writes through the writer, subscriptions.

    async with Store(log, codec, StoreOptions()) as store:
        entry = await store.create(key, value)

Keys are "/registry/<group>/<plural>/<namespace>/<name>", but only their order and "/" matter here.
A prefix that ends in "/" means all keys below it, any other means that one key. Every moment from
`compacted` to `revision` can be read exactly.
"""

import asyncio
import logging
import math
import sys
import time
import warnings
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence
from operator import attrgetter
from types import TracebackType
from typing import NamedTuple, Self

from inkube.storage import writes
from inkube.storage.backlog import Backlog
from inkube.storage.cache import Cache, CacheOptions
from inkube.storage.columns import Columns
from inkube.storage.compaction import CompactionOptions, Compactor
from inkube.storage.durations import Durations
from inkube.storage.entry import Change, Changes, ChangeType, Codec, Coder, Entries, Entry, Value
from inkube.storage.errors import Closed, Compacted, FutureRevision, RevisionNamed
from inkube.storage.failures import Failures
from inkube.storage.following import Following
from inkube.storage.freshness import Freshness
from inkube.storage.log import Log, MemoryLog, Range, Record, Snapshot
from inkube.storage.pending import PendingBatch, Uncommitted
from inkube.storage.subscription import Deliver, Subscription
from inkube.storage.writer import Progress, Writer, WriterOptions

__all__ = [
    "BaseStore",
    "Change",
    "ChangeType",
    "Changes",
    "Codec",
    "Deliver",
    "DryRunStore",
    "Entries",
    "Entry",
    "Following",
    "MemoryLog",
    "Page",
    "PendingBatch",
    "Snapshot",
    "Store",
    "StoreOptions",
    "Subscription",
    "Uncommitted",
    "Value",
    "read",
]

logger = logging.getLogger(__name__)

# Seconds between two attempts to follow a log that fails, at most.
LONGEST_DELAY = 5.0

# Seconds since others wrote last during which their writes are looked for often.
LATELY = 10.0

# Writes that are committed together; each subscriber's queue holds many times more.
LARGEST_BATCH = 200

# Rows of the log read at once, for a snapshot.
SNAPSHOT_PAGE = 10_000


class StoreOptions(NamedTuple):
    """Everything that can be set; `poll` is after how many seconds at most the writes of other
    processes are looked for (None: as the log advises), `decoded` see `Coder`. Without `compaction`
    nothing is ever forgotten."""

    cache: CacheOptions = CacheOptions()
    writer: WriterOptions = WriterOptions()
    compaction: CompactionOptions | None = CompactionOptions()
    poll: float | None = None
    decoded: int = 4 * 2**20


class Page(NamedTuple):
    """Part of a list: its entries, how many follow them, and the revision it is true at."""

    entries: Entries
    remaining: int
    revision: int


class BaseStore(ABC):
    """The operations of a store, real or as a dry run."""

    def __init__(self, log: Log, cache: Cache, coder: Coder, writer: Writer) -> None:
        self._log = log
        self._cache = cache
        self._coder = coder
        self._writer = writer
        self._freshness = Freshness(log, cache, writer)

    @property
    def revision(self) -> int:
        """The newest revision."""
        return self._cache.revision

    @property
    def compacted(self) -> int:
        """The oldest revision that can be read."""
        return self._cache.compacted

    def get(self, key: str) -> Entry | None:
        """The newest state of a key; None when it does not live."""
        return self._cache.get(key)

    def list(self, prefix: str) -> Columns:
        """A copy of the current entries under a prefix, in the order of keys."""
        return self._cache.list(prefix)

    def shown(self, entry: Entry, value: Value) -> Entry:
        """An entry that is not stored: as `entry`, of another value."""
        data = self._coder.encode(value, entry.revision)
        return self._coder.make((entry.key, entry.revision, entry.created, data))

    @abstractmethod
    def strip(self, value: Value, *, is_new: bool = False) -> None:
        """Remove the members of an object that are not stored or that are set when it is stored,
        such as its revision. Raises RevisionNamed if an object that `is_new` has a revision."""

    def damaged(self, prefix: str) -> Sequence[str]:
        """The keys under a prefix that lists leave out, and reads refuse, for they are damaged."""
        return self._cache.damaged(prefix)

    def count(self, prefix: str) -> int:
        """How many live under a prefix now."""
        return self._cache.count(prefix)

    def newest(self, prefix: str) -> int:
        """The revision of the newest change under a prefix, deletions in history included."""
        return self._cache.newest(prefix)

    def before(self, prefix: str, changes: int) -> int:
        """The revision before the last so many changes under a prefix, as far as history goes."""
        return self._cache.before(prefix, changes)

    def current(self) -> Awaitable[None]:
        """Return once everything acknowledged before this call, by any process, is read here.

        Costs nothing where only this process writes. Raises LogError.
        """
        return self._freshness.current()

    async def look(self) -> bool:
        """As `current` where that is a matter of microseconds, else nothing; whether that was done.
        Raises LogError."""
        return await self._freshness.look()

    async def page(
        self, prefix: str, *, limit: int = 0, after: str = "", revision: int = 0
    ) -> Page:
        """The first `limit` entries (0: all) whose keys follow `after`, at a revision (0: now).

        Pages read at one revision are parts of one list. The cost of a page does not depend on the
        number of entries. Raises Compacted, FutureRevision.
        """
        revision = revision or self.revision
        await self._check_revision(revision)
        keys = Range(prefix, after, limit)
        found = self._cache.page(keys, revision)
        if found is not None:
            return Page(*found, revision)
        entries = self._entries(await self._log.at(keys, revision))
        if not limit:
            return Page(entries, 0, revision)
        now = self.revision
        total = self._cache.count(prefix, after)  # and nothing is awaited between these two
        total -= await self._log.grown(keys, revision, now)
        return Page(entries, total - len(entries), revision)

    async def revision_at(self, moment: float) -> int:
        """The revision that was the newest at a moment, in seconds since 1970. Raises Compacted."""
        revision = await self._log.before(int(moment * 1_000_000))
        await self._check_revision(revision)
        return revision

    async def history(self, prefix: str, after: int, limit: int) -> Sequence[tuple[Change, float]]:
        """The first `limit` changes under a prefix after a revision, each with the time of its
        write in seconds since 1970 (0: unknown). Raises Compacted."""
        return [
            (
                writes.change(row, writes.entry(old, self._coder) if old else None, self._coder),
                row.time / 1_000_000,
            )
            for row, old in await self._log.changes(prefix, after, limit)
        ]

    @abstractmethod
    async def create(self, key: str, value: Value) -> Entry:
        """Bring a key to life. Raises AlreadyExists."""

    @abstractmethod
    async def update(self, key: str, value: Value, expected: int) -> Entry:
        """Replace the state at revision `expected`. Raises NotFound, Conflict."""

    @abstractmethod
    async def delete(self, key: str, expected: int, value: Value | None = None) -> Entry:
        """End the life of a key at revision `expected`; `value` is the final state to show.

        The entry returned has the revision of the deletion. Raises NotFound, Conflict.
        """

    @abstractmethod
    async def commit(self, batch: Sequence[writes.Write]) -> Entries:
        """Several writes to different keys, all of them or none; what each of them made.

        Raises PreconditionError, and ValueError for a batch that is none.
        """

    def _entries(self, records: Sequence[Record]) -> Entries:
        return [writes.entry(record, self._coder) for record in records]

    async def _check_revision(self, revision: int) -> None:
        if revision < self.compacted:
            raise Compacted(revision, self.compacted)
        if revision > self.revision:
            await self.current()
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)


class Store(BaseStore):
    """The store of this process; several processes may each have one on the same file."""

    def __init__(
        self,
        log: Log,
        codec: Codec,
        options: StoreOptions | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._options = options or StoreOptions()
        coder = Coder(codec, self._options.decoded)
        cache = Cache(self._options.cache, coder)
        super().__init__(log, cache, coder, Writer(log, cache, coder, self._options.writer, now))
        self._clock = clock
        self._lost = ""
        """Why others cannot be followed; empty while they can."""
        self._tasks: list[asyncio.Task[None]] = []
        self._open = False

    async def __aenter__(self) -> Self:
        try:
            await self._writer.start()
        except BaseException:
            await self._log.close()
            raise
        self._open = True
        if self._options.compaction is not None:
            compactor = Compactor(self, self._options.compaction, self._clock)
            task = asyncio.create_task(compactor.run(), name="inkube-storage-compactor")
            self._tasks.append(task)
        if self._log.shared:
            self._tasks.append(asyncio.create_task(self._follow(), name="inkube-storage-follower"))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def __del__(self) -> None:
        if getattr(self, "_open", False):
            warnings.warn(f"unclosed {self!r}", ResourceWarning, stacklevel=1, source=self)

    async def close(self) -> None:
        """Commit what waits, end every subscription, close the log; may be called twice."""
        self._open = False
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        try:
            await self._writer.close()
        finally:
            self._cache.close()
            await self._log.close()

    async def create(self, key: str, value: Value) -> Entry:
        """See BaseStore."""
        return (await self._writer.write(writes.Create(key, value)))[0]

    async def update(self, key: str, value: Value, expected: int) -> Entry:
        """See BaseStore."""
        return (await self._writer.write(writes.Update(key, value, expected)))[0]

    async def delete(self, key: str, expected: int, value: Value | None = None) -> Entry:
        """See BaseStore."""
        return (await self._writer.write(writes.Delete(key, expected, value)))[0]

    async def commit(self, batch: Sequence[writes.Write]) -> Entries:
        """See BaseStore."""
        _check_batch(batch)
        return await self._writer.write(*batch)

    async def submit(self, *batch: writes.Write) -> PendingBatch:
        """As `commit`, without waiting for it: the caller awaits the result.

        Raises ReadOnly, Closed, and ValueError for an invalid batch.
        """
        _check_batch(batch)
        return await self._writer.submit(*batch)

    def uncommitted(self, before: Entry, value: Value, write: PendingBatch) -> Uncommitted:
        """The uncommitted state that `write` stores instead of `before`, with the revision of
        `before`."""
        data = self._coder.encode(value, before.revision)
        return Uncommitted(before, data, self._coder.decode(data), write)

    def strip(self, value: Value, *, is_new: bool = False) -> None:
        """See BaseStore."""
        if is_new and self._coder.names_revision(value):
            raise RevisionNamed
        self._coder.strip(value)

    def subscribe(
        self, prefix: str, after: int | None = None, *, deliver: Deliver | None = None
    ) -> Subscription:
        """Every change under a prefix after a revision (None: the newest), without gaps.

        A revision in the future is allowed: changes up to it are not delivered. With `deliver`, see
        `Subscription.attach`; history must reach back to `after` then. Raises Compacted, Closed.
        """
        if not self._open:
            raise Closed
        after = self.revision if after is None else after
        if after < self.compacted:
            raise Compacted(after, self.compacted)
        early = self._cache.since(prefix, after)
        subscription = self._cache.subscribe(prefix, after)
        if early is None:
            subscription.start([], Backlog(self._log, self._coder, prefix, self.revision).read)
        else:
            subscription.start(early, None)
        if deliver is not None:
            try:
                subscription.attach(deliver)
            except RuntimeError:
                subscription.close()
                raise
        return subscription

    def follow(self, prefix: str, hear: Deliver, *, anew: Callable[[], None]) -> Following:
        """Calls `hear` with every change under a prefix from now on, without end; see Following.
        Raises Closed."""
        return Following(self.subscribe, prefix, hear, anew)

    @property
    def shared(self) -> bool:
        """Whether other processes may write, too."""
        return self._log.shared

    @property
    def failure(self) -> str:
        """Why nothing can be written at the moment, as far as is known; empty while it can."""
        return self._log.failure or self._lost

    @property
    def durations(self) -> Durations:
        """How long this process's commits took."""
        return self._writer.durations

    @property
    def progress(self) -> Progress | None:
        """While the store is being opened: how far that is."""
        return self._writer.progress

    async def reached(self, revision: int) -> None:
        """Return once the store has come to `revision`. Raises Closed."""
        await self._cache.reached(revision)

    async def compact(self, revision: int) -> None:
        """Forget what cannot be seen at `revision` or later. Raises FutureRevision."""
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        await self._writer.compact(revision)

    async def snapshot(self) -> Snapshot:
        """Everything the log holds now, the past included. Raises LogError."""
        await self.current()
        return await read(self._log)

    def dry_run(self, *, asks: bool = True) -> "DryRunStore":
        """A store that checks what this one checks, and writes nothing.

        `asks`: whether each check queries the newest revision; not needed if the caller awaits
        `current` before.
        """
        return DryRunStore(self._log, self._cache, self._coder, self._writer, asks=asks)

    async def _follow(self) -> None:
        """Publish what other processes write, until cancelled."""
        clock = asyncio.get_running_loop().time
        poll = self._log.poll if self._options.poll is None else self._options.poll
        found = -math.inf
        failures = Failures(logger, "reading the log", first=poll, longest=LONGEST_DELAY)
        while True:
            try:
                often = clock() - found < LATELY
                within = min(poll, self._log.often) if often else poll
                heard = await self._log.news(self.revision, within)
                unknown = heard > self.revision  # what this process just wrote may be heard of, too
                if (unknown or self.failure) and await self._writer.catch_up(heard):
                    found = clock()
            except Exception as error:  # noqa: BLE001 - told, and tried again
                self._lost = str(error)
                await asyncio.sleep(failures.failed(error))
            else:
                self._lost = ""
                failures.worked()


async def read(log: Log) -> Snapshot:
    """Everything an open log holds, up to the newest revision. Raises LogError."""
    while True:
        found = await _read(log, (await log.horizon()).newest)
        if found is not None:
            return found


async def _read(log: Log, until: int) -> Snapshot | None:
    """Everything up to a revision; None when the log was compacted on the way."""
    records: list[Record] = []
    size = SNAPSHOT_PAGE if log.shared else sys.maxsize
    begun = None
    while True:
        found = await log.missed(records[-1].revision if records else 0, size)
        if begun is not None and found.compacted != begun:
            return None
        begun = found.compacted
        records += found.records
        if len(found.records) < size or records[-1].revision >= until:
            last = bisect_right(records, max(until, begun), key=attrgetter("revision"))
            return Snapshot(tuple(records[:last]), begun)


class DryRunStore(BaseStore):
    """Answers like the store it was made from; appends nothing, takes no revision.

    What create returns has revision 0, what update and delete return has the stored revision.
    Objects keep what they say of themselves, which a store that keeps them takes off
    (apiserver/pkg/registry/generic/registry/dryrun.go).
    """

    def __init__(self, log: Log, cache: Cache, coder: Coder, writer: Writer, *, asks: bool) -> None:
        super().__init__(log, cache, coder, writer)
        self._asks = asks

    async def create(self, key: str, value: Value) -> Entry:
        """See BaseStore."""
        return await self._rehearse(writes.Create(key, value))

    async def update(self, key: str, value: Value, expected: int) -> Entry:
        """See BaseStore."""
        return await self._rehearse(writes.Update(key, value, expected))

    async def delete(self, key: str, expected: int, value: Value | None = None) -> Entry:
        """See BaseStore."""
        return await self._rehearse(writes.Delete(key, expected, value))

    async def commit(self, batch: Sequence[writes.Write]) -> Entries:
        """See BaseStore."""
        if len(batch) == 1:
            return [await self._rehearse(batch[0])]
        _check_batch(batch)
        return [await self._rehearse(write) for write in batch]

    def strip(self, value: Value, *, is_new: bool = False) -> None:
        """See BaseStore: here objects keep everything."""

    async def _rehearse(self, write: writes.Write) -> Entry:
        if self._asks:
            await self.current()
        current = self._cache.get(write.key)
        return write.change(current, current.revision if current else 0, self._coder).entry


def _check_batch(batch: Sequence[writes.Write]) -> None:
    if len(batch) == 1:
        return
    if not 0 < len(batch) <= LARGEST_BATCH:
        raise ValueError(f"a batch has 1 to {LARGEST_BATCH} writes, not {len(batch)}")
    if len({write.key for write in batch}) < len(batch):
        raise ValueError("a batch writes each key once")
