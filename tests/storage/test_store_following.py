"""Followers of a store receive every change, or learn that some were missed."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from inkube.storage import writes
from inkube.storage.entry import Change
from inkube.storage.store import Store


class Keeper:
    """A follower that caches the keys under a prefix."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.keys: set[str] = set()
        self.fails_at = ""
        self.looks = 0
        self.following = store.follow("/r/", self.hear, on_relist=self.look)
        self.look()

    def hear(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.entry.key == self.fails_at:
                raise ValueError("this one cannot be understood")
            if change.type == "DELETED":
                self.keys.discard(change.entry.key)
            else:
                self.keys.add(change.entry.key)

    def look(self) -> None:
        self.looks += 1
        found = {entry.key for entry in self.store.list("/r/")}
        if self.fails_at in found:
            raise ValueError("this one cannot be understood")
        self.keys = found


@pytest.fixture
def keeper(store: Store) -> Keeper:
    return Keeper(store)


async def test_followers_get_a_change_before_the_response_to_its_writer(
    store: Store, keeper: Keeper
):
    entry = await store.create("/r/a", {})
    assert keeper.keys == {"/r/a"}
    await store.delete("/r/a", entry.revision)
    assert keeper.keys == set()
    assert keeper.looks == 1


async def test_a_closed_follower_gets_no_more_changes(store: Store, keeper: Keeper):
    keeper.following.close()
    keeper.following.close()
    await store.create("/r/a", {})
    assert keeper.keys == set()
    assert keeper.following.is_closed


async def test_the_end_of_a_store_ends_its_followers(store: Store, keeper: Keeper):
    await store.close()
    assert keeper.following.is_closed
    assert keeper.looks == 1


async def test_a_follower_that_failed_lists_everything_again(
    store: Store, keeper: Keeper, caplog: pytest.LogCaptureFixture
):
    keeper.fails_at = "/r/bad"
    with caplog.at_level(logging.CRITICAL):
        bad = await store.create("/r/bad", {})
        await store.create("/r/a", {})
    assert keeper.keys == set(), "as long as it fails nothing is known"
    await store.delete("/r/bad", bad.revision)
    assert keeper.keys == {"/r/a"}
    looks = keeper.looks
    await store.create("/r/b", {})
    assert keeper.keys == {"/r/a", "/r/b"}
    assert keeper.looks == looks, "what can be heard is not looked for"


async def test_what_another_compacted_is_looked_for_once(shared: Any):
    awake, asleep = await shared.open(poll=1_000), await shared.open(poll=1_000)
    keeper, beside = Keeper(asleep), Keeper(asleep)
    beside.following.close()
    gone = await asleep.create("/r/gone", {})
    async with asleep._writer._lock:
        await awake.current()
        await awake.delete("/r/gone", gone.revision)
        last = await awake.create("/r/new", {})
        await awake.compact(last.revision)
    await asleep.current()
    assert (keeper.keys, keeper.looks) == ({"/r/new"}, 2)
    await awake.create("/r/later", {})
    await asleep.current()
    assert (keeper.keys, keeper.looks) == ({"/r/new", "/r/later"}, 2)
    assert beside.looks == 1


async def test_a_store_that_ends_while_it_reads_anew_still_writes_what_waits(shared: Any):
    awake, asleep = await shared.open(poll=1_000), await shared.open(poll=1_000)
    keeper = Keeper(asleep)
    async with asleep._writer._lock:
        await awake.create("/r/a", {})
        last = await awake.create("/r/b", {})
        await awake.compact(last.revision)
        waiting = await asleep.submit(writes.Create("/r/c", {}))
        closing = asyncio.create_task(asleep.close())
        await asyncio.sleep(0)
    await closing
    (entry,) = await waiting
    assert entry.revision == last.revision + 1
    assert keeper.following.is_closed
