"""Two stores on one file, like two server processes: one order of writes for both."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from patience import SECONDS, within

from inkube.storage import errors
from inkube.storage.cache import CacheOptions
from inkube.storage.compaction import CompactionOptions, Compactor
from inkube.storage.log import FIRST_REVISION
from inkube.storage.sql.postgresql import PostgresqlDatabase, postgresql_log
from inkube.storage.store import Store, StoreOptions

SOON = 0.01


@pytest.fixture
async def pair(shared: Any) -> tuple[Store, Store]:
    return await shared.open(poll=SOON), await shared.open(poll=SOON)


async def test_each_sees_what_the_other_wrote(pair: tuple[Store, Store]):
    here, there = pair
    entry = await here.create("/r/a", {"v": 1})
    await there.reached(entry.revision)
    seen = there.get("/r/a")
    assert seen is not None
    assert (seen.revision, seen.data) == (entry.revision, entry.data)
    gone = await there.delete("/r/a", seen.revision)
    await here.reached(gone.revision)
    assert here.get("/r/a") is None


async def test_preconditions_hold_against_what_the_other_has_just_written(shared: Any):
    here, there = await shared.open(poll=1_000), await shared.open(poll=1_000)
    entry = await here.create("/r/a", {"v": 1})
    with pytest.raises(errors.AlreadyExists):
        await there.create("/r/a", {})
    await there.update("/r/a", {"v": 2}, entry.revision)
    with pytest.raises(errors.Conflict) as refused:
        await here.update("/r/a", {"v": 3}, entry.revision)
    assert refused.value.current.value["v"] == 2


async def test_a_dry_run_looks_at_what_the_other_has_written(shared: Any):
    here, there = await shared.open(poll=1_000), await shared.open(poll=1_000)
    await here.create("/r/a", {})
    with pytest.raises(errors.AlreadyExists):
        await there.dry_run().create("/r/a", {})


async def test_a_revision_of_the_other_can_be_read_at_once(shared: Any):
    here, there = await shared.open(poll=1_000), await shared.open(poll=1_000)
    entry = await here.create("/r/a", {})
    page = await there.page("/r/", revision=entry.revision)
    assert [e.data for e in page.entries] == [entry.data]


async def test_concurrent_writers_of_both_get_revisions_without_holes_or_doubles(
    pair: tuple[Store, Store],
):
    here, there = pair
    entries = await asyncio.gather(
        *(here.create(f"/r/here{n}", {}) for n in range(150)),
        *(there.create(f"/r/there{n}", {}) for n in range(150)),
    )
    revisions = sorted(entry.revision for entry in entries)
    assert revisions == list(range(FIRST_REVISION + 1, FIRST_REVISION + 301))
    await asyncio.gather(here.reached(revisions[-1]), there.reached(revisions[-1]))
    assert [e.data for e in here.list("/r/")] == [e.data for e in there.list("/r/")]


async def test_of_creates_of_one_key_on_both_one_wins(pair: tuple[Store, Store]):
    outcomes = await asyncio.gather(
        *(store.create(f"/r/{n}", {}) for n in range(20) for store in pair), return_exceptions=True
    )
    assert sum(isinstance(outcome, errors.AlreadyExists) for outcome in outcomes) == 20


async def test_a_watch_receives_the_changes_of_both_in_one_order(pair: tuple[Store, Store]):
    here, there = pair
    with here.subscribe("/r/") as one, there.subscribe("/r/") as other:
        for n in range(10):
            await pair[n % 2].create(f"/r/{n}", {})
        told: list[list[int]] = []
        for subscription in (one, other):
            revisions: list[int] = []
            while len(revisions) < 10:
                revisions += [change.revision for change in await subscription.next_batch()]
            told.append(revisions)
    assert told[0] == told[1] == list(range(FIRST_REVISION + 1, FIRST_REVISION + 11))


async def test_changes_of_the_other_have_their_previous_state(shared: Any):
    here, there = await shared.open(poll=SOON), await shared.open(poll=1_000)
    with here.subscribe("/r/") as subscription:
        first = await there.create("/r/a", {"v": 1})
        second = await there.update("/r/a", {"v": 2}, first.revision)
        await there.delete("/r/a", second.revision)
        await there.create("/r/a", {"v": 3})
        await here.reached(there.revision)
        told = await subscription.waiting()
    assert [change.type for change in told] == ["ADDED", "MODIFIED", "DELETED", "ADDED"]
    previous = [change.previous and change.previous.revision for change in told]
    assert previous == [None, first.revision, second.revision, None]


async def test_compaction_by_the_other_is_noticed(pair: tuple[Store, Store]):
    here, there = pair
    entry = await here.create("/r/a", {})
    await here.create("/r/b", {})
    await there.reached(here.revision)
    await here.compact(here.revision)
    last = await here.create("/r/c", {})
    await there.reached(last.revision)
    assert there.compacted == here.compacted
    with pytest.raises(errors.Compacted):
        await there.page("/r/", revision=entry.revision)


async def test_a_server_that_missed_a_compaction_loads_again_and_ends_its_watches(shared: Any):
    awake, asleep = await shared.open(poll=1_000), await shared.open(poll=1_000)
    for task in asleep._tasks:
        task.cancel()
    await asyncio.gather(*asleep._tasks, return_exceptions=True)
    subscription = asleep.subscribe("/r/")
    a = await awake.create("/r/a", {})
    await awake.create("/r/b", {})
    deleted = await awake.delete("/r/a", a.revision)
    await awake.compact(awake.revision)
    entry = await asleep.create("/r/c", {})
    await awake.current()  # the notification of a write may arrive before its response
    assert entry.revision == deleted.revision + 1
    assert [e.key for e in asleep.list("/r/")] == ["/r/b", "/r/c"]
    with pytest.raises(errors.Compacted):
        await subscription.next_batch()


async def test_a_deletion_is_noticed_however_long_one_slept(shared: Any):
    awake, asleep = await shared.open(poll=1_000), await shared.open(poll=1_000)
    now = 0.0
    compactor = Compactor(awake, CompactionOptions(age=300), lambda: now)
    entry = await asleep.create("/r/a", {})
    async with asleep._writer._lock:
        await awake.current()
        other = await awake.create("/r/b", {})
        await awake.delete("/r/b", other.revision)
        await awake.delete("/r/a", entry.revision)
        await compactor.look()
        now = 301.0
        await compactor.look()
        assert awake.compacted > entry.revision
    await asleep.current()
    assert asleep.get("/r/a") is None
    newest = awake.revision
    assert (await asleep.create("/r/c", {})).revision == newest + 1


async def test_a_backlog_may_come_from_before_this_store_was_opened(shared: Any):
    here = await shared.open()
    for n in range(1_200):
        await here.create(f"/r/{n:04}", {}) if n % 400 == 0 else None
    there = await shared.open(cache=CacheOptions(history=1))
    with there.subscribe("/r/", FIRST_REVISION) as subscription:
        told = await subscription.waiting()
    assert [change.type for change in told] == ["ADDED"] * 3


OPENER = """
import asyncio, json, sys
from inkube.storage.sql.postgresql import postgresql_log
from inkube.storage.sql.sqlite import sqlite_log
from inkube.storage.sql.postgresql import PostgresqlDatabase, postgresql_log
from inkube.storage.store import Store, StoreOptions

class Codec:
    def is_sound(self, data: bytes, revision: int) -> bool:
        return True

    def are_sound(self, data: list[bytes], revisions: list[int]) -> bool:
        return True

    def encode(self, value, revision):
        return json.dumps(value).encode()
    decode = staticmethod(json.loads)

async def main(place, name):
    log = postgresql_log(place) if "://" in place else sqlite_log(place)
    async with Store(log, Codec()) as store:
        await asyncio.gather(*(store.create(f"/r/{name}/{n}", {}) for n in range(50)))

asyncio.run(main(*sys.argv[1:]))
"""


def open_in_processes(place: str, count: int) -> list[bytes]:
    """Return the errors of processes that open a log at the same time."""
    command = [sys.executable, "-c", OPENER, place]
    processes = [
        subprocess.Popen([*command, f"p{n}"], stderr=subprocess.PIPE) for n in range(count)
    ]
    return [process.communicate(timeout=SECONDS)[1] for process in processes]


async def test_processes_that_make_one_log_at_once_share_it(shared: Any):
    assert await asyncio.to_thread(open_in_processes, shared.place, 3) == [b""] * 3
    store = await shared.open()
    assert store.count("/r/") == 150
    assert store.revision == FIRST_REVISION + 150


async def test_without_notify_or_prepared_statements_others_are_found_by_looking(
    cluster: Any, codec: Any, monkeypatch: pytest.MonkeyPatch
):
    async def quiet(self: Any, driver: Any) -> bool:
        return True

    monkeypatch.setattr(PostgresqlDatabase, "_has_no_notify", quiet)
    url = f"{await cluster.database()}?statement_cache_size=0"
    options = StoreOptions(poll=SOON)
    async with (
        Store(postgresql_log(url), codec, options) as here,
        Store(postgresql_log(url), codec, options) as there,
    ):
        entry = await here.create("/r/a", {})
        await there.reached(entry.revision)
        await there.delete("/r/a", entry.revision)
        await here.current()
        assert here.get("/r/a") is None


async def test_a_store_receives_changes_of_other_processes_without_polling(
    cluster: Any, codec: Any
):
    url = await cluster.database()
    options = StoreOptions(poll=1_000)
    async with (
        Store(postgresql_log(url), codec, options) as here,
        Store(postgresql_log(url), codec, options) as there,
    ):
        await there.current()  # from now on it listens
        entry = await here.create("/r/a", {})
        async with within():  # much less than the poll interval
            await there.reached(entry.revision)


async def test_requests_of_one_turn_share_one_read_of_the_newest_revision(
    shared: Any, monkeypatch: pytest.MonkeyPatch
):
    here, there = await shared.open(poll=1_000), await shared.open(poll=1_000)
    asked = 0
    glance = there._log.glance

    def counting() -> Any:
        nonlocal asked
        asked += 1
        return glance()

    monkeypatch.setattr(there._log, "glance", counting)
    await there.recent()  # from here on, in turns of its own
    await asyncio.sleep(0)
    if not await there.look():
        pytest.skip("this log is asked with a query, which all waiting reads share")
    asked = 0
    await asyncio.sleep(0)
    await asyncio.gather(*(there.recent() for _ in range(16)))
    assert asked == 1
    entry = await here.create("/r/a", {})
    await there.recent()
    assert there.revision == entry.revision


async def test_what_was_confirmed_before_a_turn_is_read_in_it(shared: Any):
    """Each of some clients writes with one of two stores and reads with the other, at once."""
    both = await shared.open(poll=1_000), await shared.open(poll=1_000)

    async def client(number: int) -> None:
        for step in range(20):
            here, there = both if (number + step) % 2 else reversed(both)
            key = f"/r/{number}-{step}"
            await here.create(key, {})
            await there.recent()
            assert there.get(key) is not None

    await asyncio.gather(*map(client, range(8)))
