"""The manager: reconciles that fail, settling and stopping."""

import asyncio
import logging

import pytest
from patience import within

from inkube.controllers.informer import Key
from inkube.controllers.manager import Controller, Manager, Result, Watch
from inkube.controllers.workqueue import Backoff

THINGS = "v1/configmaps"


def thing(name, **data):
    metadata = {"name": name, "namespace": "ns"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@pytest.fixture
async def manager(client, clock):
    async with Manager(client, clock) as made:
        yield made


def controller(reconcile, **options):
    return Controller("test", reconcile, (Watch(THINGS),), **options)


async def settled(manager):
    async with within():
        await manager.settled()


async def test_settled_waits_for_what_reconciles_write_in_turn(manager):
    async def count_up(key):
        obj = await manager.client.get(THINGS, key.name, key.namespace)
        count = int(obj.get("data", {}).get("count", "0"))
        if count < 5:
            patch = {"data": {"count": str(count + 1)}}
            await manager.client.patch(THINGS, key.name, key.namespace, patch=patch)

    manager.add(controller(count_up))
    await manager.client.create(thing("a"))
    await settled(manager)
    assert (await manager.client.get(THINGS, "a", "ns"))["data"]["count"] == "5"


async def test_a_reconcile_that_raises_is_logged_and_tried_again(manager, clock, caplog, until):
    tried = []

    async def fails_once(key):
        tried.append(key)
        if len(tried) == 1:
            raise RuntimeError("first try")

    manager.add(controller(fails_once, backoff=Backoff(first=2.0)))
    with caplog.at_level(logging.ERROR):
        await manager.client.create(thing("a"))
        await settled(manager)
    assert "first try" in caplog.text
    clock.advance(2)
    await until(lambda: len(tried) == 2)
    await manager.client.create(thing("b"))
    await settled(manager)
    assert [key.name for key in tried] == ["a", "a", "b"]


async def test_a_requeue_comes_with_the_clock_and_does_not_delay_settled(manager, clock, until):
    seen = []

    async def again(key):
        seen.append(key)
        return Result(requeue_after=60)

    manager.add(controller(again))
    await manager.client.create(thing("a"))
    await settled(manager)
    assert len(seen) == 1
    clock.advance(60)
    await until(lambda: len(seen) == 2)
    assert seen[1] == Key("ns", "a")


async def test_no_more_reconciles_run_at_once_than_allowed(manager):
    running, most = 0, 0

    async def slow(key):
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(10):
            await asyncio.sleep(0)
        running -= 1

    manager.add(controller(slow, concurrency=3))
    for number in range(20):
        await manager.client.create(thing(f"t{number}"))
    await settled(manager)
    assert most == 3


async def test_a_removed_controller_hears_nothing_more(manager):
    seen = []

    async def note(key):
        seen.append(key)

    manager.add(controller(note))
    await manager.client.create(thing("a"))
    await settled(manager)
    await manager.remove("test")
    await manager.client.create(thing("b"))
    await settled(manager)
    assert [key.name for key in seen] == ["a"]
    assert manager.informers.all() == []


async def test_two_controllers_of_one_name_are_refused(manager):
    async def nothing(key):
        return None

    manager.add(controller(nothing))
    with pytest.raises(ValueError, match="runs already"):
        manager.add(controller(nothing))
