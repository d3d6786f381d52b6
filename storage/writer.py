"""The one writer of this process: it commits every write, in groups.

    submit() → bounded queue → [lock, catch up, check, append, commit] → publish → answer

A write completes only after its commit. While one group is committed, the next one collects, so
with more concurrent clients, more writes share a commit.
"""

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from inkube.storage import fences, writes
from inkube.storage.cache import Cache
from inkube.storage.durations import Durations
from inkube.storage.entry import Change, Entries, Entry, EntryCodec
from inkube.storage.errors import Closed, PreconditionError, ReadOnly, Unsent
from inkube.storage.loading import Loading
from inkube.storage.log import Head, Horizon, Log, Missed, Record, digest
from inkube.storage.pending import Consent, PendingBatch

# Rows of one query: for changes of other processes, and for the whole log at a start.
FOLLOWED, LOADED = 1_000, 5_000
# Rows of a start that are processed before other tasks run.
ADDED = 1_000
# Writes committed in a row before subscribers run: far fewer than fit into their queues.
TURN = 256
# Seconds that a group waits for as many batches as last time. A single writer does not wait.
LINGER = 0.003


MAX_REPORTED_KEYS = 100  # the most damaged keys that one message contains

logger = logging.getLogger(__name__)


class WriterOptions(NamedTuple):
    """The limits of a writer: `pending` writes wait in the queue (further callers wait outside),
    and one commit contains at most `group` writes. With `read_only`, all writes are refused."""

    pending: int = 4_096
    group: int = 1_024
    read_only: bool = False


class Progress(NamedTuple):
    """The progress of a start: the objects in memory, the last revision that was read, and the
    newest one."""

    objects: int
    revision: int
    newest: int


class _Behind(Exception):
    """Another process compacted changes that this process has not read. The whole log must be
    loaded again."""


class _Lost(Exception):
    """The log lost changes that this process has read: its history is another one. It must begin an
    epoch, and then be loaded again."""


class Writer:
    """Appends to the log, and keeps the cache equal to the log. `now` returns
    seconds since 1970."""

    def __init__(
        self,
        log: Log,
        cache: Cache,
        coder: EntryCodec,
        options: WriterOptions,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._now = now
        self._read_only = options.read_only
        self._log = log
        self._cache = cache
        self._coder = coder
        self._group = min(options.group, TURN) if log.immediate else options.group
        self._queue: deque[PendingBatch] = deque()
        self._places = asyncio.Semaphore(options.pending)
        self._lock = asyncio.Lock()
        self._work_available = asyncio.Event()
        self._expected = 1
        """The number of batches in the queue at which the writer is woken."""
        self._closed = False
        self.durations = Durations()
        self.progress: Progress | None = None
        """The progress while the whole log is read, else None."""
        self._digest = 0
        """The digest of the row at the revision of the cache, or 0 if it is unknown."""
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop
        """The event loop, set at the start: up to Python 3.11, a query for the running loop is a
        system call."""

    async def start(self) -> None:
        """Fill the cache, and begin to process the queue."""
        self._loop = asyncio.get_running_loop()
        await self._log.open()
        await self._load()
        self._task = asyncio.create_task(self._serve(), name="inkube-storage-writer")

    async def close(self) -> None:
        """Complete the writes in the queue, and refuse all others."""
        self._closed = True
        self._work_available.set()
        if self._task is not None:
            await self._task

    async def write(self, *batch: writes.Write, consent: Consent | None = None) -> Entries:
        """Commit writes together, and return their entries. If one write is refused, all are.

        Raises PreconditionError, ReadOnly, Closed, LogError, the exceptions of the caller's fence,
        and CancelledError without consent.
        """
        return await (await self.submit(*batch, consent=consent))

    async def submit(self, *batch: writes.Write, consent: Consent | None = None) -> PendingBatch:
        """Submit a batch, which is written after all batches before it. The result completes with
        the commit.

        Raises ReadOnly, Closed; the result raises PreconditionError, Closed, LogError, and the
        exceptions of the caller's fence.
        """
        self._check_open()
        if self._read_only:
            raise ReadOnly(self._cache.revision)
        pending = PendingBatch(batch, fences.current(), self._loop.create_future(), consent)
        await self._places.acquire()  # released with the response
        if self._closed:
            self._places.release()
            raise Closed
        self._queue.append(pending)
        if len(self._queue) >= self._expected:
            self._work_available.set()
        return pending

    async def catch_up(self, revision: int = 0) -> bool:
        """Publish the changes that other processes appended, if `revision` is 0 or newer than the
        cache.

        Returns whether any were published. Raises LogError.
        """
        if not self._log.shared:
            return False
        async with self._lock:
            before = self._cache.revision
            if revision and before >= revision:
                return False
            try:
                await self._follow(self._log.missed)
            except _Behind:
                await self._load()
            except _Lost:
                await self._begin_epoch()
                await self._load()
            return self._cache.revision > before

    def is_other(self, newest: Head) -> bool:
        """Return whether the row is known to be another one than the cache has at its revision."""
        if newest.revision != self._cache.revision:
            return False
        return bool(newest.digest and self._digest) and newest.digest != self._digest

    async def compact(self, revision: int) -> None:
        """Remove the states that cannot be read at `revision` or later. Writers continue between
        its steps."""
        compacted = await self._log.compact(revision)
        self._cache.compacted = max(self._cache.compacted, compacted)

    def _check_open(self) -> None:
        if self._closed:
            raise Closed

    async def _serve(self) -> None:
        expected = 1
        while not self._closed or self._queue:
            await self._work_available.wait()
            self._work_available.clear()
            while self._queue:
                await self._gather(expected)
                group = self._take()
                try:
                    await self._set_results(group)
                finally:
                    for _ in group:
                        self._places.release()
                expected = len(group) + len(self._queue)
                del group  # so that it is not kept in memory while no client writes

    def _take(self) -> list[PendingBatch]:
        """Remove the next group from the queue and return it: one batch, and more up to `group`
        writes."""
        group = [self._queue.popleft()]
        size = len(group[0].batch)
        while self._queue and size + len(self._queue[0].batch) <= self._group:
            group.append(self._queue.popleft())
            size += len(group[-1].batch)
        return group

    async def _gather(self, expected: int) -> None:
        """Wait for the batches of this iteration of the loop, and on a slow log also for the
        clients that were just answered: many of them write again, and few large commits cost
        least."""
        await asyncio.sleep(0)
        if self._log.immediate:
            return
        if len(self._queue) >= expected or self._closed:
            return
        self._expected = expected
        self._work_available.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                await self._work_available.wait()
        self._expected = 1

    async def _set_results(self, group: Sequence[PendingBatch]) -> None:
        active = [pending for pending in group if pending.begin()]
        try:
            outcomes: Sequence[Entries | Exception] = await self._commit(active)
        except BaseException as error:
            failure = error if isinstance(error, Exception) else Closed()
            outcomes = [failure] * len(active)
            for pending in active:
                pending.revision = 0
            if not isinstance(error, Exception):
                raise
        finally:
            self._settle(active, outcomes)
            for pending in group:
                pending.forget()

    @staticmethod
    def _settle(group: Sequence[PendingBatch], outcomes: Sequence[Entries | Exception]) -> None:
        for pending, outcome in zip(group, outcomes, strict=True):
            answer = pending.future
            if answer.done():
                continue
            if isinstance(outcome, Exception):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)

    async def _commit(self, group: Sequence[PendingBatch]) -> Sequence[Entries | Exception]:
        async with self._lock:
            try:
                return await self._commit_to_newest(group)
            except Unsent:  # nothing was written, and the next connection is a new one
                return await self._commit_to_newest(group)

    async def _commit_to_newest(
        self, group: Sequence[PendingBatch]
    ) -> Sequence[Entries | Exception]:
        while True:
            try:
                return await self._try_commit(group)
            except _Behind:
                await self._load()
            except _Lost:
                await self._begin_epoch()
                await self._load()

    async def _try_commit(self, group: Sequence[PendingBatch]) -> Sequence[Entries | Exception]:
        begun = time.perf_counter()
        if self._log.optimistic:
            # A write can be refused only because this process has not read the newest changes.
            changes, outcomes = self._check(group)
            expected = sum(len(pending.batch) for pending in group)
            digest = await self._append_next(changes) if len(changes) == expected else None
            if digest is not None:
                self._publish(changes, digest, time.perf_counter() - begun)
                return outcomes
        async with self._log.begin() as transaction:
            await self._follow(transaction.missed)
            changes, outcomes = self._check(group)
            if changes:
                digest = await transaction.append(self._records(changes))
        if changes:
            self._publish(changes, digest or 0, time.perf_counter() - begun)
        return outcomes

    def _publish(self, changes: Sequence[Change], digest: int, seconds: float) -> None:
        self.durations.note(changes, seconds)
        self._digest = digest
        self._cache.publish(changes)

    async def _append_next(self, changes: Sequence[Change]) -> int | None:
        after = Head(self._cache.revision, self._digest)
        return await self._log.append_next(after, self._records(changes))

    def _records(self, changes: Sequence[Change]) -> list[Record]:
        now = int(self._now() * 1_000_000)
        return [writes.record(change, now) for change in changes]

    def _check(
        self, group: Sequence[PendingBatch]
    ) -> tuple[list[Change], list[Entries | Exception]]:
        """Check the batches of a group in order; each write sees the changes of earlier ones.

        Returns all changes, and for each batch its entries or its error.
        """
        changes: list[Change] = []
        outcomes: list[Entries | Exception] = []
        changed: dict[str, Entry | None] = {}
        for pending in group:
            batch_changes: list[Change] = []
            revision = self._cache.revision + len(changes)
            pending.revision = 0
            try:
                if pending.fence is not None:
                    key = pending.fence.key
                    pending.fence.check(changed[key] if key in changed else self._cache.get(key))
                for write in pending.batch:
                    key = write.key
                    current = changed[key] if key in changed else self._cache.get(key)
                    revision += 1
                    batch_changes.append(write.change(current, revision, self._coder))
            except PreconditionError as error:
                # without the traceback: its frames keep the batch, which keeps the error
                outcomes.append(error.with_traceback(None))
                continue
            except Exception as error:  # noqa: BLE001 - it is the answer to this one batch
                outcomes.append(error)
                continue
            changes += batch_changes
            pending.revision = revision
            outcomes.append([change.entry for change in batch_changes])
            for change in batch_changes:
                changed[change.entry.key] = None if change.type == "DELETED" else change.entry
        return changes, outcomes

    async def _follow(self, missed: Callable[[int, int], Awaitable[Missed]]) -> None:
        """Publish the changes that other processes appended. They are committed, even if the
        transaction of this process fails. Raises _Behind, _Lost."""
        while True:
            page = await missed(self._cache.revision, FOLLOWED)
            if page.compacted > self._cache.revision:
                raise _Behind
            if self._is_lost(page):
                raise _Lost
            self._cache.compacted = max(self._cache.compacted, page.compacted)
            if page.records:
                self._accept(page.records)
            if len(page.records) < FOLLOWED:
                return

    def _is_lost(self, page: Missed) -> bool:
        """Return whether the log, read from the revision of the cache on, no longer has the row at
        this revision."""
        if page.newest < self._cache.revision:
            return True
        if page.digest is None:  # no such row: it was compacted, or never written in this history
            return page.compacted < self._cache.revision
        return bool(page.digest and self._digest) and page.digest != self._digest

    async def _begin_epoch(self) -> None:
        """Continue the log with revisions that no client knows, unless another process has done so.
        A client that continues from a lost revision is then refused, by every server."""
        async with self._log.begin() as transaction:
            page = await transaction.missed(self._cache.revision, 1)
            if page.compacted > self._cache.revision or not self._is_lost(page):
                return
            logger.error(
                "the log went back: changes up to revision %d, which were committed and read, are "
                "lost; everything is read anew, and clients list again", self._cache.revision,
            )  # fmt: skip
            await transaction.begin_epoch(self._cache.revision)

    def _accept(self, records: Sequence[Record]) -> None:
        changes: list[Change] = []
        states: dict[str, Entry] = {}
        for record in records:
            previous = states.get(record.key) or self._cache.get(record.key)
            change = writes.change(record, previous, self._coder)
            changes.append(change)
            states[record.key] = change.entry
        self._digest = digest(records[-1]) if self._log.shared else 0
        self._cache.publish(changes)

    async def _load(self) -> None:
        """Read the whole log, from the first revision to the newest, into the cache."""
        while True:
            try:
                loading, newest, compacted = await self._read()
                living = loading.living()
            except _Behind:
                continue  # compacted by another process meanwhile, or the log went back
            if living.damaged:
                logger.error(
                    "damaged and left out: %s", ", ".join(living.damaged[:MAX_REPORTED_KEYS])
                )
            self._digest = newest.digest if newest.revision >= compacted else 0
            horizon = Horizon(compacted, max(newest.revision, compacted))
            self._cache.load(living.entries, horizon, living.damaged)
            self.progress = None
            return

    async def _read(self) -> tuple[Loading, Head, int]:
        """Return all rows, the last of them, and the revision up to which they are compacted."""
        loading = Loading(self._coder)
        revision, begun, newest = 0, 0, 0
        heads: list[Head] = []
        reading = asyncio.ensure_future(self._log.rows(revision, LOADED))
        try:
            while True:
                rows = await reading
                compacted = rows.compacted[0]
                begun = begun or compacted
                # A deletion may be compacted before it is read: its object would stay.
                if compacted > max(begun, revision):
                    raise _Behind
                if rows.revisions:
                    revision = rows.revisions[-1]
                    heads.append(Head(revision, rows.digest))
                is_last = len(rows.revisions) < LOADED
                if not is_last:
                    newest = newest or (await self._log.horizon()).newest
                    reading = asyncio.ensure_future(self._log.rows(revision, LOADED))
                for part in rows.parts(ADDED):
                    await asyncio.sleep(0)  # the next query runs meanwhile, and so do other tasks
                    loading.add(part)
                if is_last:
                    break
                self.progress = Progress(len(loading), revision, newest)
        finally:
            reading.cancel()
        for head in heads[:-1]:  # all parts must be of one history
            base = (await self._log.missed(head.revision, 0)).digest
            if base != head.digest and (base is not None or head.revision > compacted):
                raise _Behind
        return loading, heads[-1] if heads else Head(0), compacted
