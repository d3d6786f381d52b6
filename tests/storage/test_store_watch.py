"""Subscriptions: every change once, in order, from any kept revision; slow ones are
disconnected."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from inkube.storage import errors
from inkube.storage.cache import CacheOptions
from inkube.storage.store import Change, Store, Subscription

FORGETFUL = CacheOptions(history=2)


@pytest.fixture(params=[CacheOptions(), FORGETFUL], ids=["from history", "from the log"])
async def watched(request: pytest.FixtureRequest, backend: Any) -> Any:
    return await backend.open(cache=request.param)


async def take(subscription: Subscription, count: int) -> list[Change]:
    taken: list[Change] = []
    while len(taken) < count:
        taken += await subscription.next_batch()
    return taken


async def live_a_life(store: Store, key: str) -> list[int]:
    first = await store.create(key, {"v": 1})
    second = await store.update(key, {"v": 2}, first.revision)
    gone = await store.delete(key, second.revision)
    return [first.revision, second.revision, gone.revision]


async def test_a_watch_from_the_start_receives_every_change_of_an_object(watched: Store):
    start = watched.revision
    revisions = await live_a_life(watched, "/r/a")
    await live_a_life(watched, "/other/a")
    with watched.subscribe("/r/", start) as subscription:
        added, modified, deleted = await take(subscription, 3)
    assert [added.revision, modified.revision, deleted.revision] == revisions
    assert [added.type, modified.type, deleted.type] == ["ADDED", "MODIFIED", "DELETED"]
    assert added.previous is None
    assert modified.previous is not None
    assert (modified.previous.value["v"], modified.entry.value["v"]) == (1, 2)
    assert deleted.previous is not None
    assert deleted.previous.revision == modified.revision
    assert deleted.entry.value["metadata"]["resourceVersion"] == str(deleted.revision)


@pytest.mark.parametrize("skipped", range(7))
async def test_a_watch_resumes_after_any_revision(watched: Store, skipped: int):
    start = watched.revision
    revisions = [*await live_a_life(watched, "/r/a"), *await live_a_life(watched, "/r/b")]
    with watched.subscribe("/r/", start + skipped) as subscription:
        await watched.create("/r/c", {})
        told = await take(subscription, 7 - skipped)
    assert [change.revision for change in told] == [*revisions, watched.revision][skipped:]


async def test_no_gap_and_no_double_between_list_and_watch_while_others_write(watched: Store):
    async def write(n: int) -> None:
        for _ in range(5):
            await live_a_life(watched, f"/r/{n}")
        await watched.create(f"/r/{n}", {})

    writers = [asyncio.ensure_future(write(n)) for n in range(8)]
    readers = []

    async def read() -> dict[str, bytes]:
        state = {entry.key: entry.data for entry in watched.list("/r/")}
        revision = watched.revision
        with watched.subscribe("/r/", revision) as subscription:
            while revision < final:
                for change in await subscription.next_batch():
                    assert change.revision == revision + 1
                    revision = change.revision
                    if change.type == "DELETED":
                        del state[change.entry.key]
                    else:
                        state[change.entry.key] = change.entry.data
        return state

    final = watched.revision + 8 * 16
    for n in range(10):
        readers.append(asyncio.ensure_future(read()))
        await watched.reached(min(final, watched.revision + n))
    await asyncio.gather(*writers)
    expected = {entry.key: entry.data for entry in watched.list("/r/")}
    assert watched.revision == final
    assert await asyncio.gather(*readers) == [expected] * 10


async def test_iteration_yields_one_change_at_a_time(store: Store):
    with store.subscribe("/r/") as subscription:
        revisions = await live_a_life(store, "/r/a")
        told = []
        async for change in subscription:
            told.append(change.revision)
            if change.type == "DELETED":
                break
    assert told == revisions


async def test_one_key_can_be_watched(store: Store):
    with store.subscribe("/r/a") as subscription:
        await live_a_life(store, "/r/ab")
        await live_a_life(store, "/r/a/b")
        revisions = await live_a_life(store, "/r/a")
        told = await take(subscription, 3)
    assert [change.revision for change in told] == revisions


async def test_a_watch_from_the_future_begins_there(store: Store):
    with store.subscribe("/r/", store.revision + 2) as subscription:
        revisions = await live_a_life(store, "/r/a")
        (told,) = await take(subscription, 1)
    assert told.revision == revisions[-1]


async def test_a_subscription_has_the_newest_revision_without_events_too(watched: Store):
    start = watched.revision
    await live_a_life(watched, "/r/a")
    with watched.subscribe("/r/", start) as subscription:
        assert subscription.revision == start
        told = await take(subscription, 3)
        await watched.create("/other/a", {})
        await watched.create("/other/b", {})
        assert await subscription.waiting() == []
        assert subscription.revision == watched.revision
        await watched.create("/r/b", {})
        assert subscription.revision == told[-1].revision


async def test_a_slow_subscriber_is_cut_off_and_others_are_not(backend: Any):
    store = await backend.open(cache=CacheOptions(queue=10))
    slow, brisk = store.subscribe("/r/"), store.subscribe("/r/")
    told: list[Change] = []
    for n in range(25):
        await store.create(f"/r/{n}", {})
        told += await brisk.next_batch()
    assert len(told) == 25
    with pytest.raises(errors.SlowConsumer) as cut:
        await slow.next_batch()
    with store.subscribe("/r/", cut.value.revision) as resumed:
        assert len(await take(resumed, 25)) == 25
    brisk.close()


async def test_reading_subscribers_keep_up_with_a_burst_many_times_their_queue(backend: Any):
    store = await backend.open(cache=CacheOptions(queue=1_100))
    with store.subscribe("/r/") as subscription:
        writing = asyncio.gather(*(store.create(f"/r/{n}", {}) for n in range(4_000)))
        told = await take(subscription, 4_000)
        await writing
    assert [change.revision for change in told] == sorted(change.revision for change in told)


async def test_a_backlog_compacted_before_it_is_read_is_refused(backend: Any):
    store = await backend.open(cache=FORGETFUL)
    start = store.revision
    await live_a_life(store, "/r/a")
    await live_a_life(store, "/r/b")
    with store.subscribe("/r/", start) as subscription:
        await store.compact(store.revision)
        with pytest.raises(errors.Compacted):
            await subscription.next_batch()


async def test_closing_a_subscription_ends_its_iteration(store: Store):
    subscription = store.subscribe("/r/")
    waiting = asyncio.ensure_future(subscription.next_batch())
    await asyncio.sleep(0)
    subscription.close()
    assert await waiting == []
    assert [change async for change in subscription] == []


async def test_closing_the_store_ends_every_subscription(store: Store):
    waiting = asyncio.ensure_future(store.subscribe("/r/").next_batch())
    future = asyncio.ensure_future(store.reached(store.revision + 1))
    await asyncio.sleep(0)
    await store.close()
    assert await waiting == []
    with pytest.raises(errors.Closed):
        await future


async def test_waiting_changes_are_read_in_parts_of_limited_size(store: Store):
    with store.subscribe("/r/") as subscription:
        for n in range(6):
            await store.create(f"/r/{n}", {"text": "x" * 1_000})
        parts = [await subscription.waiting(size) for size in (1, 2_500, 100)]
        await store.create("/r/6", {})
        rest = await subscription.waiting(10_000)
    assert [len(part) for part in (*parts, rest)] == [1, 3, 1, 1]
    assert [change.revision for part in (*parts, rest) for change in part][-1] < store.revision


async def test_a_watcher_behind_the_history_is_ended_and_resumes(backend: Any):
    store = await backend.open(cache=CacheOptions(history_bytes=100_000))
    slow, brisk, late = (store.subscribe("/r/") for _ in range(3))
    await store.create("/r/a", {"text": "x" * 1_000})
    (first,) = await late.waiting()
    for n in range(400):
        await store.create(f"/r/{n}", {"text": "x" * 1_000})
        await brisk.next_batch()
    for subscription, told in ((slow, first.revision - 1), (late, first.revision)):
        with pytest.raises(errors.SlowConsumer) as cut:
            await subscription.next_batch()
        assert cut.value.revision == told
    assert not brisk.is_closed
    with store.subscribe("/r/", first.revision) as resumed:
        assert len(await take(resumed, 400)) == 400
    brisk.close()


async def test_large_changes_are_read_from_the_log_in_small_parts(backend: Any):
    store = await backend.open(cache=FORGETFUL)
    start = store.revision
    for n in range(40):
        await store.create(f"/r/{n}", {"text": "x" * 100_000})
    parts = []
    with store.subscribe("/r/", start) as subscription:
        while part := await subscription.waiting():
            parts.append(len(part))
    assert sum(parts) == 40
    assert max(parts[1:]) <= 3


class TestDelivery:
    """An attached callable receives every batch at once."""

    async def test_a_callable_gets_what_waits_and_what_follows(self, store: Store):
        told: list[int] = []

        def deliver(changes: Sequence[Change]) -> None:
            told.extend(change.revision for change in changes)

        start = store.revision
        before = await live_a_life(store, "/r/a")
        with store.subscribe("/r/", start, deliver=deliver) as subscription:
            assert told == before
            after = await live_a_life(store, "/r/b")
            assert told == before + after
            assert subscription.revision == store.revision

    async def test_after_detaching_changes_wait_again(self, store: Store):
        told: list[int] = []

        def deliver(changes: Sequence[Change]) -> None:
            told.extend(change.revision for change in changes)

        with store.subscribe("/r/", deliver=deliver) as subscription:
            first = await store.create("/r/a", {})
            subscription.detach()
            second = await store.create("/r/b", {})
            (waiting,) = await subscription.next_batch()
            third = await store.create("/r/c", {})
            subscription.attach(deliver)
        assert waiting.revision == second.revision
        assert told == [first.revision, third.revision]

    async def test_a_callable_that_fails_ends_its_subscription_only(
        self, store: Store, caplog: pytest.LogCaptureFixture
    ):
        def fail(changes: Sequence[Change]) -> None:
            raise ValueError("no")

        broken, fine = store.subscribe("/r/", deliver=fail), store.subscribe("/r/")
        await live_a_life(store, "/r/a")
        assert len(await take(fine, 3)) == 3
        with pytest.raises(errors.StorageError, match="no"):
            await broken.next_batch()
        assert "a subscriber of /r/ failed" in caplog.text
        fine.close()

    async def test_a_backlog_in_the_log_must_be_read_first(self, backend: Any):
        store = await backend.open(cache=FORGETFUL)
        start = store.revision
        await live_a_life(store, "/r/a")
        told: list[Sequence[Change]] = []
        with pytest.raises(RuntimeError):
            store.subscribe("/r/", start, deliver=told.append)
        with store.subscribe("/r/", start) as subscription:
            assert len(await subscription.waiting()) == 3
            assert await subscription.waiting() == []
            subscription.attach(told.append)
            entry = await store.create("/r/b", {})
        assert [change.revision for batch in told for change in batch] == [entry.revision]
