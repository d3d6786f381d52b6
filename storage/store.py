"""The store: reads from memory, writes through the writer, subscriptions.

    async with Store(log, codec, StoreOptions()) as store:
        entry = await store.create(key, value)

Keys are "/registry/<group>/<plural>/<namespace>/<name>", but only their order and "/" matter here.
A prefix that ends in "/" means all keys below it, any other prefix means that one key. Every
revision from `compacted` to `revision` can be read exactly.
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
from typing import NamedTuple, Self

from inkube.storage import writes
from inkube.storage.backlog import Backlog
from inkube.storage.cache import Cache, CacheOptions
from inkube.storage.cancellation import run_to_end
from inkube.storage.columns import Columns
from inkube.storage.compaction import CompactionOptions, Compactor
from inkube.storage.durations import Durations
from inkube.storage.entry import (
    Change,
    Changes,
    ChangeType,
    Codec,
    Entries,
    Entry,
    EntryCodec,
    Value,
)
from inkube.storage.errors import Closed, Compacted, FutureRevision, RevisionNamed
from inkube.storage.failures import Failures
from inkube.storage.following import Following
from inkube.storage.freshness import Freshness
from inkube.storage.log import Log, MemoryLog, Range, Record, Snapshot
from inkube.storage.pending import Consent, PendingBatch, Uncommitted
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

# The longest delay in seconds between two attempts to follow a failing log.
LONGEST_DELAY = 5.0

# Seconds after the last write of another process during which its writes are checked for often.
LATELY = 10.0

# The most writes in one commit, unless it restores a state. Each subscriber holds many times
# more.
LARGEST_BATCH = 200

# Rows of the log that are read at once for a snapshot.
SNAPSHOT_PAGE = 10_000


class StoreOptions(NamedTuple):
    """All options. `poll` is the longest interval in seconds between two checks for writes of other
    processes (None: the log's own). For `decoded`, see `EntryCodec`. Without `compaction`, no
    revision is removed."""

    cache: CacheOptions = CacheOptions()
    writer: WriterOptions = WriterOptions()
    compaction: CompactionOptions | None = CompactionOptions()
    poll: float | None = None
    decoded: int = 4 * 2**20


class Page(NamedTuple):
    """A part of a list: its entries, the number of entries after them, and its revision."""

    entries: Entries
    remaining: int
    revision: int


class BaseStore(ABC):
    """The operations of a store and of a dry run."""

    def __init__(self, log: Log, cache: Cache, coder: EntryCodec, writer: Writer) -> None:
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
        """Return the newest state of a key, or None if it does not exist."""
        return self._cache.get(key)

    def list(self, prefix: str, limit: int = 0) -> Columns:
        """Return a copy of the first `limit` current entries (0: all) under a prefix, in the order
        of keys."""
        return self._cache.list(prefix, limit)

    def with_value(self, entry: Entry, value: Value) -> Entry:
        """Return an entry that is not stored: `entry` with another value."""
        data = self._coder.encode(value, entry.revision)
        return self._coder.make((entry.key, entry.revision, entry.created, data))

    @abstractmethod
    def strip(self, value: Value, *, is_new: bool = False) -> None:
        """Remove the members of an object that are not stored or that are set when it is stored,
        such as its revision. Raises RevisionNamed if an object that `is_new` has a revision."""

    def damaged(self, prefix: str) -> Sequence[str]:
        """Return the damaged keys under a prefix. Lists omit them, and reads of them fail."""
        return self._cache.damaged(prefix)

    def count(self, prefix: str) -> int:
        """Return the number of existing keys under a prefix."""
        return self._cache.count(prefix)

    def newest(self, prefix: str) -> int:
        """Return the revision of the newest change under a prefix, including deletions in
        history."""
        return self._cache.newest(prefix)

    def before(self, prefix: str, changes: int) -> int:
        """Return the revision before the last `changes` changes under a prefix, as far as history
        goes back."""
        return self._cache.before(prefix, changes)

    def current(self) -> Awaitable[None]:
        """Return when everything that any process confirmed before this call is read here. Costs
        nothing if only this process writes. Raises LogError."""
        return self._freshness.current()

    def recent(self) -> Awaitable[None]:
        """Return when everything that any process confirmed before this turn of the event loop is
        read here. This is enough for a request that arrived earlier, and one query serves all calls
        of a turn. Raises LogError."""
        return self._freshness.recent()

    @property
    def is_recent(self) -> bool:
        """Whether `recent` has nothing to do."""
        return self._freshness.is_recent

    def look(self) -> Awaitable[bool]:
        """Do the same as `recent` if this takes only microseconds. Returns whether it did. Raises
        LogError."""
        return self._freshness.look()

    async def page(
        self, prefix: str, *, limit: int = 0, after: str = "", revision: int = 0
    ) -> Page:
        """Return the first `limit` entries (0: all) whose keys follow `after`, at a revision (0:
        now).

        Pages at one revision are parts of one list. The cost of a page does not depend on the
        number of entries. Raises Compacted, FutureRevision.
        """
        revision = revision or self.revision
        await self._check_revision(revision)
        keys = Range(prefix, after, limit)
        cached = self._cache.page(keys, revision)
        if cached is not None:
            return Page(*cached, revision)
        entries = self._entries(await self._log.at(keys, revision))
        if not limit:
            return Page(entries, 0, revision)
        now = self.revision
        total = self._cache.count(prefix, after)  # nothing is awaited between these two
        total -= await self._log.grown(keys, revision, now)
        return Page(entries, total - len(entries), revision)

    async def history(self, prefix: str, after: int, limit: int) -> Sequence[tuple[Change, float]]:
        """Return the first `limit` changes under a prefix after a revision, each with the time of
        its write in seconds since 1970 (0: unknown). Raises Compacted."""
        return [
            (
                writes.change(row, writes.entry(old, self._coder) if old else None, self._coder),
                row.time / 1_000_000,
            )
            for row, old in await self._log.changes(prefix, after, limit)
        ]

    @abstractmethod
    async def create(self, key: str, value: Value) -> Entry:
        """Create a key. Raises AlreadyExists."""

    @abstractmethod
    async def update(self, key: str, value: Value, expected: int) -> Entry:
        """Replace the state at revision `expected`. Raises NotFound, Conflict."""

    @abstractmethod
    async def delete(self, key: str, expected: int, value: Value | None = None) -> Entry:
        """Delete a key at revision `expected`. `value` is the final state to show. Returns an entry
        with the revision of the deletion. Raises NotFound, Conflict."""

    @abstractmethod
    async def commit(
        self, batch: Sequence[writes.Write], consent: Consent | None = None
    ) -> Entries:
        """Commit writes to different keys, all of them or none. Returns their entries. Raises
        PreconditionError, ValueError for an invalid batch, and CancelledError without consent."""

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
    """The store of this process. Several processes can each have one on the same file."""

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
        coder = EntryCodec(codec, self._options.decoded)
        cache = Cache(self._options.cache, coder)
        super().__init__(log, cache, coder, Writer(log, cache, coder, self._options.writer, now))
        self._clock = clock
        self._lost = ""
        """Why other processes cannot be followed, or ""."""
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

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def __del__(self) -> None:
        if getattr(self, "_open", False):
            warnings.warn(f"unclosed {self!r}", ResourceWarning, stacklevel=1, source=self)

    async def close(self) -> None:
        """Commit waiting writes, end every subscription, and close the log. Can be called twice."""
        self._open = False
        await run_to_end(self._close())

    async def _close(self) -> None:
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._writer.close()
        finally:
            self._cache.close()
            await self._log.close()

    async def create(self, key: str, value: Value) -> Entry:
        """Commit a new object. Raises AlreadyExists."""
        return (await self._writer.write(writes.Create(key, value)))[0]

    async def update(self, key: str, value: Value, expected: int) -> Entry:
        """Commit another state of an object. Raises NotFound, Conflict."""
        return (await self._writer.write(writes.Update(key, value, expected)))[0]

    async def delete(self, key: str, expected: int, value: Value | None = None) -> Entry:
        """Commit the deletion of an object. Raises NotFound, Conflict."""
        return (await self._writer.write(writes.Delete(key, expected, value)))[0]

    async def commit(
        self, batch: Sequence[writes.Write], consent: Consent | None = None
    ) -> Entries:
        """Commit all writes, or none. Raises PreconditionError, ValueError for an invalid batch,
        and CancelledError without consent."""
        _check_batch(batch)
        return await self._writer.write(*batch, consent=consent)

    async def restore(self, batch: Sequence[writes.Write]) -> Entries:
        """Do the same as `commit` with any number of writes, which all readers see at once.

        A subscriber whose queue is too short for them ends with SlowConsumer, and can continue from
        its last revision.
        """
        _check_batch(batch, len(batch))
        return await self._writer.write(*batch)

    async def submit(self, *batch: writes.Write, consent: Consent | None = None) -> PendingBatch:
        """Do the same as `commit`, without waiting: the caller awaits the result. Raises ReadOnly,
        Closed, and ValueError for an invalid batch."""
        _check_batch(batch)
        return await self._writer.submit(*batch, consent=consent)

    def uncommitted(self, before: Entry, value: Value, write: PendingBatch) -> Uncommitted:
        """Return the uncommitted state that `write` stores instead of `before`, with the revision
        of `before`."""
        data = self._coder.encode(value, before.revision)
        return Uncommitted(before, data, self._coder.decode(data), write)

    def strip(self, value: Value, *, is_new: bool = False) -> None:
        """Remove the members that are not stored. Raises RevisionNamed."""
        if self._coder.strip(value) and is_new:
            raise RevisionNamed

    def subscribe(
        self, prefix: str, after: int | None = None, *, deliver: Deliver | None = None
    ) -> Subscription:
        """Subscribe to every change under a prefix after a revision (None: the newest), without
        gaps.

        A revision in the future is allowed: changes up to it are not delivered. With `deliver`, see
        `Subscription.attach`; history must then go back to `after`. Raises Compacted, Closed.
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

    def follow(
        self, prefix: str, on_changes: Deliver, *, on_relist: Callable[[], None]
    ) -> Following:
        """Call `on_changes` with every change under a prefix from now on; see Following. Raises
        Closed."""
        return Following(self.subscribe, prefix, on_changes, on_relist)

    @property
    def shared(self) -> bool:
        """Whether other processes can write, too."""
        return self._log.shared

    @property
    def failure(self) -> str:
        """Why writes are impossible at the moment, as far as is known, or ""."""
        return self._log.failure or self._lost

    @property
    def durations(self) -> Durations:
        """The durations of this process's commits."""
        return self._writer.durations

    @property
    def progress(self) -> Progress | None:
        """The progress while the store is being opened, else None."""
        return self._writer.progress

    async def reached(self, revision: int) -> None:
        """Return when the store has reached `revision`. Raises Closed."""
        await self._cache.reached(revision)

    async def compact(self, revision: int) -> None:
        """Remove the states that reads at `revision` or later do not need. Raises
        FutureRevision."""
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        await self._writer.compact(revision)

    async def snapshot(self) -> Snapshot:
        """Return everything that the log contains now, including its history. Raises LogError."""
        await self.current()
        return await read(self._log)

    def dry_run(self, *, refreshes: bool = True) -> "DryRunStore":
        """Return a store that checks what this one checks, and writes nothing.

        `refreshes`: whether each check queries the newest revision; not needed if the caller awaits
        `current` before.
        """
        return DryRunStore(self._log, self._cache, self._coder, self._writer, refreshes=refreshes)

    async def _follow(self) -> None:
        """Publish what other processes write, until cancelled."""
        clock = asyncio.get_running_loop().time
        poll = self._log.poll if self._options.poll is None else self._options.poll
        changed_at = -math.inf
        failures = Failures(logger, "reading the log", first=poll, longest=LONGEST_DELAY)
        while True:
            try:
                often = clock() - changed_at < LATELY
                within = min(poll, self._log.often) if often else poll
                seen = self.revision
                newest = await self._log.news(seen, within)
                # notifications include the writes of this process
                if await self._freshness.follow(newest, seen) or (
                    self.failure and await self._writer.catch_up()
                ):
                    changed_at = clock()
            except Exception as error:  # noqa: BLE001 - logged, and retried
                self._lost = str(error)
                await asyncio.sleep(failures.failed(error))
            else:
                self._lost = ""
                failures.worked()


async def read(log: Log) -> Snapshot:
    """Return everything that an open log contains, up to the newest revision. Raises LogError."""
    while True:
        snapshot = await _read(log, (await log.horizon()).newest)
        if snapshot is not None:
            return snapshot


async def _read(log: Log, until: int) -> Snapshot | None:
    """Return everything up to a revision, or None if the log was compacted meanwhile."""
    records: list[Record] = []
    size = SNAPSHOT_PAGE if log.shared else sys.maxsize
    begun = None
    while True:
        missed = await log.missed(records[-1].revision if records else 0, size)
        if begun is not None and missed.compacted != begun:
            return None
        begun = missed.compacted
        records += missed.records
        if len(missed.records) < size or records[-1].revision >= until:
            last = bisect_right(records, max(until, begun), key=attrgetter("revision"))
            return Snapshot(tuple(records[:last]), begun)


class DryRunStore(BaseStore):
    """A store that returns the same results as the one it was created from, but appends nothing and
    uses no revision.

    The result of a create has revision 0, and the results of update and delete have the stored
    revision. Objects keep members that a real store removes
    (apiserver/pkg/registry/generic/registry/dryrun.go).
    """

    def __init__(
        self, log: Log, cache: Cache, coder: EntryCodec, writer: Writer, *, refreshes: bool
    ) -> None:
        super().__init__(log, cache, coder, writer)
        self._refreshes = refreshes

    async def create(self, key: str, value: Value) -> Entry:
        """Check a create, and return its result."""
        return await self._rehearse(writes.Create(key, value))

    async def update(self, key: str, value: Value, expected: int) -> Entry:
        """Check an update, and return its result."""
        return await self._rehearse(writes.Update(key, value, expected))

    async def delete(self, key: str, expected: int, value: Value | None = None) -> Entry:
        """Check a delete, and return its result."""
        return await self._rehearse(writes.Delete(key, expected, value))

    async def commit(
        self, batch: Sequence[writes.Write], consent: Consent | None = None
    ) -> Entries:
        """Check the writes, and return their results, which need no consent."""
        if len(batch) == 1:
            return [await self._rehearse(batch[0])]
        _check_batch(batch)
        return [await self._rehearse(write) for write in batch]

    def strip(self, value: Value, *, is_new: bool = False) -> None:
        """Do nothing: in a dry run, objects keep all members."""

    async def _rehearse(self, write: writes.Write) -> Entry:
        if self._refreshes:
            await self.current()
        current = self._cache.get(write.key)
        return write.change(current, current.revision if current else 0, self._coder).entry


def _check_batch(batch: Sequence[writes.Write], largest: int = LARGEST_BATCH) -> None:
    if len(batch) == 1:
        return
    if not 0 < len(batch) <= largest:
        raise ValueError(f"a batch has 1 to {LARGEST_BATCH} writes, not {len(batch)}")
    if len({write.key for write in batch}) < len(batch):
        raise ValueError("a batch can contain only one write for each key")
