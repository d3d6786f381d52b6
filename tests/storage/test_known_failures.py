"""Known bugs of etcd as scenarios, each with the number of its issue and the violated guarantee.

For killed servers, the rounds of `tests/support/faults.py` check that no acknowledged write is lost
(14370) and that revisions never go back (17780).
"""

import asyncio
from typing import Any

import pytest

from inkube.storage import errors
from inkube.storage.cache import CacheOptions
from inkube.storage.log import FIRST_REVISION


async def test_17529_a_starved_watch_loses_no_event(backend: Any):
    """A slow watcher is disconnected, and continues from its last revision."""
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
    """A watch from any readable revision receives every deletion after it."""
    store = await backend.open(cache=CacheOptions(history=2))
    entries = [await store.create(f"/r/{n}", {}) for n in range(8)]
    gone = [await store.delete(entry.key, entry.revision) for entry in entries]
    for deletion in gone:
        # exactly to the deletion, where etcd's compaction deleted an event that a watch from there
        # needs
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
