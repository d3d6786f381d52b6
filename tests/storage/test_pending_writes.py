"""Writes based on a pending write: stored after it, with it or not at all."""

import asyncio
import gc
import random
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shakylog import ShakyLog

from inkube.apiserver.registry.codec import JSONCodec
from inkube.storage import errors, writes
from inkube.storage.entry import Change, Entry
from inkube.storage.store import PendingBatch, Store, StoreOptions
from inkube.storage.writer import WriterOptions

KEYS = ("/r/a", "/r/b")
CLIENTS, WRITES = 6, 5


def value(number: int) -> dict[str, Any]:
    return {"metadata": {}, "v": number}


def seen_by(tags: list[str]) -> dict[str, Any]:
    return {"metadata": {}, "seen": tags}


def _revision(store: Store) -> int:
    found = store.get(KEYS[0])
    return 0 if found is None else found.revision


async def test_two_writes_of_one_key_share_a_commit(store: Store):
    first = await store.create(KEYS[0], value(1))
    pending = [await store.submit(writes.Update(KEYS[0], value(2), first.revision))]
    for number in (3, 4):
        pending.append(await store.submit(writes.Update(KEYS[0], value(number), 0, pending[-1])))
    made = [(await each)[0] for each in pending]
    assert [entry.revision for entry in made] == [first.revision + n for n in (1, 2, 3)]
    assert [entry.value["v"] for entry in made] == [2, 3, 4]
    assert _revision(store) == made[-1].revision


async def test_a_write_keeps_none_of_those_it_came_after(store: Store):
    first = await store.create(KEYS[0], value(1))
    before = await store.submit(writes.Update(KEYS[0], value(2), first.revision))
    after = await store.submit(writes.Update(KEYS[0], value(3), 0, before))
    await after
    kept = weakref.ref(before)
    del before
    gc.collect()
    assert kept() is None
    assert after.settled


async def test_what_follows_a_refused_write_is_refused(store: Store):
    first = await store.create(KEYS[0], value(1))
    stale = await store.submit(writes.Update(KEYS[0], value(2), first.revision - 1))
    after = await store.submit(writes.Update(KEYS[0], value(3), 0, stale))
    last = await store.submit(writes.Update(KEYS[0], value(4), 0, after))
    for each in (stale, after, last):
        with pytest.raises(errors.Conflict):
            await each
        assert await each.outcome() is None
    assert _revision(store) == first.revision


async def test_what_follows_a_write_that_was_taken_back_is_refused():
    log = ShakyLog(random.Random(0))
    async with Store(log, JSONCodec()) as store:
        first = await store.create(KEYS[0], value(1))
        taken = await store.submit(writes.Update(KEYS[0], value(2), first.revision))
        after = await store.submit(writes.Update(KEYS[0], value(3), 0, taken))
        taken.future.cancel()
        with pytest.raises(errors.Conflict):
            await after
        assert _revision(store) == first.revision


@pytest.mark.parametrize("lost", [False, True])
async def test_what_follows_a_write_whose_commit_failed_is_refused(lost: bool):
    """Also if it was committed, and only the confirmation was lost."""

    class Chance(random.Random):
        def random(self) -> float:
            return 0.9 if lost else 0.4

    log = ShakyLog(Chance())
    async with Store(log, JSONCodec(), StoreOptions(writer=WriterOptions(group=1))) as store:
        first = await store.create(KEYS[0], value(1))
        log.failing = 1.0
        failed = await store.submit(writes.Update(KEYS[0], value(2), first.revision))
        after = await store.submit(writes.Update(KEYS[0], value(3), 0, failed))
        with pytest.raises(errors.Unavailable):
            await failed
        log.failing = 0.0
        with pytest.raises(errors.Conflict):
            await after
        found = store.get(KEYS[0])
        assert found is not None
        assert found.value["v"] == (2 if lost else 1)


@dataclass
class Acknowledged:
    """An acknowledged write: its new state, and the state it was based on (None: unknown)."""

    entry: Entry
    tag: str
    deletes: bool


class Clients:
    """Clients of several stores on one log. Each key's value is the list of its writes."""

    def __init__(self, chance: random.Random, stores: list[Store]) -> None:
        self.chance = chance
        self.stores = stores
        self.acknowledged: list[Acknowledged] = []
        self.refused: list[str] = []
        self.unknown: list[str] = []
        self._ahead: dict[tuple[int, str], tuple[list[str], PendingBatch]] = {}

    async def live(self, name: str) -> None:
        """Some writes of one client, one after the other."""
        for number in range(WRITES):
            tag = f"{name}.{number}"
            place = self.chance.randrange(len(self.stores))
            try:
                await self._write(place, self.chance.choice(KEYS), tag)
            except errors.PreconditionError:
                self.refused.append(tag)
            except errors.LogError:
                self.unknown.append(tag)

    async def _write(self, place: int, key: str, tag: str) -> None:
        store = self.stores[place]
        await store.current()
        found, ahead = store.get(key), self._ahead.get((place, key))
        kind = self.chance.random()
        if found is None:
            await self._finish(await store.submit(writes.Create(key, seen_by([tag]))), tag)
        elif kind < 0.1:
            pending = await store.submit(writes.Delete(key, found.revision))
            await self._finish(pending, tag, deletes=True)
        elif kind < 0.2:
            stale = writes.Update(key, seen_by([*found.value["seen"], tag]), found.revision - 1)
            await self._finish(await store.submit(stale), tag)
        elif ahead is not None and not ahead[1].settled and kind < 0.9:
            seen = [*ahead[0], tag]
            await self._go_on(place, writes.Update(key, seen_by(seen), 0, ahead[1]), tag)
        else:
            seen = [*found.value["seen"], tag]
            await self._go_on(place, writes.Update(key, seen_by(seen), found.revision), tag)

    async def _go_on(self, place: int, write: writes.Update, tag: str) -> None:
        pending = await self.stores[place].submit(write)
        self._ahead[place, write.key] = write.value["seen"], pending
        if self.chance.random() < 0.1:
            self.unknown.append(tag)
            pending.future.cancel()
        else:
            await self._finish(pending, tag)

    async def _finish(self, pending: PendingBatch, tag: str, *, deletes: bool = False) -> None:
        [entry] = await pending
        self.acknowledged.append(Acknowledged(entry, tag, deletes))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), failing=st.sampled_from([0.0, 0.3]), count=st.integers(1, 2))
def test_what_is_stored_is_one_order_of_what_was_acknowledged(
    seed: int, failing: float, count: int
):
    asyncio.run(_hold(random.Random(seed), failing, count))


async def _hold(chance: random.Random, failing: float, count: int) -> None:
    log = ShakyLog(chance, failing, optimistic=chance.random() < 0.5)
    options = StoreOptions(compaction=None, writer=WriterOptions(group=3))
    stores = [await Store(log, JSONCodec(), options).__aenter__() for _ in range(count)]
    told: list[list[Change]] = [[] for _ in stores]
    for store, changes in zip(stores, told, strict=True):
        store.subscribe("/", deliver=_teller(changes))
    clients = Clients(chance, stores)
    await asyncio.gather(*(clients.live(f"c{number}") for number in range(CLIENTS)))
    log.failing = 0.0
    for store in stores:
        await store.current()
    records = [record for record, _ in await log.changes("/", 100, 10_000)]
    _check_order(clients, deque(records))
    for store, changes in zip(stores, told, strict=True):
        assert [change.revision for change in changes] == [each.revision for each in records]
        assert [change.entry.data for change in changes] == [each.data for each in records]
        await store.close()


def _teller(changes: list[Change]) -> Callable[[Sequence[Change]], None]:
    return changes.extend


def _check_order(clients: Clients, records: deque[Any]) -> None:
    """Check that each state follows from the previous one, and that responses match the stored
    states."""
    codec, last, stored = JSONCodec(), {}, {}
    for number, record in enumerate(records, 101):
        assert record.revision == number, "no revision is left out"
        state = codec.decode(record.data)
        assert state["metadata"]["resourceVersion"] == str(record.revision)
        before = last.pop(record.key, None)
        assert record.previous == (0 if before is None else before[0])
        if record.deleted:
            assert before is not None
            assert state["seen"] == before[1], "a deletion changes nothing"
        else:
            assert state["seen"][:-1] == ([] if before is None else before[1])
            last[record.key] = record.revision, state["seen"]
        stored[record.revision] = record
    tags = {codec.decode(record.data)["seen"][-1] for record in records}
    assert tags.isdisjoint(clients.refused)
    answered = [each.entry.revision for each in clients.acknowledged]
    assert len(set(answered)) == len(answered)
    for each in clients.acknowledged:
        record = stored[each.entry.revision]
        assert (record.key, record.data) == (each.entry.key, each.entry.data)
        assert record.deleted == each.deletes
        assert each.deletes or codec.decode(record.data)["seen"][-1] == each.tag
