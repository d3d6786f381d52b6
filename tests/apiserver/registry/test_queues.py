"""Writers of one object are queued, and the wait of each is limited."""

import asyncio

import engines
import pytest

import inkube
from inkube.apiserver.registry.engine import FastEngine, queues
from inkube.apiserver.registry.engine.queues import Queues

pytestmark = engines.only_fast
COUNT = 16


async def test_turns_have_the_order_of_their_requests():
    line, order = Queues(), []

    async def write(number):
        async with line.turn("a"):
            order.append(number)
            await asyncio.sleep(0)
            order.append(number)

    await asyncio.gather(*(write(number) for number in range(5)))
    assert order == [number for number in range(5) for _ in range(2)]


async def test_writes_of_other_keys_do_not_wait():
    line = Queues()
    async with line.turn("a"), line.turn("b"):
        pass


async def test_a_cancelled_waiter_leaves_the_queue_to_the_others():
    line, written = Queues(), []

    async def write(number):
        async with line.turn("a"):
            written.append(number)

    async with line.turn("a"):
        tasks = [asyncio.create_task(write(number)) for number in range(3)]
        await asyncio.sleep(0)
        tasks[1].cancel()
    await asyncio.wait(tasks)
    assert written == [0, 2]


async def test_a_turn_given_to_who_has_just_been_cancelled_is_passed_on():
    line, written = Queues(), []

    async def write(number):
        async with line.turn("a"):
            written.append(number)

    async with line.turn("a"):
        tasks = [asyncio.create_task(write(number)) for number in range(2)]
        await asyncio.sleep(0)
    tasks[0].cancel()  # its turn has come, but it has not run since
    await asyncio.wait(tasks)
    assert written == [1]


async def test_two_requests_never_wait_for_each_other(monkeypatch):
    """For example a webhook that writes the object it is asked about."""
    monkeypatch.setattr(queues, "PATIENCE", 0.01)
    line = Queues()
    async with line.turn("a"), line.turn("a"):
        pass


async def test_nothing_is_kept_of_those_who_are_done(monkeypatch):
    monkeypatch.setattr(queues, "PATIENCE", 0.01)
    line = Queues()

    async def write():
        async with line.turn("a"):
            await asyncio.sleep(0.02)

    await asyncio.gather(*(write() for _ in range(4)))
    assert line.empty


@pytest.mark.parametrize("kept", ["memory", "file"])
async def test_patches_of_one_object_are_each_made_once(kept, tmp_path, monkeypatch):
    monkeypatch.setattr(queues, "PATIENCE", 60)  # for slow machines
    made = []
    run_stages = FastEngine.run_stages

    async def counted(self, write):
        made.append(write.name)
        return await run_stages(self, write)

    data = tmp_path / "it.db" if kept == "file" else None
    async with inkube.APIServer(data=data) as server:
        meta = {"name": "it", "namespace": "default"}
        await server.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
        monkeypatch.setattr(FastEngine, "run_stages", counted)
        patches = [{"data": {f"k{number}": "v"}} for number in range(COUNT)]
        await asyncio.gather(
            *(server.client.patch("v1/configmaps", "it", "default", patch=p) for p in patches)
        )
        found = await server.client.get("v1/configmaps", "it", "default")
    assert len(found["data"]) == COUNT
    assert made.count("it") == COUNT
