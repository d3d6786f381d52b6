"""Finalizers of a kind declared in Python: added, kept, removed in their order, reported."""

import pytest

from inkube import APIServer
from inkube.controllers.clock import FakeClock
from inkube.controllers.finalizers import CannotFinish, Finalizer, Finalizers
from inkube.controllers.kinds import KindModule
from inkube.schemas.models import Model, Resource, Status

PATH = "kettles.example/v1/kettles"
DEFAULT = ["kettles.example/shelf", "empty"]


class KettleSpec(Model):
    size: int = 1


class KettleStatus(Status):
    stuck: str = ""


class Kettle(Resource, group="kettles.example", version="v1"):
    spec: KettleSpec = KettleSpec()
    status: KettleStatus = KettleStatus()


class Kitchen:
    """Records the executed steps; `is_hot` kettles cannot be finalized."""

    def __init__(self):
        self.steps = []
        self.is_hot = False

    def module(self):
        return KindModule(
            Kettle,
            unconditional_update=True,
            finalizers=Finalizers(
                Finalizer("empty", self.empty),
                Finalizer("kettles.example/gift", self.give),
                Finalizer("kettles.example/shelf", self.put_away),
                default=DEFAULT,
                reason_member="stuck",
            ),
        )

    async def empty(self, kettle, env):
        self.steps.append(("empty", kettle.metadata.name))

    async def give(self, kettle, env):
        self.steps.append(("give", kettle.metadata.name))

    async def put_away(self, kettle, env):
        if self.is_hot:
            raise CannotFinish("the kettle is hot")
        self.steps.append(("put away", kettle.metadata.name))


@pytest.fixture
def kitchen():
    return Kitchen()


@pytest.fixture
async def server(kitchen):
    async with APIServer(kinds=[kitchen.module()], clock=FakeClock(ticking=True)) as made:
        yield made


def kettle(**metadata):
    named = {"name": "a", "namespace": "default", **metadata}
    return {"apiVersion": "kettles.example/v1", "kind": "Kettle", "metadata": named}


async def test_an_object_is_given_those_it_does_not_name(server):
    made = await server.client.create(kettle())
    assert made["metadata"]["finalizers"] == DEFAULT
    assert made["metadata"]["generation"] == 1
    own = await server.client.create(kettle(name="b", finalizers=["kettles.example/gift"]))
    assert own["metadata"]["finalizers"] == ["kettles.example/gift"]


async def test_a_client_cannot_remove_the_finalizers_of_a_living_object(server):
    await server.client.create(kettle(finalizers=["kettles.example/gift"]))
    for metadata in ({}, {"finalizers": []}):
        put = await server.client.update(kettle(**metadata))
        assert put["metadata"]["finalizers"] == DEFAULT


async def test_the_steps_of_a_deletion_run_in_order_before_the_object_is_removed(server, kitchen):
    names = ["kettles.example/gift", "kettles.example/shelf", "empty"]
    await server.client.create(kettle(finalizers=names))
    going = await server.client.delete(PATH, "a", "default")
    assert going["metadata"]["deletionTimestamp"]
    await server.settled()
    assert [step for step, _ in kitchen.steps] == ["empty", "give", "put away"]
    assert (await server.client.list(PATH)).items == []


async def test_a_failed_step_is_reported_and_repeated(server, kitchen):
    kitchen.is_hot = True
    await server.client.create(kettle())
    start = (await server.client.list(PATH)).resource_version
    await server.client.delete(PATH, "a", "default")
    watch = server.client.watch(PATH, resource_version=start)
    async for event in watch:
        stuck = (event.object.get("status") or {}).get("stuck")
        if stuck:
            break
    assert stuck == "remove finalizers: the kettle is hot"
    kitchen.is_hot = False
    async for event in watch:
        if event.type == "DELETED":
            break
        server.clock.advance(1)
    else:
        raise AssertionError("the watch ended")
    await watch.aclose()
    assert kitchen.steps[-1] == ("put away", "a")


async def test_finalizers_of_other_clients_stay_and_hold_the_object(server):
    await server.client.create(kettle(finalizers=["other.example/hold", "empty"]))
    await server.client.delete(PATH, "a", "default")
    await server.settled()
    left = await server.client.get(PATH, "a", "default")
    assert left["metadata"]["finalizers"] == ["other.example/hold"]
