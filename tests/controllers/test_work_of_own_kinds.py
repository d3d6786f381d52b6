"""A kind declared in Python whose objects are jobs: states, progress, order, stopping servers."""

import asyncio

import pytest

from inkube import APIServer
from inkube.controllers.clock import FakeClock
from inkube.controllers.informer import Key
from inkube.controllers.kinds import KindModule
from inkube.controllers.work import Work
from inkube.schemas.models import Model, Resource, Status

PATH = "boilings.example/v1/boilings"


class BoilingSpec(Model):
    pot: str = ""
    minutes: int = 0


class BoilingStatus(Status):
    state: str = ""
    started: int | None = None
    finished: int | None = None
    message: str = ""
    progress: float | None = None
    progress_updates: int | None = None


class Boiling(Resource, group="boilings.example", version="v1", zero_status={}):
    spec: BoilingSpec = BoilingSpec()
    status: BoilingStatus = BoilingStatus()


class Stove:
    """Boils; `gate` blocks every job until it is set."""

    def __init__(self, clock):
        self.clock = clock
        self.gate = asyncio.Event()
        self.at_once, self.most = 0, 0
        self.done = []
        self.put = []

    async def boil(self, boiling, progress, env):
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        for minute in range(boiling.spec.minutes):
            self.clock.advance(2)
            await progress.report(minute, of=boiling.spec.minutes, message=f"minute {minute}")
        await self.gate.wait()
        self.at_once -= 1
        self.done.append(boiling.metadata.name)
        return {"state": "success", "message": "boiled"}

    async def put_away(self, obj, env):
        self.put.append(obj["metadata"]["name"])

    def module(self, **options):
        return KindModule(Boiling, work=Work(self.boil, **options))


def boiling(name="a", **spec):
    metadata = {"name": name, "namespace": "default"}
    head = {"apiVersion": "boilings.example/v1", "kind": "Boiling", "metadata": metadata}
    return {**head, "spec": spec}


@pytest.fixture
def clock():
    return FakeClock(ticking=True)


async def test_a_job_is_pending_working_and_done_with_progress_between(clock):
    stove = Stove(clock)
    stove.gate.set()
    async with APIServer(kinds=[stove.module(put_away=stove.put_away)], clock=clock) as server:
        start = (await server.client.list(PATH)).resource_version
        made = await server.client.create(boiling(minutes=4))
        assert made["status"] == {}
        seen = []
        watch = server.client.watch(PATH, resource_version=start)
        async for event in watch:
            told = event.object["status"]
            seen.append((told.get("state"), told.get("progress")))
            if told.get("state") == "success":
                break
        await watch.aclose()
        await server.settled()
    assert seen == [
        (None, None),
        ("pending", None),
        ("working", None),
        ("working", 25),
        ("working", 50),
        ("working", 75),
        ("success", 100),
    ]
    assert (told["message"], told["progressUpdates"]) == ("boiled", 4)
    assert told["finished"] >= told["started"] > 0
    assert stove.put == ["a"]


async def test_jobs_of_one_turn_run_one_after_the_other(clock):
    stove = Stove(clock)
    module = stove.module(turn=lambda obj: Key("", obj["spec"].get("pot", "")))
    async with APIServer(kinds=[module], clock=clock) as server:
        for number in range(4):
            await server.client.create(boiling(f"big-{number}", pot="big"))
        stove.gate.set()
        await server.settled()
        assert stove.most == 1
        states = [each["status"]["state"] for each in (await server.client.list(PATH)).items]
        assert states == ["success"] * 4


async def test_what_a_stopped_server_left_begins_anew_and_what_was_done_is_not_repeated(
    clock, tmp_path
):
    stove = Stove(clock)
    data = tmp_path / "inkube.db"
    async with APIServer(kinds=[stove.module()], clock=clock, data=data) as server:
        start = (await server.client.list(PATH)).resource_version
        await server.client.create(boiling())
        watch = server.client.watch(PATH, resource_version=start)
        async for event in watch:
            if event.object["status"].get("state") == "working":
                break
        await watch.aclose()
    assert stove.done == []
    stove.gate.set()
    for _ in range(2):
        async with APIServer(kinds=[stove.module()], clock=clock, data=data) as server:
            await server.settled()
            found = await server.client.get(PATH, "a", "default")
            assert found["status"]["state"] == "success"
    assert stove.done == ["a"]


async def test_a_job_that_is_deleted_while_it_waits_is_not_done(clock):
    stove = Stove(clock)
    module = stove.module(turn=lambda obj: Key("", "one"))
    async with APIServer(kinds=[module], clock=clock) as server:
        await server.client.create(boiling("a"))
        await server.client.create(boiling("b"))
        await server.client.delete(PATH, "b", "default")
        stove.gate.set()
        await server.settled()
    assert stove.done == ["a"]
