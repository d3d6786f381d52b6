"""CRDs are accepted, served, changed, and removed with their objects."""

import asyncio

import boats
import patience
import pytest

from inkube.controllers.core import crds as controller
from inkube.schemas.status import StatusError

CRDS = controller.RESOURCE
BOATS = "example.com/v1/boats"
BELOW = "/registry/example.com/boats/"
SHIPS = "example.com/v1/ships"


@pytest.fixture
async def server(running):
    """A server with its built-in controllers, which include that of CRDs."""
    async with running() as made:
        yield made


def crd(plural, kind, **names):
    return boats.definition(
        {"type": "object"}, kind, scope="Cluster", names={"plural": plural, **names}
    )


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


async def test_a_new_definition_is_served_and_established(server, client):
    await client.create(crd("boats", "Boat"))
    await server.settled()
    found = await client.get(CRDS, "boats.example.com")
    assert condition(found, "Established")["status"] == "True"
    assert await names(client, BOATS) == []


async def test_a_definition_is_served_while_it_is_established(server, client):
    made = await client.create(crd("boats", "Boat"))
    await server.settled()
    await client.create(boat("a"))
    made = await client.get(CRDS, "boats.example.com")
    kept = [condition(made, "NamesAccepted")]
    for conditions, served in (([], False), (kept, True)):
        made["status"]["conditions"] = conditions
        made = await client.update(made, subresource="status")
        await server.settled()
        assert await is_served(client, BOATS) is served
        made = await client.get(CRDS, "boats.example.com")
    assert condition(made, "Established")["status"] == "True"
    assert await names(client, BOATS) == ["a"]


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


async def test_instances_are_deleted_before_their_definition(server, client, clock, until):
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
    await server.settled()
    assert not await is_served(client, BOATS)


async def test_a_definition_that_was_never_established_is_deleted_at_once(server, client):
    await client.create(crd("boats", "Boat"))
    await client.create(crd("ships", "Boat"))
    await server.settled()
    await client.delete(CRDS, "ships.example.com")
    await server.settled()
    assert await names(client, CRDS) == ["boats.example.com"]
    assert await is_served(client, BOATS)


async def test_instances_of_a_definition_that_serves_nothing_are_deleted_too(server, client):
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


def limited(at_most):
    """Return a CRD whose boats have at most this number of masts."""
    made = crd("boats", "Boat")
    masts = {"type": "integer", "maximum": at_most}
    [version] = made["spec"]["versions"]
    version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"masts": masts}}}
    return made


@pytest.mark.parametrize("verb", ["PUT", "PATCH"])
async def test_a_new_schema_is_in_force_when_its_writer_is_answered(server, client, verb):
    await client.create(limited(3))
    await server.settled()
    await client.create({**boat("a"), "masts": 3})
    for at_most in (2, 1):
        spec = limited(at_most)["spec"]
        if verb == "PUT":
            found = await client.get(CRDS, "boats.example.com")
            await client.update({**found, "spec": spec})
        else:
            await client.patch(CRDS, "boats.example.com", patch={"spec": spec})
        with pytest.raises(StatusError) as refused:
            await client.create({**boat("b"), "masts": at_most + 1})
        assert refused.value.code == 422
    await server.settled()
    with pytest.raises(StatusError):
        await client.create({**boat("b"), "masts": 2})


async def test_what_a_controller_read_before_does_not_bring_an_old_schema_back(server, client):
    """For example a reconciler that began before the definition was written."""
    await client.create(limited(3))
    await server.settled()
    former = await client.get(CRDS, "boats.example.com")
    changed = await client.patch(CRDS, "boats.example.com", patch={"spec": limited(2)["spec"]})
    looked = []
    follower = controller.CRDController(
        client, _Table(looked), clock=server.clock, informer=server.manager.informers.of(CRDS)
    )
    follower.serve({**changed})
    follower.serve({**former})
    assert looked == [2]


class _Table:
    """Installed by a controller: the maximum number of masts."""

    def __init__(self, looked):
        self._looked = looked

    def install(self, definition, **_):
        schema = definition.storage_version.schema
        self._looked.append(schema["properties"]["masts"]["maximum"])

    def serves(self, resource):
        raise NotImplementedError

    def uninstall(self, group, plural):
        raise NotImplementedError


async def watched(client, resource):
    """Return a watch that has received the existing objects, and the list to which it appends
    events."""
    told, begun = [], asyncio.Event()

    async def read():
        async for event in client.watch(resource):
            told.append((event.type, event.object["metadata"].get("name")))
            begun.set()

    task = asyncio.create_task(read())
    await asyncio.wait_for(begun.wait(), patience.SECONDS)
    return task, told


async def test_watches_end_when_their_kind_is_served_otherwise(server, client):
    for plural, kind in (("boats", "Boat"), ("ships", "Ship")):
        await client.create(crd(plural, kind))
    await server.settled()
    boats, told = await watched(client, BOATS)
    ships, _ = await watched(client, SHIPS)
    await client.create(boat("a"))
    await client.patch(CRDS, "boats.example.com", patch={"spec": limited(2)["spec"]})
    await asyncio.wait_for(boats, patience.SECONDS)
    assert told[-1] == ("ADDED", "a")
    assert not ships.done()
    await client.delete(CRDS, "ships.example.com")
    await asyncio.wait_for(ships, patience.SECONDS)
    assert server.resources.get("example.com", "boats").watchers == set()


async def test_a_watch_receives_the_deletions_of_objects_of_a_deleted_definition(server, client):
    await client.create(crd("boats", "Boat"))
    await server.settled()
    await client.create(boat("a"))
    task, told = await watched(client, BOATS)
    await client.delete(CRDS, "boats.example.com")
    await asyncio.wait_for(task, patience.SECONDS)
    assert told[-1] == ("DELETED", "a")


async def test_a_changed_label_of_a_definition_ends_no_watch(server, client):
    await client.create(crd("boats", "Boat"))
    await server.settled()
    task, told = await watched(client, BOATS)
    await client.patch(CRDS, "boats.example.com", patch={"metadata": {"labels": {"a": "b"}}})
    await client.create(boat("a"))
    await server.settled()
    assert not task.done()
    assert told[-1] == ("ADDED", "a")
    task.cancel()
