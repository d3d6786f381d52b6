"""A log whose revision decreases while stores run: a restored backup, or a failover that lost
commits.

Lost revisions are no longer shown, nothing is written on top of them, and watchers are notified.
"""

import sqlite3
from contextlib import closing
from typing import Any

import asyncpg
import pytest

from inkube.storage import errors
from inkube.storage.store import Store


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
    assert store.revision == 102


async def test_writes_find_what_is_there_and_leave_no_hole(shared: Any, store: Store):
    lost = store.get("/r/a")
    assert lost is not None
    await go_back(shared, 102)
    with pytest.raises(errors.PreconditionError):
        await store.update("/r/a", {"v": 3}, lost.revision)
    made = await store.create("/r/c", {"v": 3})
    assert made.revision == 103
    other = await shared.open()
    assert shown(other) == shown(store) == {"/r/a": 1, "/r/b": 1, "/r/c": 3}


async def test_a_write_alone_finds_what_is_there(shared: Any, store: Store):
    await go_back(shared, 102)
    assert (await store.create("/r/d", {"v": 3})).revision == 103


async def test_watchers_are_told_to_list_anew_and_it_is_logged(
    shared: Any, store: Store, caplog: pytest.LogCaptureFixture
):
    with store.subscribe("/r/") as subscription:
        await go_back(shared, 102)
        await store.current()
        with pytest.raises(errors.Compacted):
            await subscription.next_batch()
    assert "went back from revision 105 to 102" in caplog.text


async def test_what_was_compacted_is_not_missed(
    shared: Any, store: Store, caplog: pytest.LogCaptureFixture
):
    await store.compact(store.revision)  # the newest row was a deletion
    with store.subscribe("/r/") as subscription:
        for _ in range(3):
            await store.current()
        assert (await store.create("/r/d", {"v": 1})).revision == 106
        assert [change.revision for change in await subscription.next_batch()] == [106]
    assert "went back" not in caplog.text
