"""What etcd's users met, as scenarios: each issue's number, and the law it broke."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from faults import Gone, Node

from inkube.storage import errors
from inkube.storage.cache import CacheOptions
from inkube.storage.log import FIRST_REVISION

ROUNDS = 4


@pytest.fixture(params=["a file", "PostgreSQL"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where processes keep their log."""
    if request.param == "a file":
        return str(tmp_path / "inkube.db")
    url: str = await request.getfixturevalue("cluster").database()
    return url


async def write_until_killed(node: Node, key: str, after: int) -> dict[str, int]:
    """Writers of one process that is killed once `after` writes were acknowledged."""
    acknowledged: dict[str, int] = {}
    enough = asyncio.Event()

    async def write(client: int) -> None:
        for n in range(10_000):
            name = f"{key}{client}-{n}"
            try:
                answer = await node.ask("create", key=name, tag=name)
            except Gone:
                return
            acknowledged[name] = answer["revision"]
            if len(acknowledged) >= after:
                enough.set()

    writers = [asyncio.create_task(write(client)) for client in range(4)]
    await enough.wait()
    await node.end(9)
    await asyncio.gather(*writers)
    return acknowledged


async def test_14370_a_single_node_loses_no_acknowledged_write(place: str):
    for number in range(ROUNDS):
        acknowledged = await write_until_killed(
            await Node.start(place), f"/r/{number}/", 10 + 13 * number
        )
        node = await Node.start(place)
        listed = await node.ask("list", key=f"/r/{number}/")
        await node.end()
        assert acknowledged.items() <= listed["items"].items()


async def test_17780_the_revision_never_goes_back(place: str):
    seen = FIRST_REVISION
    for number in range(ROUNDS):
        node = await Node.start(place)
        begun = (await node.ask("list", key="/r/"))["revision"]
        assert begun >= seen
        acknowledged = await write_until_killed(node, f"/r/{number}/", 10)
        assert min(acknowledged.values()) > begun
        seen = max(acknowledged.values())


async def test_17529_a_starved_watch_loses_no_event(backend: Any):
    """A watcher that is read too slowly is cut off and goes on where it was."""
    store = await backend.open(cache=CacheOptions(history=8, queue=16))
    told: list[int] = []
    cut_off = 0
    subscription = store.subscribe("/r/")
    for n in range(10):
        await asyncio.gather(*(store.create(f"/r/{n}-{each}", {}) for each in range(30)))
        try:
            while batch := await subscription.waiting():
                told += [change.revision for change in batch]
        except errors.SlowConsumer as error:
            cut_off += 1
            subscription.close()
            subscription = store.subscribe("/r/", error.revision)
    while batch := await subscription.waiting():
        told += [change.revision for change in batch]
    subscription.close()
    assert cut_off > 0
    assert told == list(range(FIRST_REVISION + 1, FIRST_REVISION + 301))


async def test_19179_no_deletion_is_missing_at_a_compaction(backend: Any):
    """A watch from any revision that can still be read hears of every deletion after it."""
    store = await backend.open(cache=CacheOptions(history=2))
    entries = [await store.create(f"/r/{n}", {}) for n in range(8)]
    gone = [await store.delete(entry.key, entry.revision) for entry in entries]
    for deletion in gone:
        # to the deletion itself, where etcd's compaction dropped what a watch from there needs
        await store.compact(deletion.revision)
        with store.subscribe("/r/", deletion.revision) as subscription:
            told: list[Any] = []
            while batch := await subscription.waiting():
                told += batch
        assert [change.revision for change in told] == list(
            range(deletion.revision + 1, store.revision + 1)
        )
        assert all(change.type == "DELETED" and change.previous for change in told)
        with pytest.raises(errors.Compacted):
            store.subscribe("/r/", deletion.revision - 1)
