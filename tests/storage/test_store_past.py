"""Lists: order, revision, pages, and the limit of the past, on every backend."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from patience import SECONDS

from inkube.storage import errors
from inkube.storage.cache import CacheOptions
from inkube.storage.compaction import CompactionOptions, Compactor
from inkube.storage.log import FIRST_REVISION, MemoryLog
from inkube.storage.sql.sqlite import sqlite_log
from inkube.storage.store import Entry, Store

# With so little history, the past is read from the log.
FORGETFUL = CacheOptions(history=2)


@pytest.fixture(params=[CacheOptions(), FORGETFUL], ids=["from history", "from the log"])
async def past(request: pytest.FixtureRequest, backend: Any) -> Any:
    return await backend.open(cache=request.param)


def names(entries: Sequence[Entry]) -> list[str]:
    return [entry.key.rpartition("/")[2] for entry in entries]


async def test_keys_are_in_the_order_of_their_bytes(store: Store):
    keys = ["/r/w/b/x", "/r/w/b-c/x", "/r/w/a/z", "/r/w/a/é", "/r/w/a/Z", "/r/w/b/x.y", "/r/v/q/1"]
    for key in keys:
        await store.create(key, {})
    expected = sorted(keys, key=str.encode)
    assert [entry.key for entry in store.list("/r/")] == expected
    assert [entry.key for entry in store.list("/r/w/")] == expected[1:]


async def test_a_prefix_without_a_slash_is_one_key(store: Store):
    for key in ("/r/w/a", "/r/w/ab", "/r/w/a/b"):
        await store.create(key, {})
    assert [entry.key for entry in store.list("/r/w/a")] == ["/r/w/a"]
    assert store.count("/r/w/a") == 1
    assert store.count("/r/w/a/") == 1
    assert store.count("/r/w/") == 3


async def test_a_list_at_a_revision_shows_that_moment(past: Store):
    a = await past.create("/r/a", {"v": 1})
    b = await past.create("/r/b", {"v": 1})
    a2 = await past.update("/r/a", {"v": 2}, a.revision)
    gone = await past.delete("/r/b", b.revision)
    c = await past.create("/r/c", {"v": 1})
    b2 = await past.create("/r/b", {"v": 2})

    async def versions(revision: int) -> list[int]:
        return [entry.revision for entry in (await past.page("/r/", revision=revision)).entries]

    assert await versions(FIRST_REVISION) == []
    assert await versions(a.revision) == [a.revision]
    assert await versions(b.revision) == [a.revision, b.revision]
    assert await versions(a2.revision) == [a2.revision, b.revision]
    assert await versions(gone.revision) == [a2.revision]
    assert await versions(c.revision) == [a2.revision, c.revision]
    assert await versions(b2.revision) == [a2.revision, b2.revision, c.revision]


async def test_a_past_state_has_its_value_and_its_creation(past: Store):
    first = await past.create("/r/a", {"v": 1})
    second = await past.update("/r/a", {"v": 2}, first.revision)
    await past.delete("/r/a", second.revision)
    (entry,) = (await past.page("/r/a", revision=second.revision)).entries
    assert (entry.value["v"], entry.created, entry.data) == (2, first.revision, second.data)
    assert (await past.page("/r/a", revision=past.revision)).entries == []


async def test_pages_of_one_revision_make_one_list_while_others_write(past: Store):
    for n in range(25):
        await past.create(f"/r/{n:03}", {"n": n})
    page = await past.page("/r/", limit=10)
    seen, revision = names(page.entries), page.revision
    assert page.remaining == 15
    for n in range(0, 25, 3):
        entry = past.get(f"/r/{n:03}")
        assert entry is not None
        await past.delete(entry.key, entry.revision)
        await past.create(f"/r/{n:03}x", {})
    while page.remaining:
        page = await past.page("/r/", limit=10, after=page.entries[-1].key, revision=revision)
        seen += names(page.entries)
    assert seen == [f"{n:03}" for n in range(25)]


async def test_the_newest_change_of_a_prefix_may_be_a_deletion(store: Store):
    a = await store.create("/r/a/x", {})
    b = await store.create("/r/b/x", {})
    assert (store.newest("/r/a/"), store.newest("/r/")) == (a.revision, b.revision)
    gone = await store.delete("/r/a/x", a.revision)
    assert store.newest("/r/a/") == gone.revision
    assert store.newest("/other/") == 0


async def test_the_future_cannot_be_read(store: Store):
    with pytest.raises(errors.FutureRevision) as refused:
        await store.page("/r/", revision=store.revision + 1)
    assert refused.value.newest == store.revision


async def test_before_a_new_store_all_is_compacted(store: Store):
    assert store.compacted == store.revision == FIRST_REVISION
    with pytest.raises(errors.Compacted):
        await store.page("/r/", revision=1)
    with pytest.raises(errors.Compacted):
        store.subscribe("/r/", 1)


class TestCompaction:
    """Compacted revisions cannot be read; others are read as before."""

    async def test_reads_before_a_compaction_are_refused(self, past: Store):
        a = await past.create("/r/a", {})
        await past.create("/r/b", {})
        await past.compact(a.revision + 1)
        assert past.compacted == a.revision + 1
        with pytest.raises(errors.Compacted) as refused:
            await past.page("/r/", revision=a.revision)
        assert refused.value.compacted == a.revision + 1
        with pytest.raises(errors.Compacted):
            await past.page("/r/", limit=5, revision=a.revision)
        with pytest.raises(errors.Compacted):
            past.subscribe("/r/", a.revision)

    async def test_reads_after_a_compaction_are_unchanged(self, past: Store):
        entries = [await past.create(f"/r/{n}", {"n": n}) for n in range(6)]
        for n in (0, 2, 4):
            await past.delete(entries[n].key, entries[n].revision)
        for n in (1, 3):
            await past.update(entries[n].key, {"n": "new"}, entries[n].revision)
        moments = range(entries[-1].revision + 2, past.revision + 1)
        before = [[e.data for e in (await past.page("/r/", revision=m)).entries] for m in moments]
        await past.compact(moments[0])
        after = [[e.data for e in (await past.page("/r/", revision=m)).entries] for m in moments]
        assert after == before

    async def test_compacting_to_the_newest_keeps_what_lives(self, backend: Any):
        store = await backend.open()
        a = await store.create("/r/a", {"v": 1})
        b = await store.create("/r/b", {"v": 1})
        await store.delete("/r/b", b.revision)
        await store.compact(store.revision)
        newest = store.revision
        await store.close()
        again = await backend.open()
        assert (again.revision, again.compacted) == (newest, newest)
        assert [entry.data for entry in again.list("/r/")] == [a.data]

    async def test_what_cannot_be_seen_any_more_takes_no_room(self, tmp_path: Path, codec: Any):
        path = tmp_path / "inkube.db"
        memory = MemoryLog()
        for log in (memory, sqlite_log(path)):
            async with Store(log, codec) as store:
                a, b = await store.create("/r/a", {}), await store.create("/r/b", {})
                await store.update("/r/b", {}, b.revision)
                await store.delete("/r/a", a.revision)
                await store.compact(store.revision)
        kept = [(FIRST_REVISION + 3, "/r/b")]
        with sqlite3.connect(path) as file:
            assert file.execute("SELECT revision, key FROM log").fetchall() == kept
        file.close()
        versions = [record for records in memory._versions.values() for record in records]
        assert [(record.revision, record.key) for record in versions] == kept
        assert (list(memory._versions), memory._records) == (["/r/b"], [])

    async def test_compacting_twice_or_backwards_changes_nothing(self, store: Store):
        a = await store.create("/r/a", {})
        await store.compact(a.revision)
        await store.compact(a.revision)
        await store.compact(a.revision - 1)
        assert store.compacted == a.revision

    async def test_the_future_cannot_be_compacted(self, store: Store):
        with pytest.raises(errors.FutureRevision):
            await store.compact(store.revision + 1)

    async def test_a_key_recreated_after_compaction_is_new(self, past: Store):
        a = await past.create("/r/a", {})
        await past.delete("/r/a", a.revision)
        await past.compact(past.revision)
        again = await past.create("/r/a", {})
        assert again.created == again.revision
        assert names((await past.page("/r/", revision=past.revision)).entries) == ["a"]

    async def test_many_revisions_are_compacted_in_steps(self, store: Store):
        await asyncio.gather(*(store.create(f"/r/{n}", {}) for n in range(1_200)))
        for entry in store.list("/r/")[::2]:
            await store.delete(entry.key, entry.revision)
        await store.compact(store.revision)
        assert store.count("/r/") == 600
        assert len((await store.page("/r/", revision=store.revision)).entries) == 600


class TestCompactor:
    """Old revisions are compacted by age and by number."""

    async def test_what_is_older_than_the_age_is_given_up(self, store: Store):
        now = 0.0
        compactor = Compactor(store, CompactionOptions(age=300), lambda: now)
        old = await store.create("/r/a", {})
        await compactor.look()
        now = 299.0
        await store.create("/r/b", {})
        await compactor.look()
        assert store.compacted == FIRST_REVISION
        now = 301.0
        await compactor.look()
        assert store.compacted == old.revision

    async def test_the_newest_revision_is_never_given_up(self, store: Store):
        now = 0.0
        compactor = Compactor(store, CompactionOptions(age=300), lambda: now)
        entry = await store.create("/r/a", {})
        await store.delete("/r/a", entry.revision)
        await compactor.look()
        now = 301.0
        await compactor.look()
        assert store.compacted == entry.revision

    async def test_what_is_more_than_the_amount_is_given_up(self, store: Store):
        compactor = Compactor(store, CompactionOptions(revisions=10), lambda: 0.0)
        for n in range(15):
            await store.create(f"/r/{n}", {})
        await compactor.look()
        assert store.compacted == store.revision - 10

    async def test_a_store_compacts_itself_when_too_much_gathers(self, backend: Any):
        store = await backend.open(compaction=CompactionOptions(revisions=100))
        while store.compacted == FIRST_REVISION:
            await store.create(f"/r/{store.revision}", {})
            await asyncio.sleep(0)
        assert store.revision - store.compacted <= 130


class FullStore:
    """A store that refuses to compact until the test allows it."""

    revision, compacted = 1000, 0

    def __init__(self):
        self.tries = 0
        self.full = True
        self.enough = asyncio.Event()

    async def reached(self, revision):
        """It is over its limit until it is compacted."""
        if revision > self.revision:
            await asyncio.Event().wait()

    async def compact(self, revision):
        self.tries += 1
        if self.full:
            raise errors.LogError("the disk is full")
        self.compacted = revision
        self.enough.set()


async def test_a_failing_compaction_backs_off_and_is_logged_once(caplog):
    store = FullStore()
    options = CompactionOptions(revisions=10, interval=0.02)
    task = asyncio.create_task(Compactor(store, options, lambda: 0.0).run())
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(store.enough.wait(), 0.5)
    assert store.tries <= 6
    store.full = False
    await asyncio.wait_for(store.enough.wait(), SECONDS)
    task.cancel()
    told = [record.getMessage() for record in caplog.records]
    assert sum("compaction failed" in text for text in told) == 1
