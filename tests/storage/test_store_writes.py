"""Creates, updates and deletes: their preconditions and their revisions, on every backend."""

import asyncio

import pytest
from patience import within

from inkube.storage import errors, writer
from inkube.storage.log import FIRST_REVISION
from inkube.storage.sql.sqlite import ROWS
from inkube.storage.store import Store

KEY = "/registry/widgets/default/a"


async def test_a_created_object_is_read_back_with_its_revision(store: Store):
    entry = await store.create(KEY, {"spec": 1})
    assert entry.revision == entry.created == store.revision == FIRST_REVISION + 1
    assert entry.value == {"spec": 1, "metadata": {"resourceVersion": str(entry.revision)}}
    assert store.get(KEY) == entry


async def test_create_on_existing_is_refused_with_the_object_that_lives_there(store: Store):
    first = await store.create(KEY, {"spec": 1})
    with pytest.raises(errors.AlreadyExists) as refused:
        await store.create(KEY, {"spec": 2})
    assert refused.value.current == first
    assert store.revision == first.revision


async def test_update_replaces_the_state_and_keeps_the_revision_of_creation(store: Store):
    first = await store.create(KEY, {"spec": 1})
    second = await store.update(KEY, {"spec": 2}, first.revision)
    assert (second.revision, second.created) == (first.revision + 1, first.created)
    assert store.get(KEY) == second


async def test_update_with_a_stale_revision_conflicts_and_names_the_newest(store: Store):
    first = await store.create(KEY, {"spec": 1})
    second = await store.update(KEY, {"spec": 2}, first.revision)
    with pytest.raises(errors.Conflict) as refused:
        await store.update(KEY, {"spec": 3}, first.revision)
    assert refused.value.current == second
    assert store.get(KEY) == second


async def test_update_and_delete_of_what_does_not_live_find_nothing(store: Store):
    with pytest.raises(errors.NotFound):
        await store.update(KEY, {}, 5)
    with pytest.raises(errors.NotFound):
        await store.delete(KEY, 5)
    assert store.revision == FIRST_REVISION


async def test_delete_takes_a_revision_and_answers_the_last_state_under_it(store: Store):
    first = await store.create(KEY, {"spec": 1})
    gone = await store.delete(KEY, first.revision)
    assert gone.revision == first.revision + 1
    assert gone.value == {"spec": 1, "metadata": {"resourceVersion": str(gone.revision)}}
    assert first.value["metadata"]["resourceVersion"] == str(first.revision)
    assert store.get(KEY) is None


async def test_delete_may_give_the_final_state_itself(store: Store):
    first = await store.create(KEY, {"spec": 1})
    gone = await store.delete(KEY, first.revision, {"spec": "final"})
    assert gone.value["spec"] == "final"


async def test_delete_with_a_stale_revision_conflicts(store: Store):
    first = await store.create(KEY, {})
    await store.update(KEY, {}, first.revision)
    with pytest.raises(errors.Conflict):
        await store.delete(KEY, first.revision)
    assert store.get(KEY) is not None


async def test_a_deleted_key_can_be_created_again(store: Store):
    first = await store.create(KEY, {})
    await store.delete(KEY, first.revision)
    again = await store.create(KEY, {})
    assert again.created == again.revision == first.revision + 2


async def test_of_concurrent_creates_of_one_key_one_wins(store: Store):
    outcomes = await asyncio.gather(
        *(store.create(KEY, {"n": n}) for n in range(20)), return_exceptions=True
    )
    refused = [outcome for outcome in outcomes if isinstance(outcome, errors.AlreadyExists)]
    assert len(refused) == 19
    assert store.revision == FIRST_REVISION + 1


async def test_of_concurrent_updates_from_one_revision_one_wins(store: Store):
    first = await store.create(KEY, {})
    outcomes = await asyncio.gather(
        *(store.update(KEY, {"n": n}, first.revision) for n in range(20)), return_exceptions=True
    )
    refused = [outcome for outcome in outcomes if isinstance(outcome, errors.Conflict)]
    (won,) = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
    assert len(refused) == 19
    assert store.get(KEY) == won


async def test_counters_incremented_by_many_clients_lose_no_increment(store: Store):
    await store.create(KEY, {"n": 0})

    async def increment() -> None:
        while True:
            current = store.get(KEY)
            assert current is not None
            try:
                await store.update(KEY, {"n": current.value["n"] + 1}, current.revision)
            except errors.Conflict:
                continue
            return

    await asyncio.gather(*(increment() for _ in range(25)))
    entry = store.get(KEY)
    assert entry is not None
    assert entry.value["n"] == 25


async def test_revisions_of_many_writers_have_no_holes(store: Store):
    entries = await asyncio.gather(*(store.create(f"{KEY}{n}", {}) for n in range(600)))
    revisions = sorted(entry.revision for entry in entries)
    assert revisions == list(range(FIRST_REVISION + 1, FIRST_REVISION + 601))


async def test_every_write_of_a_large_group_is_kept(backend):
    store = await backend.open()
    keys = [f"/registry/widgets/default/{number:04}" for number in range(2 * ROWS + 1)]
    await asyncio.gather(*(store.create(key, {"spec": key}) for key in keys))
    await store.close()
    found = (await backend.open()).list("/registry/widgets/")
    assert [(entry.key, entry.value["spec"]) for entry in found] == [(key, key) for key in keys]


async def test_a_single_writer_does_not_wait_for_others(store: Store, monkeypatch):
    monkeypatch.setattr(writer, "LINGER", 60)
    async with within():
        for number in range(5):
            await store.create(f"{KEY}{number}", {})


async def test_a_group_waits_for_those_who_wrote_last_time_but_not_long(store: Store):
    async with within():
        await asyncio.gather(*(store.create(f"{KEY}{n}", {}) for n in range(20)))
        last = await store.create(KEY, {})
    assert store.get(KEY) == last


async def test_closing_waits_for_no_further_writes(backend, monkeypatch):
    monkeypatch.setattr(writer, "LINGER", 60)
    store = await backend.open()
    first = [asyncio.create_task(store.create(f"{KEY}{n}", {})) for n in range(20)]
    await asyncio.gather(*first)
    late = asyncio.create_task(store.create(KEY, {}))
    async with within():
        await asyncio.gather(late, store.close())
    assert late.result().key == KEY


async def test_what_cannot_be_encoded_fails_alone(store: Store):
    outcomes = await asyncio.gather(
        store.create(f"{KEY}1", {}),
        store.create(f"{KEY}2", {"bad": {1, 2}}),
        store.create(f"{KEY}3", {}),
        return_exceptions=True,
    )
    assert isinstance(outcomes[1], TypeError)
    assert [entry.key for entry in store.list("/registry/")] == [f"{KEY}1", f"{KEY}3"]
    assert store.revision == FIRST_REVISION + 2


async def test_a_closed_store_refuses_writes_and_subscriptions(store: Store):
    await store.close()
    with pytest.raises(errors.Closed):
        await store.create(KEY, {})
    with pytest.raises(errors.Closed):
        store.subscribe("/registry/")


async def test_closing_commits_what_waits(store: Store):
    waiting = [asyncio.ensure_future(store.create(f"{KEY}{n}", {})) for n in range(50)]
    await asyncio.sleep(0)
    await store.close()
    entries = await asyncio.gather(*waiting)
    assert len({entry.revision for entry in entries}) == 50


class TestDryRun:
    """A dry run refuses the same writes as a real one, and stores nothing."""

    async def test_a_create_as_dry_run_has_no_revision(self, store: Store):
        entry = await store.dry_run().create(KEY, {"spec": 1})
        assert (entry.revision, entry.value) == (0, {"spec": 1})
        assert store.get(KEY) is None

    async def test_update_and_delete_answer_the_stored_revision(self, store: Store):
        first = await store.create(KEY, {"spec": 1})
        updated = await store.dry_run().update(KEY, {"spec": 2}, first.revision)
        deleted = await store.dry_run().delete(KEY, first.revision)
        assert updated.value["spec"] == 2
        assert updated.revision == deleted.revision == first.revision
        assert store.get(KEY) == first

    async def test_a_dry_run_checks_the_same_preconditions(self, store: Store):
        dry = store.dry_run()
        with pytest.raises(errors.NotFound):
            await dry.update(KEY, {}, 1)
        first = await store.create(KEY, {})
        with pytest.raises(errors.AlreadyExists):
            await dry.create(KEY, {})
        with pytest.raises(errors.Conflict):
            await dry.delete(KEY, first.revision - 1)

    async def test_a_dry_run_appends_nothing_and_notifies_no_watcher(self, store: Store):
        first = await store.create(KEY, {})
        with store.subscribe("/registry/", first.revision - 1) as subscription:
            await store.dry_run().update(KEY, {"spec": 2}, first.revision)
            await store.dry_run().delete(KEY, first.revision)
            batch = await subscription.next_batch()
        assert [change.type for change in batch] == ["ADDED"]
        assert store.revision == first.revision

    async def test_reads_of_a_dry_run_are_those_of_the_store(self, store: Store):
        first = await store.create(KEY, {})
        dry = store.dry_run()
        assert dry.get(KEY) == first
        assert dry.list("/registry/") == [first]
        assert (dry.count("/"), dry.revision) == (1, store.revision)
