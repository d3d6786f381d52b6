"""The clients of servers, fixtures and controllers have methods with the same meaning."""

import inspect

import pytest

from inkube import APIServer, StatusError
from inkube.apiserver.client import FaultInjection, InProcessClient
from inkube.client import AsyncClient, BlockingClient, Client
from inkube.kinds import KindModule, Model, Resource
from inkube.testing import LoopThread, Plan, running

MAPS = "v1/configmaps"
METHODS = ("get", "list", "watch", "revision", "create", "update", "patch", "delete")


FAULT = {
    "apiVersion": "world.inkube.dev/v1",
    "kind": "Fault",
    "metadata": {"name": "of-others"},
    "spec": {"match": {"resources": ["pods"]}, "answer": {"code": 500}},
}


class BoatSpec(Model):
    sails: int = 1


class Boat(Resource, group="harbour.example", version="v1"):
    spec: BoatSpec = BoatSpec()


def config_map(name, **labels):
    meta = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


def parameters(client, method):
    """Return names, kinds and defaults of a method's parameters."""
    found = list(inspect.signature(getattr(client, method)).parameters.values())[1:]
    return [(each.name, each.kind, each.default) for each in found]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("client", [InProcessClient, BlockingClient, AsyncClient])
def test_every_client_has_the_methods_of_the_protocol(client, method):
    assert parameters(client, method) == parameters(Client, method)


@pytest.mark.parametrize("client", [BlockingClient, AsyncClient])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_its_text(client, method):
    assert getattr(client, method).__doc__ == getattr(Client, method).__doc__


async def test_objects_without_a_namespace_are_in_default_and_lists_are_of_all():
    async with APIServer() as server:
        client = server.client
        made = await client.create(config_map("a", tier="web"))
        assert made["metadata"]["namespace"] == "default"
        assert (await client.get(MAPS, "a"))["metadata"]["uid"] == made["metadata"]["uid"]
        await client.update({**config_map("a", tier="web"), "data": {"k": "v"}})
        assert (await client.patch(MAPS, "a", patch={"data": {"n": "1"}}))["data"]["n"] == "1"
        await client.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
        )
        other = config_map("b", tier="db")
        other["metadata"]["namespace"] = "other"
        await client.create(other)
        assert {each["metadata"]["name"] for each in await client.list(MAPS)} >= {"a", "b"}
        assert [each["metadata"]["name"] for each in await client.list(MAPS, labels="tier=db")] == [
            "b"
        ]
        found = await client.list(MAPS, "other", fields="metadata.name=b")
        assert [each["metadata"]["name"] for each in found] == ["b"]
        await client.delete(MAPS, "a")
        with pytest.raises(StatusError):
            await client.get(MAPS, "a")


async def test_an_empty_list_is_false_and_has_its_version():
    async with APIServer() as server:
        found = await server.client.list("batch/v1/jobs")
        assert not found
        assert found == found.items == []
        assert int(found.resource_version) > 0


async def test_kinds_of_python_and_their_objects_are_taken():
    async with APIServer(kinds=[KindModule(Boat)]) as server:
        boat = Boat.model_validate({"metadata": {"name": "argo"}, "spec": {"sails": 2}})
        await server.client.create(boat)
        [found] = await server.client.list(Boat)
        assert found["spec"] == {"sails": 2}
        assert found["metadata"]["namespace"] == "default"


@pytest.mark.parametrize("injects", [False, True])
async def test_a_model_is_created_and_updated_with_faults_and_without(injects):
    async with APIServer(kinds=[KindModule(Boat)]) as server:
        if injects:
            await server.client.create(FAULT)
        core = server.parts.core
        client = InProcessClient(
            core.registry, core.resources, faults=FaultInjection(core.faults, server.clock)
        )
        made = await client.create(Boat.model_validate({"metadata": {"name": "argo"}}))
        made["spec"]["sails"] = 3
        changed = await client.update(Boat.model_validate(made))
    assert changed["spec"] == {"sails": 3}


def test_a_blocking_client_watches():
    with LoopThread() as thread, running(thread, Plan()) as kube:
        kube.client.create(config_map("a"))
        events = kube.client.watch(MAPS, "default")
        assert next(events).object["metadata"]["name"] == "a"
        events.close()
