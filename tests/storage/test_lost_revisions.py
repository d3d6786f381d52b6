"""A log that lost revisions while stores ran: a failover, a restored backup.

The law: no client is told of a state that is not in the log that it continues from. Lost revisions
are no longer shown, nothing is written on top of them, whoever continues from one is refused, and
the same number never stands for two states.
"""

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import asyncpg
import pytest

from inkube.storage import errors
from inkube.storage.store import Store, Subscription


async def go_back(backend: Any, revision: int) -> None:
    """Delete all revisions after this one from the database."""
    if backend.kind == "postgresql":
        connection = await asyncpg.connect(backend.place)
        await connection.execute(f"DELETE FROM inkube.log WHERE revision > {revision}")
        await connection.execute(f"UPDATE inkube.meta SET value = {revision} WHERE name = 'newest'")
        await connection.close()
        return
    with closing(sqlite3.connect(backend.place)) as other, other:
        other.execute("DELETE FROM log WHERE revision > ?", (revision,))


@pytest.fixture
async def store(shared: Any) -> Store:
    """A store that has read revisions that will be lost: an update, a create and a deletion."""
    store = await shared.open(poll=1_000)
    first = await store.create("/r/a", {"v": 1})
    gone = await store.create("/r/b", {"v": 1})
    await store.update("/r/a", {"v": 2}, first.revision)
    await store.create("/r/c", {"v": 1})
    await store.delete("/r/b", gone.revision)
    return store


def shown(store: Store) -> dict[str, Any]:
    return {entry.key: entry.value["v"] for entry in store.list("/r/")}


async def test_reads_show_what_is_there(shared: Any, store: Store):
    assert shown(store) == {"/r/a": 2, "/r/c": 1}
    await go_back(shared, 102)
    await store.current()
    assert shown(store) == {"/r/a": 1, "/r/b": 1}


async def test_writes_find_what_is_there_and_no_revision_is_used_twice(shared: Any, store: Store):
    lost = store.get("/r/a")
    assert lost is not None
    await go_back(shared, 102)
    with pytest.raises(errors.PreconditionError):
        await store.update("/r/a", {"v": 3}, lost.revision)
    made = await store.create("/r/c", {"v": 3})
    assert made.revision > 105
    other = await shared.open()
    assert shown(other) == shown(store) == {"/r/a": 1, "/r/b": 1, "/r/c": 3}


async def test_a_write_alone_finds_what_is_there(shared: Any, store: Store):
    await go_back(shared, 102)
    assert (await store.create("/r/c", {"v": 3})).revision > 105


@pytest.mark.parametrize("others", [1, 3, 6], ids=["fewer", "as many", "more"])
@pytest.mark.parametrize("notice", ["read", "write", "poll"])
async def test_a_lost_revision_is_noticed_after_any_number_of_later_writes(
    shared: Any, store: Store, others: int, notice: str
):
    lost = store.get("/r/c")
    assert lost is not None
    await go_back(shared, 102)
    other = await shared.open(poll=1_000)  # a server that started on the replica
    for n in range(others):
        await other.create(f"/r/new-{n}", {"v": 5})
    if notice == "read":
        await store.current()
    elif notice == "write":
        with pytest.raises(errors.NotFound):
            await store.update("/r/c", {"v": 9}, lost.revision)
    else:
        await store._freshness.follow(await store._log.newest(), store.revision)
    await other.current()
    assert shown(store) == shown(other)
    assert set(shown(store)) == {"/r/a", "/r/b", *(f"/r/new-{n}" for n in range(others))}


async def test_every_server_refuses_to_continue_from_a_lost_revision(shared: Any, store: Store):
    lost = store.revision
    await go_back(shared, 102)
    await store.current()
    other = await shared.open()
    for each in (store, other):
        with pytest.raises(errors.Compacted):
            each.subscribe("/r/", lost)
        with pytest.raises(errors.Compacted):
            await each.page("/r/", revision=lost)
    await other.create("/r/d", {"v": 1})
    with pytest.raises(errors.Compacted):
        store.subscribe("/r/", lost)


async def test_watchers_must_list_again_and_a_log_line_names_the_cause(
    shared: Any, store: Store, caplog: pytest.LogCaptureFixture
):
    with store.subscribe("/r/") as subscription:
        await go_back(shared, 102)
        await store.current()
        with pytest.raises(errors.Compacted):
            await subscription.next_batch()
    assert "the log went back: changes up to revision 105" in caplog.text


async def test_compacted_revisions_are_not_taken_for_lost_ones(
    shared: Any, store: Store, caplog: pytest.LogCaptureFixture
):
    await store.compact(store.revision)  # the newest row was a deletion
    with store.subscribe("/r/") as subscription:
        for _ in range(3):
            await store.current()
        assert (await store.create("/r/d", {"v": 1})).revision == 106
        assert [change.revision for change in await subscription.next_batch()] == [106]
    assert "went back" not in caplog.text


async def test_another_server_that_is_behind_a_compaction_misses_nothing(
    shared: Any, store: Store, caplog: pytest.LogCaptureFixture
):
    other = await shared.open(poll=1_000)
    await store.compact(store.revision)
    await store.create("/r/d", {"v": 1})
    with other.subscribe("/r/") as subscription:
        await other.current()
        assert [change.revision for change in await subscription.next_batch()] == [106]
    assert "went back" not in caplog.text


class Informer:
    """A client that lists and watches, and continues from its last revision at any store."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}
        self._revision = 0
        self._watch: Subscription | None = None

    def leave(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    async def continue_at(self, store: Store) -> None:
        """Watch a store from the last revision, or list it again if it refuses that."""
        self.leave()
        try:
            self._watch = store.subscribe("/r/", self._revision)
        except errors.RevisionError:
            await self._list(store)

    async def receive(self, store: Store) -> None:
        """Receive everything that the store has for the watch."""
        while self._watch is not None and self._revision < store.newest("/r/"):
            try:
                changes = await self._watch.next_batch()
            except errors.StorageError:
                await self._list(store)
                return
            for change in changes:
                key = change.entry.key
                self.known[key] = change.revision
                if change.type == "DELETED":
                    del self.known[key]
                self._revision = change.revision

    async def _list(self, store: Store) -> None:
        self.leave()
        await store.current()
        self._revision = store.revision
        self.known = {entry.key: entry.revision for entry in store.list("/r/")}
        self._watch = store.subscribe("/r/", self._revision)


@pytest.mark.parametrize("seed", range(6))
async def test_informers_end_equal_to_the_log_after_any_history(shared: Any, seed: int):
    chance = random.Random(seed)
    stores = [await shared.open(poll=1_000) for _ in range(2)]
    informers = [Informer() for _ in range(4)]

    async def write() -> None:
        store = chance.choice(stores)
        key = f"/r/{chance.randrange(6)}"
        entry = store.get(key)
        try:
            if entry is None:
                await store.create(key, {"v": chance.random()})
            elif chance.random() < 0.5:
                await store.update(key, {"v": chance.random()}, entry.revision)
            else:
                await store.delete(key, entry.revision)
        except errors.PreconditionError:
            pass  # another store was faster

    async def watch() -> None:
        informer, store = chance.choice(informers), chance.choice(stores)
        await informer.continue_at(store)
        await informer.receive(store)

    async def leave() -> None:
        chance.choice(informers).leave()

    async def compact() -> None:
        store = chance.choice(stores)
        await store.compact(chance.randint(store.compacted, store.revision))

    async def lose() -> None:
        """Lose the last revisions. A server that knows them stays, and others know them not."""
        witness = chance.choice(stores)
        await witness.current()
        # a copy that is older than a compaction has not that compaction either
        oldest = (await witness._log.horizon()).compacted
        await go_back(shared, max(oldest, witness.revision - chance.randint(1, 6)))
        stores.append(await shared.open(poll=1_000))
        for _ in range(chance.randint(0, 8)):
            newcomer = stores[-1]
            await newcomer.create(f"/r/{newcomer.revision}", {"v": chance.random()})
        await witness.current()  # it notices, whatever has happened since

    actions: list[Callable[[], Any]] = [write] * 8 + [watch] * 4 + [leave, compact, lose]
    for _ in range(120):
        await chance.choice(actions)()

    for store in stores:
        await store.current()
    now = {entry.key: entry.revision for entry in stores[0].list("/r/")}
    for store in stores:
        assert {entry.key: entry.revision for entry in store.list("/r/")} == now
    for informer in informers:
        store = chance.choice(stores)
        await informer.continue_at(store)
        await informer.receive(store)
        assert informer.known == now
