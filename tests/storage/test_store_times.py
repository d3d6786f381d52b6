"""The times of revisions, and the past as its own log, on every backend."""

import contextlib
import sqlite3
from typing import Any

import asyncpg
import pytest

from inkube.storage import errors, past
from inkube.storage.log import FIRST_REVISION
from inkube.storage.store import Store, StoreOptions
from inkube.storage.writer import WriterOptions

NOON = 1_700_000_000.0
ALL = 1_000


class Clock:
    """Seconds since 1970, which only the test changes."""

    def __init__(self):
        self.now = NOON

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def timed(backend: Any, codec: Any, clock: Clock) -> Any:
    async with Store(backend.make_log(), codec, now=clock) as store:
        yield store


async def lived(store: Store, clock: Clock) -> list[int]:
    """Return the revisions of five writes, ten seconds apart."""
    a = await store.create("/r/a", {"v": 1})
    clock.now += 10
    b = await store.create("/r/b", {"v": 1})
    clock.now += 10
    a2 = await store.update("/r/a", {"v": 2}, a.revision)
    clock.now += 10
    gone = await store.delete("/r/b", b.revision)
    clock.now += 10.5
    a3 = await store.update("/r/a", {"v": 3}, a2.revision)
    return [each.revision for each in (a, b, a2, gone, a3)]


async def test_every_change_has_the_time_it_was_written_at(timed: Store, clock: Clock):
    revisions = await lived(timed, clock)
    found = await timed.history("/r/", FIRST_REVISION, ALL)
    assert [change.revision for change, _ in found] == revisions
    assert [time - NOON for _, time in found] == [0, 10, 20, 30, 40.5]
    assert [change.type for change, _ in found] == [
        "ADDED", "ADDED", "MODIFIED", "DELETED", "MODIFIED",
    ]  # fmt: skip
    assert found[2][0].previous.value["v"] == 1


async def test_a_history_has_a_beginning_a_length_and_a_prefix(timed: Store, clock: Clock):
    revisions = await lived(timed, clock)
    found = await timed.history("/r/a", revisions[0], 1)
    assert [change.revision for change, _ in found] == [revisions[2]]
    await timed.compact(revisions[2])
    with pytest.raises(errors.Compacted):
        await timed.history("/r/", revisions[0], ALL)


async def newest_at(log: Any, moment: float) -> int:
    """Return the newest revision of the past at a time in seconds since 1970."""
    return (await (await past.copied(log, moment=moment)).horizon()).newest


@contextlib.asynccontextmanager
async def opened(backend: Any) -> Any:
    log = backend.make_log()
    await log.open()
    try:
        yield log
    finally:
        await log.close()


async def test_a_moment_is_the_last_revision_before_it(backend: Any, codec: Any, clock: Clock):
    async with Store(backend.make_log(), codec, now=clock) as store:
        revisions = await lived(store, clock)
        history = await store.history("/r/", FIRST_REVISION, 2)
        assert [time - NOON for _, time in history] == [0, 10]
    async with opened(backend) as log:
        for seconds, revision in (
            (-1, FIRST_REVISION), (0, revisions[0]), (9.999, revisions[0]), (15, revisions[1]),
            (35, revisions[3]), (1_000, revisions[4]),
        ):  # fmt: skip
            assert await newest_at(log, NOON + seconds) == revision


async def test_a_moment_that_was_compacted_cannot_be_read(backend: Any, codec: Any, clock: Clock):
    async with Store(backend.make_log(), codec, now=clock) as store:
        revisions = await lived(store, clock)
        await store.compact(revisions[3])
    async with opened(backend) as log:
        with pytest.raises(errors.Compacted):
            await newest_at(log, NOON + 5)
        assert await newest_at(log, NOON + 35) == revisions[3]
        assert await newest_at(log, NOON + 1_000) == revisions[4]


async def test_without_compaction_nothing_is_forgotten(backend: Any, codec: Any, clock: Clock):
    options = StoreOptions(compaction=None)
    async with Store(backend.make_log(), codec, options, now=clock) as store:
        await lived(store, clock)
        assert store.compacted == FIRST_REVISION


@pytest.fixture
async def old(shared: Any, codec: Any) -> Any:
    """A log from the first version of inkube: without times."""
    async with Store(shared.make_log(), codec) as store:
        await store.create("/r/a", {"v": 1})
    if shared.kind == "sqlite":
        with contextlib.closing(sqlite3.connect(shared.place)) as file:
            file.execute("ALTER TABLE log DROP COLUMN time")
            file.execute("UPDATE meta SET value = 1 WHERE name = 'schema'")
            file.commit()
    else:
        connection = await asyncpg.connect(shared.place)
        try:
            await connection.execute("ALTER TABLE inkube.log DROP COLUMN time")
            await connection.execute("UPDATE inkube.meta SET value = 1 WHERE name = 'schema'")
        finally:
            await connection.close()
    return shared


async def test_an_old_log_is_opened_and_has_times_from_then_on(old: Any, codec: Any, clock: Clock):
    async with Store(old.make_log(), codec, now=clock) as store:
        entry = store.get("/r/a")
        assert entry is not None
        await store.update("/r/a", {"v": 2}, entry.revision)
        found = await store.history("/r/", FIRST_REVISION, ALL)
        assert [time for _, time in found] == [0, NOON]
    async with Store(old.make_log(), codec) as again:
        assert [entry.value["v"] for entry in again.list("/r/")] == [2]


class TestCopies:
    """The past as a log in memory."""

    async def test_a_read_only_store_shows_a_moment_and_its_history(
        self, backend: Any, codec: Any, clock: Clock
    ):
        async with Store(backend.make_log(), codec, now=clock) as store:
            revisions = await lived(store, clock)
            await store.compact(revisions[1])
        async with opened(backend) as source:
            copy = await past.copied(source, revision=revisions[2])
            by_time = await past.copied(source, moment=NOON + 25)
        for log in (copy, by_time):
            async with Store(log, codec) as store:
                assert (store.revision, store.compacted) == (revisions[2], revisions[1])
                assert [(e.key, e.value["v"]) for e in store.list("/r/")] == [
                    ("/r/a", 2),
                    ("/r/b", 1),
                ]
                page = await store.page("/r/a", revision=revisions[1])
                assert [entry.value["v"] for entry in page.entries] == [1]
                assert len(await store.history("/r/", revisions[1], ALL)) == 1

    async def test_moments_that_are_not_there_are_refused(
        self, backend: Any, codec: Any, clock: Clock
    ):
        async with Store(backend.make_log(), codec, now=clock) as store:
            revisions = await lived(store, clock)
            await store.compact(revisions[2])
        async with opened(backend) as source:
            with pytest.raises(errors.Compacted):
                await past.copied(source, revision=revisions[1])
            with pytest.raises(errors.FutureRevision):
                await past.copied(source, revision=revisions[-1] + 1)


async def test_a_store_may_take_no_writes(backend: Any, codec: Any):
    async with Store(backend.make_log(), codec) as store:
        entry = await store.create("/r/a", {"v": 1})
    options = StoreOptions(writer=WriterOptions(read_only=True))
    async with Store(backend.make_log(), codec, options) as store:
        with pytest.raises(errors.ReadOnly):
            await store.update("/r/a", {"v": 2}, entry.revision)
        await store.dry_run().update("/r/a", {"v": 2}, entry.revision)
        assert [each.value["v"] for each in store.list("/r/")] == [1]
