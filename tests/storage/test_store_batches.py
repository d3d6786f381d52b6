"""Several writes in one commit: all of them or none."""

import asyncio

import pytest

from inkube.storage import writes
from inkube.storage.errors import AlreadyExists, Conflict, SlowConsumer
from inkube.storage.store import LARGEST_BATCH


async def test_a_batch_is_one_commit_of_changes_in_its_order(backend):
    store = await backend.open()
    before = await store.create("/a", {"n": 1})
    with store.subscribe("/") as changes:
        made = await store.commit(
            [
                writes.Update("/a", {"n": 2}, before.revision),
                writes.Create("/b", {"n": 3}),
            ]
        )
        seen = [await anext(changes), await anext(changes)]
    assert [entry.key for entry in made] == ["/a", "/b"]
    assert made[1].revision == made[0].revision + 1
    assert [(change.type, change.entry.key) for change in seen] == [
        ("MODIFIED", "/a"),
        ("ADDED", "/b"),
    ]


async def test_what_one_write_refuses_refuses_the_whole_batch(backend):
    store = await backend.open()
    before = await store.create("/a", {"n": 1})
    revision = store.revision
    with pytest.raises(AlreadyExists):
        await store.commit([writes.Create("/b", {}), writes.Create("/a", {})])
    with pytest.raises(Conflict):
        await store.commit([writes.Create("/b", {}), writes.Delete("/a", before.revision + 7)])
    assert store.get("/b") is None
    assert store.revision == revision


async def test_batches_of_many_at_once_see_each_other(backend):
    store = await backend.open()
    tries = [
        store.commit([writes.Create("/one", {}), writes.Create(f"/x{n}", {})]) for n in range(20)
    ]
    answers = await asyncio.gather(*tries, return_exceptions=True)
    won = [n for n, answer in enumerate(answers) if not isinstance(answer, Exception)]
    assert len(won) == 1
    assert [entry.key for entry in store.list("/")] == ["/one", f"/x{won[0]}"]


async def test_a_rehearsed_batch_checks_and_writes_nothing(backend):
    store = await backend.open()
    await store.create("/a", {})
    dry = store.dry_run()
    made = await dry.commit([writes.Create("/b", {}), writes.Create("/c", {})])
    assert [entry.key for entry in made] == ["/b", "/c"]
    with pytest.raises(AlreadyExists):
        await dry.commit([writes.Create("/b", {}), writes.Create("/a", {})])
    assert store.count("/") == 1


async def test_a_batch_has_bounds_and_writes_a_key_once(backend):
    store = await backend.open()
    with pytest.raises(ValueError, match="1 to"):
        await store.commit([])
    with pytest.raises(ValueError, match="1 to"):
        await store.commit([writes.Create(f"/{n}", {}) for n in range(LARGEST_BATCH + 1)])
    with pytest.raises(ValueError, match="only one write for each key"):
        await store.commit([writes.Create("/a", {}), writes.Create("/a", {})])


async def test_a_restored_state_has_any_size_and_readers_see_all_of_it_or_nothing(backend):
    store = await backend.open()
    await store.commit([writes.Create(f"/r/old-{n}", {"v": 1}) for n in range(LARGEST_BATCH)])
    size = 12_000
    batch: list[writes.Write] = [writes.Create(f"/r/{n:05}", {"v": 2}) for n in range(size)]
    batch += [writes.Delete(entry.key, entry.revision) for entry in store.list("/r/")]
    before = store.revision
    with store.subscribe("/r/", before) as watching:
        restoring = asyncio.ensure_future(store.restore(batch))
        while not restoring.done():
            assert store.count("/r/") in (LARGEST_BATCH, size)
            await asyncio.sleep(0)
        assert len(await restoring) == len(batch)
        with pytest.raises(SlowConsumer):
            await watching.next_batch()
    assert store.count("/r/") == size
    told = []
    with store.subscribe("/r/", before) as watching:  # it continues from its last revision
        while len(told) < len(batch):
            told += await watching.next_batch()
    assert [change.revision for change in told] == list(range(before + 1, before + 1 + len(batch)))


async def test_a_restored_state_that_meets_another_write_changes_nothing(backend):
    store = await backend.open()
    batch = [writes.Create(f"/r/{n:05}", {"v": 2}) for n in range(500)]
    await store.create("/r/00499", {"v": 1})
    with pytest.raises(AlreadyExists):
        await store.restore(batch)
    assert store.count("/r/") == 1
