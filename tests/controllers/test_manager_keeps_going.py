"""The manager: reconciles that fail, settling and stopping."""

import asyncio
import logging

import pytest
from patience import within

from inkube import APIServer
from inkube.controllers.informer import Key
from inkube.controllers.manager import Controller, Manager, Result, Watch
from inkube.controllers.workqueue import Backoff
from inkube.schemas import meta
from inkube.schemas.status import unavailable
from inkube.storage.errors import LogError, Unavailable

THINGS = "v1/configmaps"
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}


def thing(name, **data):
    metadata = {"name": name, "namespace": "ns"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@pytest.fixture
async def manager(client, clock):
    async with Manager(client, clock) as made:
        yield made


def controller(reconcile, **options):
    return Controller("test", reconcile, (Watch(THINGS),), **options)


def warnings(caplog):
    return [each for each in caplog.records if each.levelno > logging.INFO]


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


@pytest.mark.parametrize("error", [Unavailable("connection refused"), unavailable("no store")])
async def test_an_outage_is_one_line_at_its_begin_and_one_at_its_end(
    client, clock, caplog, until, error
):
    is_out, tried = True, []

    async def fails_during_the_outage(key):
        tried.append(key.name)
        if is_out and "spared" not in key.name:
            raise error

    async with Manager(client, clock, outages=(LogError,)) as manager:
        manager.add(controller(fails_during_the_outage, backoff=Backoff(first=2.0)))
        for number in range(2):
            is_out = True
            for name in ("a", "b", "spared"):
                await client.create(thing(f"{name}-{number}"))
            await settled(manager)
            began = clock.now()
            clock.advance(2)
            await until(lambda: len(tried) == 5)
            is_out = False
            clock.advance(4)
            await until(lambda: len(tried) == 7)
            await settled(manager)
            begin, end = warnings(caplog)
            assert begin.getMessage() == (
                f"test: ns/a-{number} failed: {error}; since {meta.format_time(began)}, controllers"
                " repeat such work until it succeeds"
            )
            assert end.getMessage() == "controllers work again, after 6 s of failures"
            assert [each.exc_info for each in (begin, end)] == [None, None]
            caplog.clear()
            tried.clear()


async def test_an_unknown_error_during_an_outage_has_its_traceback(client, clock, caplog):
    async def fails(key):
        raise Unavailable("connection refused") if key.name == "a" else RuntimeError("a defect")

    async with Manager(client, clock, outages=(LogError,)) as manager:
        manager.add(controller(fails, backoff=Backoff(first=2.0)))
        await client.create(thing("a"))
        await client.create(thing("b"))
        await settled(manager)
    [defect] = (each for each in caplog.records if each.exc_info)
    assert "a defect" in defect.getMessage()


async def test_a_controller_that_is_stopped_during_an_outage_hides_no_later_one(
    client, clock, caplog
):
    async def fails(key):
        raise Unavailable("connection refused")

    async with Manager(client, clock, outages=(LogError,)) as manager:
        await client.create(thing("a"))
        for _ in range(2):
            caplog.clear()
            manager.add(controller(fails, backoff=Backoff(first=2.0)))
            await settled(manager)
            assert len(warnings(caplog)) == 1
            await manager.remove("test")
            assert len(warnings(caplog)) == 2


async def test_an_outage_ends_for_a_server_that_steps_down(client, clock, caplog):
    async def fails(key):
        raise unavailable("no store")

    async with Manager(client, clock) as manager:
        for name in ("one", "other"):
            manager.add(Controller(name, fails, (Watch(THINGS),), backoff=Backoff(first=2.0)))
        await client.create(thing("a"))
        await settled(manager)
        clock.advance(5)
        await manager.stop_leading()
        _, end = warnings(caplog)
    assert end.getMessage() == "the controllers that failed are stopped, after 5 s of failures"
    assert len(warnings(caplog)) == 2


async def test_an_outage_of_a_servers_store_is_no_traceback(clock, monkeypatch, caplog, until):
    async with APIServer(clock=clock) as server:
        refused, commit = [], server.store.commit

        async def full(write, consent):
            refused.append(write)
            raise Unavailable("database or disk is full")

        async def copy(key):
            if key.name == "a":
                await server.manager.client.create(thing("copy"))

        await server.client.create(NAMESPACE)
        await server.client.create(thing("a"))
        monkeypatch.setattr(server.store, "commit", full)
        server.manager.add(controller(copy, backoff=Backoff(first=2.0)))
        await until(lambda: refused)
        monkeypatch.setattr(server.store, "commit", commit)
        clock.advance(2)
        await until(lambda: len(warnings(caplog)) == 2)
        assert await server.client.get(THINGS, "copy", "ns")
    begin, end = warnings(caplog)
    assert begin.getMessage().startswith(
        "test: ns/a failed: the store failed: database or disk is full; since "
    )
    assert [each.exc_info for each in (begin, end)] == [None, None]


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


async def test_a_removed_controller_receives_no_more_events(manager):
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
