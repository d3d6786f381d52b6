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

from inkube.storage.errors import Compacted

# A new log is as if it had been compacted up to here, so that clients who make up small revisions
# are told "expired", as by a server that has lived for a while.
FIRST_REVISION = 100


class Record(NamedTuple):
    """One row: the state of `key` from `revision` on, or, when `deleted`, its last state.

    `previous` is the revision of the state before, 0 if the key did not exist. `time` is the time
    of the write by the writer's clock, in microseconds since 1970; 0 if it is unknown.
    """

    revision: int
    key: str
    previous: int
    created: int
    deleted: bool
    data: bytes
    time: int


class Horizon(NamedTuple):
    """The moments that can be read: from `compacted` to `newest`, both included."""

    compacted: int
    newest: int


class Missed(NamedTuple):
    """The changes that other processes appended, how far they compacted, and the newest revision.
    It is older than the requested one if the log went back, for example in a restored database."""

    records: Sequence[Record]
    compacted: int
    newest: int


class Rows(NamedTuple):
    """Records as columns, as a start reads them."""

    revisions: Sequence[int]
    keys: Sequence[str]
    created: Sequence[int]
    deleted: Collection[int]
    """The revisions of deletions among them."""
    data: Sequence[bytes]
    compacted: Sequence[int]
    """The revision up to which the log is compacted: at least one item, all equal."""

    def parts(self, size: int) -> Iterator[Self]:
        """The same in parts of that many rows."""
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
    """All that a log holds at one moment, records in the order of revisions; shared, for nothing
    in it ever changes."""

    records: Sequence[Record]
    compacted: int

    @property
    def newest(self) -> int:
        """The revision it was taken at."""
        return max(self.compacted, self.records[-1].revision if self.records else 0)


class Range(NamedTuple):
    """Part of the keys under `prefix`: those after `after`, at most `limit` (0: all)."""

    prefix: str
    after: str = ""
    limit: int = 0

    @property
    def interval(self) -> tuple[str, str]:
        """The half-open interval of keys it may hold."""
        low, high = bounds(self.prefix)
        return max(low, self.after + "\0") if self.after else low, high


class Transaction(Protocol):
    """The write lock, held. Leaving the block commits; an exception inside it rolls back."""

    async def missed(self, revision: int, limit: int) -> Missed:
        """The first `limit` records after `revision`; fewer are all there are."""
        ...

    async def append(self, records: Sequence[Record]) -> None:
        """Add records, in the order of their revisions, which follow the newest."""
        ...


class Log(Protocol):
    """Every method but `open` needs an open log and may raise LogError."""

    @property
    def immediate(self) -> bool:
        """Whether no method ever suspends, so that a write may be committed where it is asked."""
        ...

    @property
    def shared(self) -> bool:
        """Whether other processes may append too."""
        ...

    @property
    def optimistic(self) -> bool:
        """Whether `append_next` costs less than a transaction."""
        ...

    @property
    def poll(self) -> float:
        """After how many seconds at most others' writes are to be looked for."""
        ...

    @property
    def often(self) -> float:
        """The same while there are some."""
        ...

    @property
    def failure(self) -> str:
        """Why the log cannot be written at the moment, as far as is known; empty while it can."""
        ...

    async def open(self) -> None:
        """Make it ready, created if need be."""
        ...

    async def close(self) -> None:
        """Let go of everything; may be called twice."""
        ...

    async def horizon(self) -> Horizon:
        """The range of revisions that can be read."""
        ...

    def begin(self) -> AbstractAsyncContextManager[Transaction]:
        """Take the write lock; raises Locked when it is not to be had in time."""
        ...

    async def append_next(self, after: int, records: Sequence[Record]) -> bool:
        """Commit records if `after` is the newest revision; False when it is not, and for a log
        that is not optimistic."""
        ...

    async def missed(self, revision: int, limit: int) -> Missed:
        """As in a transaction, without the lock; cheap when nothing happened."""
        ...

    async def rows(self, revision: int, limit: int) -> Rows:
        """As `missed`, with as little work for each row as can be."""
        ...

    def glance(self) -> int | None:
        """The newest revision that any process committed (0: the log is empty), if the log can tell
        within microseconds; None if `newest` is needed."""
        ...

    async def newest(self) -> int:
        """The newest revision that any process committed, also if that takes a query."""
        ...

    async def news(self, revision: int, within: float) -> int:
        """Wait until something newer than `revision` may be there: what was heard of, or 0 when
        `within` seconds are over."""
        ...

    async def changes(
        self, prefix: str, after: int, limit: int
    ) -> Sequence[tuple[Record, Record | None]]:
        """The first `limit` records under `prefix` after a revision, each with the one before it.

        Raises Compacted.
        """
        ...

    async def at(self, keys: Range, revision: int) -> Sequence[Record]:
        """The entries at a revision, in the order of keys. Raises Compacted."""
        ...

    async def grown(self, keys: Range, after: int, until: int) -> int:
        """How many more of the keys live at `until` than did at `after`; the range's limit does
        not count. Raises Compacted."""
        ...

    async def before(self, time: int) -> int:
        """The last revision before the first that was written after `time` (as in Record)."""
        ...

    async def compact(self, revision: int) -> int:
        """Forget what cannot be seen at `revision` or later; how far was compacted.

        A revision already past is ignored. It may end before `revision` when another process
        compacts, too.
        """
        ...


def matches(prefix: str, key: str) -> bool:
    """Whether a key is under a prefix."""
    return key.startswith(prefix) if prefix.endswith("/") else key == prefix


def bounds(prefix: str) -> tuple[str, str]:
    """The half-open interval of keys under a prefix."""
    # "0" is the character after "/", NUL the smallest that can follow a whole key.
    return (prefix, prefix[:-1] + "0") if prefix.endswith("/") else (prefix, prefix + "\0")


_revision = attrgetter("revision")
EMPTY = Snapshot((), FIRST_REVISION)


class MemoryLog:
    """A log for one process, gone with it. It may be closed and opened again by a next store.

    It may begin with a snapshot of any log: the records are shared, what changes is its own.
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
        """See Log."""

    async def close(self) -> None:
        """See Log."""

    async def horizon(self) -> Horizon:
        """See Log."""
        return Horizon(self._compacted, self._newest)

    def begin(self) -> AbstractAsyncContextManager[Transaction]:
        """See Log; the one append of the writer is its last step, so nothing needs undoing."""
        return nullcontext(self)

    async def missed(self, revision: int, limit: int) -> Missed:
        """See Log; another store in this process may share the log."""
        if revision == self._newest:
            return Missed((), self._compacted, self._newest)
        if revision < self._compacted:  # what lived then has older records than are in order
            kept = (record for versions in self._versions.values() for record in versions)
            newer = sorted((each for each in kept if each.revision > revision), key=_revision)
            return Missed(newer[:limit], self._compacted, self._newest)
        return Missed(self._after(revision)[:limit], self._compacted, self._newest)

    async def rows(self, revision: int, limit: int) -> Rows:
        """See Log."""
        found = await self.missed(revision, limit)
        columns = zip(*found.records, strict=True) if found.records else [()] * len(Record._fields)
        revisions, keys, _, created, deleted, data, _ = columns
        gone = tuple(compress(revisions, deleted))
        return Rows(revisions, keys, created, gone, data, (found.compacted,))

    async def append_next(self, after: int, records: Sequence[Record]) -> bool:
        """See Log: there is nothing to save."""
        return False

    def glance(self) -> int | None:
        """See Log."""
        return self._newest

    async def newest(self) -> int:
        """See Log."""
        return self._newest

    async def news(self, revision: int, within: float) -> int:
        """See Log. Never called, because this log is not shared."""
        await asyncio.sleep(within)
        return 0

    async def append(self, records: Sequence[Record]) -> None:
        """See Transaction."""
        self._records.extend(records)
        self._newest = records[-1].revision
        for record in records:
            self._versions.setdefault(record.key, []).append(record)

    async def changes(
        self, prefix: str, after: int, limit: int
    ) -> Sequence[tuple[Record, Record | None]]:
        """See Log."""
        self._check(after)
        found: list[tuple[Record, Record | None]] = []
        for record in self._after(after):
            if matches(prefix, record.key):
                found.append((record, self._exactly(record.key, record.previous)))
                if len(found) == limit:
                    break
        return found

    async def at(self, keys: Range, revision: int) -> Sequence[Record]:
        """See Log."""
        self._check(revision)
        found = sorted(self._living(keys, revision), key=attrgetter("key"))
        return found[: keys.limit] if keys.limit else found

    async def grown(self, keys: Range, after: int, until: int) -> int:
        """See Log."""
        self._check(after)
        low, high = keys.interval
        return sum(
            (not record.deleted) - (record.previous > 0)
            for record in self._after(after)
            if record.revision <= until and low <= record.key < high
        )

    async def before(self, time: int) -> int:
        """See Log."""
        kept = (record for versions in self._versions.values() for record in versions)
        later = (record.revision for record in kept if record.time > time)
        return min(later, default=self._newest + 1) - 1

    async def compact(self, revision: int) -> int:
        """See Log."""
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
