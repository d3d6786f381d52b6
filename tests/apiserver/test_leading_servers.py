"""Of several servers on one log, one runs the controllers; a former leader no longer writes."""

import asyncio
import contextlib
import json
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import leadernode
import patience
import pytest

from inkube import APIServer
from inkube.apiserver.leadership import leading
from inkube.apiserver.registry.codec import JSONCodec
from inkube.controllers.election import Elector
from inkube.storage.log import FIRST_REVISION, Log
from inkube.storage.sql.postgresql import postgresql_log
from inkube.storage.sql.sqlite import sqlite_log
from inkube.storage.store import Store

LEASE = ("coordination.k8s.io/v1/leases", leading.LEASE.name, leading.LEASE.namespace)
DURATION = 2
ROUNDS = 60 if os.environ.get("INKUBE_EXAMS") == "long" else 2
PATIENCE = patience.SECONDS


class Node:
    """A `leadernode` process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.holder = ""

    async def told(self, event: str) -> dict[str, Any]:
        """Return the next line with that event; other lines before it are skipped."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while line := await self.process.stdout.readline():
                found: dict[str, Any] = json.loads(line)
                if found["event"] == event:
                    return found
        raise AssertionError(f"the node ended before {event}")

    def tell(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n".encode())

    async def end(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(number)
        await self.process.wait()

    async def stop(self) -> None:
        """Stop it as a server stops on SIGTERM."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        await self.process.wait()


Start = Callable[[], Any]


@pytest.fixture(params=["a file", "PostgreSQL"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "a file":
        return str(tmp_path / "inkube.db")
    url: str = await request.getfixturevalue("cluster").database()
    return url


@pytest.fixture
async def start(place: str) -> AsyncIterator[Start]:
    nodes: list[Node] = []

    async def begin() -> Node:
        process = await asyncio.create_subprocess_exec(
            sys.executable, leadernode.__file__, place, str(DURATION), stdin=-1, stdout=-1
        )
        node = Node(process)
        nodes.append(node)
        node.holder = (await node.told("serves"))["holder"]
        return node

    yield begin
    for node in nodes:
        await node.end(signal.SIGKILL)


def log_of(place: str) -> Log:
    return postgresql_log(place) if "://" in place else sqlite_log(place)


async def writers(place: str) -> list[str]:
    """Return the writers, in order. Fails if one of them was not the lease holder at its write."""
    found: list[str] = []
    async with Store(log_of(place), JSONCodec()) as store:
        after, holder = FIRST_REVISION, ""
        while changes := await store.history("/registry/", after, 500):
            for change, _ in changes:
                after, value = change.entry.revision, change.entry.value
                if change.entry.key == leading.KEY:
                    holder = value["spec"]["holderIdentity"]
                elif writer := (value.get("data") or {}).get("writer"):
                    assert writer == holder, f"revision {after} was written by a deposed leader"
                    found.append(writer)
    return [
        writer for number, writer in enumerate(found) if number == 0 or found[number - 1] != writer
    ]


async def test_a_leader_that_slept_through_its_lease_does_not_land_its_write(
    place: str, start: Start
):
    first = await start()
    await first.told("wrote")
    second = await start()
    first.tell("freeze")
    await first.told("freezes")
    await second.told("leads")
    first.process.send_signal(signal.SIGCONT)
    late = await first.told("late")
    assert late["outcome"] == 409
    assert "does not lead any more" in late["message"]
    await second.told("wrote")
    await second.end(signal.SIGKILL)
    await first.told("leads")
    await first.told("wrote")
    await first.stop()
    assert await writers(place) == [first.holder, second.holder, first.holder]


async def test_a_leader_that_is_killed_is_followed(place: str, start: Start):
    first = await start()
    await first.told("wrote")
    second = await start()
    await first.end(signal.SIGKILL)
    await second.told("leads")
    await second.told("wrote")
    await second.stop()
    assert await writers(place) == [first.holder, second.holder]


async def test_a_leader_that_stops_is_followed_at_once_by_one_of_those_who_wait(
    place: str, start: Start
):
    nodes = [await start() for _ in range(3)]
    await nodes[0].told("leads")
    await nodes[0].stop()
    telling = [asyncio.create_task(node.told("leads")) for node in nodes[1:]]
    done, pending = await asyncio.wait(telling, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    assert len(done) == 1
    for node in nodes[1:]:
        await node.stop()
    assert len(await writers(place)) <= 3


async def test_whatever_happens_to_leaders_only_the_holder_of_the_lease_writes(
    place: str, start: Start
):
    """Kills and pauses at any moment, except pauses with the lock of a file, because then no
    process can write. INKUBE_EXAMS=long runs many rounds."""
    chance = random.Random(7)
    nodes = {node.holder: node for node in await asyncio.gather(*(start() for _ in range(3)))}
    async with Store(log_of(place), JSONCodec()) as store:
        holder = await led(store)
        for _ in range(ROUNDS):
            victim = nodes[holder]
            if chance.random() < 0.5:
                del nodes[holder]
                await victim.end(signal.SIGKILL)
                holder = await led(store, by_no_more=holder)
                node = await start()
                nodes[node.holder] = node
            else:
                if "://" in place:
                    victim.process.send_signal(signal.SIGSTOP)
                else:  # on a busy machine, it can lose the lease before it freezes
                    victim.tell("freeze")
                holder = await led(store, by_no_more=holder)
                victim.tell("go on")
                victim.process.send_signal(signal.SIGCONT)
    await asyncio.gather(*(node.stop() for node in nodes.values()))
    assert len(await writers(place)) > 1


async def led(store: Store, by_no_more: str = "") -> str:
    """Wait for another leader than this one; return it."""
    async with asyncio.timeout(PATIENCE):
        with store.subscribe(leading.KEY) as changes:
            entry = store.get(leading.KEY)
            while entry is None or entry.value["spec"]["holderIdentity"] in ("", by_no_more):
                change = await anext(aiter(changes))
                entry = change.entry
            holder: str = entry.value["spec"]["holderIdentity"]
            return holder


async def test_a_server_alone_leads_before_it_is_ready_whatever_became_of_the_one_before(
    tmp_path: Path,
):
    path = tmp_path / "inkube.db"
    process = await asyncio.create_subprocess_exec(
        sys.executable, leadernode.__file__, str(path), "600", stdin=-1, stdout=-1
    )
    node = Node(process)
    await node.told("leads")
    await node.end(signal.SIGKILL)
    async with APIServer(data=path, durable=False) as server:
        assert server.parts.leadership.is_leading
        lease = await server.client.get(*LEASE)
        assert lease["spec"]["holderIdentity"] == server.parts.leadership.elector.identity
        assert lease["spec"]["leaseTransitions"] == 1
    async with APIServer(data=path, durable=False) as server:
        assert server.parts.leadership.is_leading
        assert (await server.client.get(*LEASE))["spec"]["leaseTransitions"] == 2


async def test_a_server_in_memory_has_no_lease():
    async with APIServer() as server:
        assert (await server.client.list(LEASE[0])).items == []


async def test_controllers_that_others_could_do_without_run_in_one_server(tmp_path: Path):
    options: dict[str, Any] = {"data": tmp_path / "inkube.db", "durable": False}
    async with APIServer(**options) as here, APIServer(**options) as there:
        assert (here.parts.leadership.is_leading, there.parts.leadership.is_leading) == (
            True,
            False,
        )
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "a"}}
        await here.client.create({**quota, "spec": {"hard": {"pods": "1"}}})
        await there.store.current()  # so that both have controllers with their first object
        names = [set(server.manager.names) for server in (here, there)]
        assert names[1] == {"crds", "apiservice-availability"} & names[0]
        assert {"quotas", "garbage"} <= names[0]


async def test_a_lease_that_somebody_removes_is_taken_again(tmp_path: Path):
    async with APIServer(data=tmp_path / "inkube.db", durable=False) as server:
        assert server.parts.leadership.is_leading
        gone = await server.client.delete(*LEASE)
        version = gone["metadata"]["resourceVersion"]
        async for event in server.client.watch(LEASE[0], resource_version=version):
            if event.type == "ADDED":
                break
        assert event.object["spec"]["holderIdentity"] == server.parts.leadership.elector.identity


async def test_a_start_that_is_cancelled_before_a_leader_is_known_leaves_no_task(
    tmp_path, monkeypatch
):
    begun = asyncio.Event()

    async def run(*_):
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(Elector, "run", run)
    before = asyncio.all_tasks()
    starting = asyncio.create_task(APIServer(data=tmp_path / "a.db").__aenter__())
    async with patience.within():
        await begun.wait()
        await asyncio.sleep(0)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
    assert asyncio.all_tasks() == before
