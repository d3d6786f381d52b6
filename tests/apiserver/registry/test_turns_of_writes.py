"""Writes of concurrent clients take turns at each computation; a write alone does not wait."""

import asyncio
import inspect
import itertools
from dataclasses import dataclass

import pytest
from aiohttp import ClientSession

from inkube import APIServer
from inkube.apiserver.registry.worker import Worker

STEPS = 3
MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = {"Content-Type": "application/merge-patch+json"}


@dataclass(frozen=True)
class Write:
    """A small write."""

    takes_turns: bool = True
    effort: int = 0


async def _compute(worker: Worker, write: Write, name: str, done: list[tuple[str, int]]) -> None:
    for step in range(STEPS):
        await worker.compute(write, done.append, (name, step))


async def _order(worker: Worker, write: Write, names: str) -> list[tuple[str, int]]:
    done: list[tuple[str, int]] = []
    async with asyncio.TaskGroup() as writes:
        for name in names:
            writes.create_task(_compute(worker, write, name, done))
    return done


async def test_the_same_computation_of_many_writes_runs_in_a_row():
    done = await _order(Worker(), Write(), "abc")
    assert sorted(done) == [(name, step) for name in "abc" for step in range(STEPS)]
    changes = sum(one[1] != other[1] for one, other in itertools.pairwise(done))
    assert changes < len(done) // 2, done


@pytest.mark.parametrize(
    ("worker", "write"),
    [(Worker(interleaves=False), Write()), (Worker(), Write(takes_turns=False))],
)
async def test_other_writes_run_to_their_end(worker: Worker, write: Write):
    done = await _order(worker, write, "abc")
    assert done == [(name, step) for name in "abc" for step in range(STEPS)]


@pytest.mark.parametrize("is_coroutine", [False, True])
async def test_a_task_alone_does_not_wait(is_coroutine: bool):
    worker, turns = Worker(), []

    async def compute() -> None:
        if is_coroutine:
            await worker.finish(Write(), _nothing(), waits=False)
        else:
            await worker.compute(Write(), turns.copy)

    await compute()  # the first one, after no other
    asyncio.get_running_loop().call_soon(turns.append, "of the event loop")
    for _ in range(STEPS):
        await compute()
    assert turns == []


async def _nothing() -> None:
    pass


async def test_a_write_that_is_cancelled_before_its_turn_computes_nothing():
    worker, steps = Worker(), _nothing()
    await worker.compute(Write(), STEPS.bit_length)
    waiting = asyncio.create_task(worker.finish(Write(), steps, waits=False))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert inspect.getcoroutinestate(steps) == inspect.CORO_CLOSED


@pytest.mark.parametrize("interleaved", [True, False])
async def test_each_client_writes_after_its_own_last_write(interleaved: bool):
    """Each client patches one shared object and its own one, and finds in each response what it
    has written before."""
    async with (
        APIServer(interleaved_writes=interleaved) as server,
        ClientSession(server.url) as session,
    ):
        await _create(session, "shared")
        revisions = await asyncio.gather(*(_client(session, str(each)) for each in range(16)))
        async with session.get(f"{MAPS}/shared") as answer:
            shared = await answer.json()
    assert shared["data"] == {f"{client}.{step}": "x" for client in range(16) for step in range(5)}
    seen = [revision for each in revisions for revision in each]
    assert len(seen) == len(set(seen))


async def _create(session: ClientSession, name: str) -> None:
    async with session.post(MAPS, json={"metadata": {"name": name}}) as answer:
        assert answer.status == 201


async def _client(session: ClientSession, name: str) -> list[str]:
    await _create(session, f"own-{name}")
    revisions, written = [], {}
    for step in range(5):
        added = {f"{name}.{step}": "x"}
        written |= added
        for target in (f"own-{name}", "shared"):
            patch = session.patch(f"{MAPS}/{target}", json={"data": added}, headers=MERGE)
            async with patch as answer:
                found = await answer.json()
            assert answer.status == 200
            assert written.items() <= found["data"].items()
            revisions.append(found["metadata"]["resourceVersion"])
    return revisions
