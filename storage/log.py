"""The append-only log: its interface, and a log in memory.

A log is a sequence of records with strictly growing revisions. It handles bytes, not objects. Only
the writer appends, always inside a transaction. `inkube.storage.sql` is the log in a database.
"""

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from itertools import compress
from operator import attrgetter
from typing import NamedTuple, Protocol, Self
from zlib import crc32

from inkube.storage.errors import Compacted

# A new log looks as if it had been compacted up to this revision, so that clients with invented
# small revisions receive "expired", as from a server that has run for some time.
FIRST_REVISION = 100

# Revisions that a new epoch skips. Clients can know revisions that no running server knows, of a
# server that did not survive; only so many commits can be missing in a replica without a client
# that continues from one of them and is not refused.
EPOCH = 1_000_000


class Record(NamedTuple):
    """One row: the state of `key` since `revision`, or the last state of a deleted one.

    `previous` is the revision of the state before, or 0 if the key did not exist. `time` is the
    time of the write by the writer's clock, in microseconds since 1970, or 0 if it is unknown.
    """

    revision: int
    key: str
    previous: int
    created: int
    deleted: bool
    data: bytes
    time: int


def digest(record: Record) -> int:
    """Return the checksum of a row, which the log stores with it: never 0, which stands for a row
    without one (of an older release)."""
    revision, key, previous, created, deleted, data, time = record
    head = f"{revision} {previous} {created} {deleted:d} {time} {key}"
    return crc32(data, crc32(head.encode())) or 1


class Head(NamedTuple):
    """The newest row of a log: its revision (0: the log is empty) and its digest (0: unknown)."""

    revision: int
    digest: int = 0


class Horizon(NamedTuple):
    """The revisions that can be read: from `compacted` to `newest`, both included."""

    compacted: int
    newest: int


class Missed(NamedTuple):
    """The changes of other processes, the revision up to which they compacted, and the newest
    revision.

    The newest revision is older than the requested one if the log went back, for example in a
    restored database. `digest` is that of the row at the requested revision: 0 if the row has none,
    None if there is no such row. Another digest than before means that the log has another history.
    """

    records: Sequence[Record]
    compacted: int
    newest: int
    digest: int | None = 0


class Rows(NamedTuple):
    """Records as columns, for a start."""

    revisions: Sequence[int]
    keys: Sequence[str]
    created: Sequence[int]
    deleted: Collection[int]
    """The revisions of the deletions in these rows."""
    data: Sequence[bytes]
    compacted: Sequence[int]
    """The revision up to which the log is compacted: at least one item, all equal."""
    digest: int = 0
    """The digest of the last row, or 0 if it is unknown."""

    def parts(self, size: int) -> Iterator[Self]:
        """Yield the same rows in parts with `size` rows."""
        for start in range(0, len(self.revisions), size):
            part = slice(start, start + size)
            revisions = self.revisions[part]
            first, last = revisions[0], revisions[-1]
            yield self._replace(
                revisions=revisions,
                keys=self.keys[part],
                created=self.created[part],
                deleted=[each for each in self.deleted if first <= each <= last],
                data=self.data[part],
            )


class Snapshot(NamedTuple):
    """Everything that a log contains at one revision, with records in the order of revisions. It
    never changes, so it can be shared."""

    records: Sequence[Record]
    compacted: int

    @property
    def newest(self) -> int:
        """The revision of the snapshot."""
        return max(self.compacted, self.records[-1].revision if self.records else 0)


class Range(NamedTuple):
    """A part of the keys under `prefix`: those after `after`, at most `limit` (0: all)."""

    prefix: str
    after: str = ""
    limit: int = 0

    @property
    def interval(self) -> tuple[str, str]:
        """The half-open interval that contains the keys."""
        low, high = bounds(self.prefix)
        return max(low, self.after + "\0") if self.after else low, high


class Transaction(Protocol):
    """A transaction that holds the write lock. The end of the block commits it; an exception rolls
    it back."""

    async def missed(self, revision: int, limit: int) -> Missed:
        """Return the first `limit` records after `revision`. Fewer than `limit` records means that
        no more exist."""
        ...

    async def append(self, records: Sequence[Record]) -> int:
        """Add records in the order of their revisions, which follow the newest. Returns the digest
        of the last row, or 0 for a log without digests."""
        ...

    async def begin_epoch(self, above: int) -> None:
        """Continue with revisions that are higher than `above` and the newest one by EPOCH. The
        log then looks as if it had been compacted up to the one before them, so that no client
        continues from a revision of another history."""
        ...


class Log(Protocol):
    """The interface of a log. All methods except `open` need an open log, and can raise
    LogError."""

    @property
    def immediate(self) -> bool:
        """Whether no method ever suspends, so that a write can be committed in the call that
        submits it."""
        ...

    @property
    def shared(self) -> bool:
        """Whether other processes can append to it."""
        ...

    @property
    def optimistic(self) -> bool:
        """Whether `append_next` costs less than a transaction."""
        ...

    @property
    def poll(self) -> float:
        """The longest interval in seconds between two checks for writes of other processes."""
        ...

    @property
    def often(self) -> float:
        """The longest interval in seconds between two checks while other processes write."""
        ...

    @property
    def failure(self) -> str:
        """Why the log cannot be written at the moment, as far as is known, or ""."""
        ...

    async def open(self) -> None:
        """Open the log, and create it if necessary."""
        ...

    async def close(self) -> None:
        """Release all resources. Can be called twice."""
        ...

    async def horizon(self) -> Horizon:
        """Return the range of revisions that can be read."""
        ...

    def begin(self) -> AbstractAsyncContextManager[Transaction]:
        """Take the write lock. Raises Locked after the timeout."""
        ...

    async def append_next(self, after: Head, records: Sequence[Record]) -> int | None:
        """Commit records if `after` is the newest row. Returns the digest of the last record (0: a
        log without digests), or None if it is not, and for a log that is not optimistic."""
        ...

    async def missed(self, revision: int, limit: int) -> Missed:
        """As in a transaction, without the lock. Fast if nothing has changed."""
        ...

    async def rows(self, revision: int, limit: int) -> Rows:
        """As `missed`, with the lowest cost for each row."""
        ...

    def glance(self) -> Head | None:
        """Return the newest row that any process committed, if the log can read it within
        microseconds; None if `newest` is needed."""
        ...

    async def newest(self) -> Head:
        """Return the newest row that any process committed, with a query if necessary."""
        ...

    async def news(self, revision: int, within: float) -> Head:
        """Wait for a notification about something newer than `revision`. Returns the row in it, or
        the newest one after `within` seconds."""
        ...

    async def changes(
        self, prefix: str, after: int, limit: int
    ) -> Sequence[tuple[Record, Record | None]]:
        """Return the first `limit` records under `prefix` after a revision, each with the one
        before it. Raises Compacted."""
        ...

    async def at(self, keys: Range, revision: int) -> Sequence[Record]:
        """Return the entries at a revision, in the order of keys. Raises Compacted."""
        ...

    async def grown(self, keys: Range, after: int, until: int) -> int:
        """Return how many more of the keys exist at `until` than at `after`. The limit of the range
        is ignored. Raises Compacted."""
        ...

    async def before(self, time: int) -> int:
        """Return the last revision before the first one that was written after `time` (as in
        Record)."""
        ...

    async def compact(self, revision: int) -> int:
        """Remove the states that reads at `revision` or later do not need. Returns the revision up
        to which the log is compacted.

        An older revision than that is ignored. The result can be below `revision` if another
        process compacts at the same time.
        """
        ...


def matches(prefix: str, key: str) -> bool:
    """Return whether a key is under a prefix."""
    return key.startswith(prefix) if prefix.endswith("/") else key == prefix


def bounds(prefix: str) -> tuple[str, str]:
    """Return the half-open interval of keys under a prefix."""
    # "0" is the character after "/", and NUL is the smallest one that can follow a whole key
    return (prefix, prefix[:-1] + "0") if prefix.endswith("/") else (prefix, prefix + "\0")


_revision = attrgetter("revision")
EMPTY = Snapshot((), FIRST_REVISION)


class MemoryLog:
    """A log in the memory of one process. After it is closed, another store can open it again.

    It can begin with a snapshot of any log. Its records are shared and never changed.
    """

    immediate = True
    shared = False
    optimistic = False
    poll = often = 0.0
    failure = ""

    def __init__(self, snapshot: Snapshot = EMPTY) -> None:
        records, self._compacted = snapshot.records, snapshot.compacted
        self._newest = snapshot.newest
        self._records = [each for each in records if each.revision > self._compacted]
        self._versions: dict[str, list[Record]] = {}
        for record in records:
            self._versions.setdefault(record.key, []).append(record)

    async def open(self) -> None:
        """Do nothing: the records are in memory."""

    async def close(self) -> None:
        """Do nothing: the records stay until the log is freed."""

    async def horizon(self) -> Horizon:
        return Horizon(self._compacted, self._newest)

    def begin(self) -> AbstractAsyncContextManager[Transaction]:
        """Return the log itself: the writer appends as its last step, so nothing has to be
        undone."""
        return nullcontext(self)

    async def missed(self, revision: int, limit: int) -> Missed:
        """Return the newer records, because another store in this process can share the log."""
        if revision == self._newest:
            return Missed((), self._compacted, self._newest)
        if revision < self._compacted:  # older records are not sorted by revision
            records = (record for versions in self._versions.values() for record in versions)
            newer = sorted((each for each in records if each.revision > revision), key=_revision)
            return Missed(newer[:limit], self._compacted, self._newest)
        return Missed(self._after(revision)[:limit], self._compacted, self._newest)

    async def rows(self, revision: int, limit: int) -> Rows:
        missed = await self.missed(revision, limit)
        columns = (
            zip(*missed.records, strict=True) if missed.records else [()] * len(Record._fields)
        )
        revisions, keys, _, created, deleted, data, _ = columns
        gone = tuple(compress(revisions, deleted))
        return Rows(revisions, keys, created, gone, data, (missed.compacted,))

    async def append_next(self, after: Head, records: Sequence[Record]) -> int | None:
        """Return None, because this would save nothing."""
        return None

    def glance(self) -> Head | None:
        return Head(self._newest)

    async def newest(self) -> Head:
        return Head(self._newest)

    async def news(self, revision: int, within: float) -> Head:
        """Wait in vain. Never called, because this log is not shared."""
        await asyncio.sleep(within)
        return Head(self._newest)

    async def append(self, records: Sequence[Record]) -> int:
        self._records.extend(records)
        self._newest = records[-1].revision
        for record in records:
            self._versions.setdefault(record.key, []).append(record)
        return 0

    async def begin_epoch(self, above: int) -> None:
        """See Transaction. Never called, because a log in memory has one history."""
        self._newest = self._compacted = max(above, self._newest) + EPOCH

    async def changes(
        self, prefix: str, after: int, limit: int
    ) -> Sequence[tuple[Record, Record | None]]:
        self._check(after)
        changes: list[tuple[Record, Record | None]] = []
        for record in self._after(after):
            if matches(prefix, record.key):
                changes.append((record, self._exactly(record.key, record.previous)))
                if len(changes) == limit:
                    break
        return changes

    async def at(self, keys: Range, revision: int) -> Sequence[Record]:
        self._check(revision)
        records = sorted(self._living(keys, revision), key=attrgetter("key"))
        return records[: keys.limit] if keys.limit else records

    async def grown(self, keys: Range, after: int, until: int) -> int:
        self._check(after)
        low, high = keys.interval
        return sum(
            (not record.deleted) - (record.previous > 0)
            for record in self._after(after)
            if record.revision <= until and low <= record.key < high
        )

    async def before(self, time: int) -> int:
        records = (record for versions in self._versions.values() for record in versions)
        later = (record.revision for record in records if record.time > time)
        return min(later, default=self._newest + 1) - 1

    async def compact(self, revision: int) -> int:
        gone = self._records[: bisect_right(self._records, revision, key=_revision)]
        del self._records[: len(gone)]
        for key in {record.key for record in gone}:
            self._forget(key, revision)
        self._compacted = max(self._compacted, revision)
        return self._compacted

    def _forget(self, key: str, revision: int) -> None:
        versions = self._versions[key]
        newest = bisect_right(versions, revision, key=_revision) - 1
        del versions[: newest + versions[newest].deleted]
        if not versions:
            del self._versions[key]

    def _check(self, revision: int) -> None:
        if revision < self._compacted:
            raise Compacted(revision, self._compacted)

    def _after(self, revision: int) -> Sequence[Record]:
        return self._records[bisect_right(self._records, revision, key=_revision) :]

    def _exactly(self, key: str, revision: int) -> Record | None:
        versions = self._versions[key]
        place = bisect_left(versions, revision, key=_revision)
        return versions[place] if versions[place].revision == revision else None

    def _living(self, keys: Range, revision: int) -> Iterable[Record]:
        for key, versions in self._versions.items():
            if key > keys.after and matches(keys.prefix, key):
                newest = bisect_right(versions, revision, key=_revision) - 1
                if newest >= 0 and not versions[newest].deleted:
                    yield versions[newest]
