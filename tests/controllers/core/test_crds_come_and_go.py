"""CRDs are accepted, served, changed and removed with their instances."""

import pytest

from inkube.controllers.core import crds as controller
from inkube.schemas.status import StatusError

CRDS = controller.RESOURCE
BOATS = "example.com/v1/boats"
BELOW = "/registry/example.com/boats/"
SHIPS = "example.com/v1/ships"


@pytest.fixture
async def server(running):
    """A server with its built-in controllers: CRDs are always looked after by one of them."""
    async with running() as made:
        yield made


def crd(plural, kind, **names):
    version = {"name": "v1", "served": True, "storage": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {"plural": plural, "kind": kind, **names},
            "versions": [{**version, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    }


def boat(name, **metadata):
    return {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": name, **metadata}}


def condition(obj, kind):
    return next((c for c in obj["status"]["conditions"] if c["type"] == kind), {})


async def names(client, resource):
    return [obj["metadata"]["name"] for obj in (await client.list(resource)).items]


async def is_served(client, resource):
    try:
        await client.list(resource)
    except StatusError as error:
        if error.code == 404:
            return False
        raise
    return True


async def test_a_new_definition_is_served_and_says_so(server, client):
    await client.create(crd("boats", "Boat"))
    await server.settled()
    found = await client.get(CRDS, "boats.example.com")
    assert condition(found, "Established")["status"] == "True"
    assert await names(client, BOATS) == []


async def test_a_name_waits_until_its_owner_is_gone(server, client):
    await client.create(crd("boats", "Boat"))
    await client.create(crd("ships", "Boat", singular="ship"))
    await server.settled()
    assert not await is_served(client, SHIPS)
    await client.delete(CRDS, "boats.example.com")
    await server.settled()
    assert await is_served(client, SHIPS)
    assert not await is_served(client, BOATS)
    found = await client.get(CRDS, "ships.example.com")
    assert condition(found, "NamesAccepted")["status"] == "True"


async def test_a_changed_definition_takes_the_old_ones_place(server, client):
    await client.create(crd("boats", "Boat"))
    await server.settled()
    patch = {"spec": {"names": {"shortNames": ["bo"]}}}
    await client.patch(CRDS, "boats.example.com", patch=patch)
    await server.settled()
    assert server.resources.get("example.com", "boats").definition.names.short_names == ("bo",)


async def test_instances_go_before_their_definition(server, client, clock, until):
    await client.create(crd("boats", "Boat"))
    await server.settled()
    await client.create(boat("free"))
    await client.create(boat("held", finalizers=["example.com/hold"]))
    await client.delete(CRDS, "boats.example.com")
    await server.settled()
    assert await names(client, BOATS) == ["held"]
    found = await client.get(CRDS, "boats.example.com")
    assert condition(found, "Terminating")["reason"] == "InstanceDeletionInProgress"
    with pytest.raises(StatusError) as refused:
        await client.create(boat("late"))
    assert refused.value.code == 403
    await client.patch(BOATS, "held", patch={"metadata": {"finalizers": None}})
    clock.advance(controller.RECHECK)

    async def is_gone():
        return "boats.example.com" not in await names(client, CRDS)

    await until(is_gone)
    assert not await is_served(client, BOATS)


async def test_a_definition_that_was_never_established_just_goes(server, client):
    await client.create(crd("boats", "Boat"))
    await client.create(crd("ships", "Boat"))
    await server.settled()
    await client.delete(CRDS, "ships.example.com")
    await server.settled()
    assert await names(client, CRDS) == ["boats.example.com"]
    assert await is_served(client, BOATS)


async def test_instances_of_a_definition_that_serves_nothing_go_too(server, client):
    await client.create(crd("boats", "Boat"))
    await server.settled()
    await client.create(boat("a"))
    assert server.store.count(BELOW) == 1
    hide = [{"op": "replace", "path": "/spec/versions/0/served", "value": False}]
    await client.patch(CRDS, "boats.example.com", patch=hide, type="json")
    await server.settled()
    assert not await is_served(client, BOATS)
    await client.delete(CRDS, "boats.example.com")
    await server.settled()
    assert await names(client, CRDS) == []
    assert server.store.count(BELOW) == 0


async def test_a_default_that_changes_its_type_alone_is_served(server, client):
    anything = {"x-kubernetes-preserve-unknown-fields": True, "default": 1}
    made = crd("boats", "Boat")
    schema = {"type": "object", "properties": {"spec": anything}}
    made["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    made = await client.create(made)
    await server.settled()
    assert (await client.create(boat("one")))["spec"] == 1
    stored = await client.get(CRDS, "boats.example.com")
    stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["default"] = (
        True
    )
    await client.update(stored)
    await server.settled()
    assert (await client.create(boat("two")))["spec"] is True


async def test_a_new_definition_can_be_updated_with_what_its_create_was_answered(client):
    made = await client.create(crd("boats", "Boat"))
    changed = await client.update(made | {"metadata": {**made["metadata"], "labels": {"a": "b"}}})
    assert changed["metadata"]["labels"] == {"a": "b"}
