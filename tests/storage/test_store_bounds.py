"""Guarantees of writer and cache: acknowledged means committed, and everything is limited."""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkube.storage import errors
from inkube.storage.cache import CacheOptions
from inkube.storage.columns import Columns
from inkube.storage.entry import Entry
from inkube.storage.index import RUN, Index
from inkube.storage.log import FIRST_REVISION, MemoryLog, Range, Record, bounds, matches
from inkube.storage.store import Store, StoreOptions
from inkube.storage.writer import WriterOptions


class GatedLog(MemoryLog):
    """A log whose commits wait until the test lets them continue or fail."""

    immediate = False

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.groups: list[int] = []
        self.error: Exception | None = None
        self._held: Sequence[Record] = ()

    async def append(self, records: Sequence[Record]) -> int:
        self._held = records
        return 0

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[Any]:
        self._held = ()
        yield self
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        if self._held:
            self.groups.append(len(self._held))
            await super().append(self._held)


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.fixture
async def log() -> GatedLog:
    return GatedLog()


async def test_responses_and_events_follow_the_commit(log: GatedLog, codec: Any):
    async with Store(log, codec) as store:
        with store.subscribe("/r/") as subscription:
            writing = asyncio.ensure_future(store.create("/r/a", {}))
            await turns()
            assert not writing.done()
            assert store.get("/r/a") is None
            assert await subscription.waiting() == []
            log.gate.set()
            entry = await writing
            assert store.get("/r/a") == entry
            assert [change.entry for change in await subscription.next_batch()] == [entry]


async def test_writes_that_wait_are_committed_together(log: GatedLog, codec: Any):
    options = StoreOptions(writer=WriterOptions(group=10))
    async with Store(log, codec, options) as store:
        first = asyncio.ensure_future(store.create("/r/first", {}))
        await turns()
        others = [asyncio.ensure_future(store.create(f"/r/{n}", {})) for n in range(25)]
        await turns()
        log.gate.set()
        await asyncio.gather(first, *others)
    assert log.groups == [1, 10, 10, 5]


async def test_more_writes_than_may_wait_wait_outside_and_are_done_all_the_same(
    log: GatedLog, codec: Any
):
    options = StoreOptions(writer=WriterOptions(pending=4, group=100))
    async with Store(log, codec, options) as store:
        writes = [asyncio.ensure_future(store.create(f"/r/{n}", {})) for n in range(10)]
        await turns()
        log.gate.set()
        await asyncio.gather(*writes)
        assert store.count("/r/") == 10
    assert max(log.groups) <= 4


async def test_writes_of_one_group_see_each_other(log: GatedLog, codec: Any):
    async with Store(log, codec) as store:
        writes = [
            asyncio.ensure_future(write)
            for write in (
                store.create("/r/a", {"v": 1}),
                store.update("/r/a", {"v": 2}, FIRST_REVISION + 1),
                store.update("/r/a", {"v": 3}, FIRST_REVISION + 1),
                store.delete("/r/a", FIRST_REVISION + 2),
                store.create("/r/a", {"v": 4}),
            )
        ]
        await turns()
        log.gate.set()
        outcomes = await asyncio.gather(*writes, return_exceptions=True)
        assert isinstance(outcomes[2], errors.Conflict)
        entry = store.get("/r/a")
        assert entry is not None
        assert (entry.value["v"], entry.created) == (4, FIRST_REVISION + 4)


async def test_a_write_cancelled_before_its_turn_is_not_done(log: GatedLog, codec: Any):
    async with Store(log, codec) as store:
        first = asyncio.ensure_future(store.create("/r/a", {}))
        await turns()
        second = asyncio.ensure_future(store.create("/r/b", {}))
        await turns()
        second.cancel()
        log.gate.set()
        await first
        with pytest.raises(asyncio.CancelledError):
            await second
        await store.create("/r/c", {})
        assert [entry.key for entry in store.list("/r/")] == ["/r/a", "/r/c"]


async def test_a_failed_commit_fails_its_writes_and_leaves_no_trace(log: GatedLog, codec: Any):
    log.gate.set()
    async with Store(log, codec) as store:
        log.error = errors.Unavailable("the disk is full")
        with pytest.raises(errors.Unavailable):
            await store.create("/r/a", {})
        assert store.get("/r/a") is None
        log.error = None
        entry = await store.create("/r/a", {})
    assert entry.revision == FIRST_REVISION + 1


async def test_writers_do_not_starve_readers_of_their_turn(codec: Any):
    async with Store(MemoryLog(), codec) as store:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0)
                ticks += 1

        ticking = asyncio.ensure_future(tick())
        await asyncio.gather(*(store.create(f"/r/{n}", {}) for n in range(2_000)))
        ticking.cancel()
    assert ticks >= 5


async def test_history_is_bounded_by_bytes_too(codec: Any):
    options = StoreOptions(cache=CacheOptions(history_bytes=10_000))
    async with Store(MemoryLog(), codec, options) as store:
        for n in range(50):
            await store.create(f"/r/{n}", {"v": "x" * 1_000})
        assert store._cache._history_bytes <= 10_000
        assert store._cache.since("/", store.revision - 5) is not None
        assert store._cache.since("/", store.revision - 20) is None


async def test_ten_thousand_objects_of_a_kilobyte_cost_little(codec: Any):
    value = {"metadata": {"name": "x"}, "spec": {"text": "x" * 900}}
    tracemalloc.start()
    try:
        async with Store(MemoryLog(), codec) as store:
            for n in range(10_000):
                await store.create(f"/registry/widgets/default/widget-{n:05}", value)
            cost, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert cost < 20 * 2**20


async def test_of_decoded_objects_only_the_latest_are_kept(codec: Any):
    async with Store(MemoryLog(), codec, StoreOptions(decoded=3_000)) as store:
        entries = [await store.create(f"/r/{n}", {"v": "x" * 940}) for n in range(4)]
        values = [entry.value for entry in entries]
        assert entries[-1].value is values[-1]
        assert entries[0].value is not values[0]
        assert entries[0].value == values[0]
        huge = await store.create("/r/huge", {"v": "x" * 5_000})
        assert huge.value is huge.value


async def test_a_replaced_state_is_kept_decoded_until_the_next_change(codec: Any):
    async with Store(MemoryLog(), codec) as store:
        first = await store.create("/r/a", {"v": 1})
        decoded = first.value
        second = await store.update("/r/a", {"v": 2}, first.revision)
        assert first.value is decoded
        newest = second.value
        await store.create("/r/b", {"v": 1})
        assert first.value is not decoded
        assert first.value == decoded
        assert second.value is newest


def entry(key: str, revision: int = 1) -> Entry:
    return Entry(key, revision, 1, b"")


KEYS = st.text(alphabet="/a-.0é", min_size=1, max_size=6)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(KEYS, unique=True),
    st.lists(st.tuples(st.booleans(), KEYS)),
    st.lists(KEYS, min_size=1),
    KEYS,
    st.integers(0, 4),
)
def test_an_index_is_a_sorted_dictionary(
    first: list[str],
    steps: list[tuple[bool, str]],
    prefixes: list[str],
    after: str,
    limit: int,
):
    model = {key: entry(key) for key in sorted(first)}
    index = Index(Columns(entries=model.values()))
    for adds, key in steps:
        if adds:
            model[key] = entry(key)
            index.put(model[key])
        elif key in model:
            del model[key]
            index.remove(key)
    for prefix in prefixes:
        keys = Range(prefix, after, limit)
        expected = [model[key] for key in sorted(model) if matches(prefix, key)]
        assert index.list(*bounds(prefix)) == expected
        assert index.count(*bounds(prefix)) == len(expected)
        later = [e for e in expected if e.key > after]
        assert index.list(*keys.interval, limit) == (later[:limit] if limit else later)
        assert index.count(*keys.interval) == len(later)
    assert [index.get(key) for key in first] == [model.get(key) for key in first]
    assert len(index) == len(model)


def test_an_index_of_many_runs_stays_sorted():
    index = Index(Columns())
    keys = [f"/r/{n * 7919 % 10_007:05}" for n in range(6 * RUN)]
    for key in keys:
        index.put(entry(key))
    for key in keys[::3]:
        index.remove(key)
    for key in keys[1::3]:
        index.put(entry(key, 2))
    left = sorted(set(keys) - set(keys[::3]))
    assert [found.key for found in index.list(*bounds("/"))] == left
    assert index.count(*bounds("/r/")) == len(index) == len(left)
    for key in left:
        index.remove(key)
    assert index.list(*bounds("/")) == []
    index.put(entry("/z"))
    assert index.count(*bounds("/")) == 1
