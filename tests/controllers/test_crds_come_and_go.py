"""CRDs are accepted, served, changed and removed with their instances."""

import asyncio
import copy

import pytest

from inkube.controllers.client import Event
from inkube.controllers.core import crds as controller
from inkube.controllers.manager import Manager
from inkube.schemas import crds, meta

CRDS = controller.RESOURCE
BOATS = "example.com/v1/boats"


class Table:
    """Notes what is served."""

    def __init__(self):
        self.served = {}
        self.installs = 0

    def install(self, definition, *, since=0):
        self.installs += 1
        self.served[definition.group, definition.names.plural] = definition

    def uninstall(self, group, plural):
        self.served.pop((group, plural), None)


@pytest.fixture
def client(new_client, clock):
    """A memory client that treats CRDs and finalizers as the registry does."""
    memory = new_client()
    base = type(memory)

    class Registry(base):
        async def create(self, obj, *, dry_run=False):
            if obj["kind"] != "CustomResourceDefinition":
                return await super().create(obj)
            obj, _ = crds.decode(obj)
            crds.default(obj)
            crds.prepare_create(obj)
            return await self._store((CRDS, "", obj["metadata"]["name"]), obj, "ADDED")

        async def update(self, obj, *, subresource="", dry_run=False):
            obj = copy.deepcopy(obj)
            old = await self.get(CRDS, obj["metadata"]["name"])
            if old["metadata"]["resourceVersion"] != obj["metadata"]["resourceVersion"]:
                raise AssertionError("a stale write")
            key = (CRDS, "", obj["metadata"]["name"])
            if "deletionTimestamp" in obj["metadata"] and "finalizers" not in obj["metadata"]:
                del self.objects[key]
                await self._log(CRDS, "DELETED", obj)
                return obj
            return await self._change(key, obj, old)

        async def delete(self, resource, name, namespace="", *, options=None):
            obj = await self.get(resource, name, namespace)
            key = (
                meta.GVR.parse(resource) if isinstance(resource, str) else resource,
                namespace,
                name,
            )
            if obj["kind"] == "CustomResourceDefinition":
                crds.prepare_delete(obj, meta.format_time(self.clock.now()))
                return await self._store(key, obj, "MODIFIED")
            if "finalizers" in obj["metadata"]:
                obj["metadata"]["deletionTimestamp"] = meta.format_time(self.clock.now())
                return await self._store(key, obj, "MODIFIED")
            return await super().delete(resource, name, namespace)

        async def change(self, name, **spec):
            obj = await self.get(CRDS, name)
            obj["spec"] |= spec
            return await self._store((CRDS, "", name), obj, "MODIFIED")

        async def free(self, resource, name):
            key = (meta.GVR.parse(resource), "", name)
            obj = self.objects.pop(key)
            await self._log(key[0], Event("DELETED", obj).type, obj)

    memory.__class__ = Registry
    return memory


@pytest.fixture
async def cluster(client, clock):
    """The controller at work: (client, table, settled)."""
    table, manager = Table(), Manager(client, clock)
    controller.add(manager, table)

    async def settled():
        async with asyncio.timeout(5):
            await manager.settled()

    async with manager:
        yield client, table, settled


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


async def until(is_so):
    """Let the loop run until it is so, for at most so many turns."""
    for _ in range(1000):
        if is_so():
            return
        await asyncio.sleep(0)
    pytest.fail("did not happen")


def condition(obj, kind):
    return next((c for c in obj["status"]["conditions"] if c["type"] == kind), {})


async def test_a_new_definition_is_served_and_says_so(cluster):
    client, table, settled = cluster
    await client.create(crd("boats", "Boat"))
    await settled()
    found = await client.get(CRDS, "boats.example.com")
    assert condition(found, "Established")["status"] == "True"
    assert table.served["example.com", "boats"].names.kind == "Boat"
    assert table.installs == 1


async def test_a_name_waits_until_its_owner_is_gone(cluster):
    client, table, settled = cluster
    await client.create(crd("boats", "Boat"))
    await client.create(crd("ships", "Boat", singular="ship"))
    await settled()
    assert ("example.com", "ships") not in table.served
    await client.delete(CRDS, "boats.example.com")
    await settled()
    assert list(table.served) == [("example.com", "ships")]
    found = await client.get(CRDS, "ships.example.com")
    assert condition(found, "NamesAccepted")["status"] == "True"


async def test_a_changed_definition_takes_the_old_ones_place(cluster):
    client, table, settled = cluster
    await client.create(crd("boats", "Boat"))
    await settled()
    names = {**crd("boats", "Boat")["spec"]["names"], "shortNames": ["bo"]}
    await client.change("boats.example.com", names={**names, "singular": "boat"})
    await settled()
    assert table.served["example.com", "boats"].names.short_names == ("bo",)


async def test_instances_go_before_their_definition(cluster, clock):
    client, table, settled = cluster
    await client.create(crd("boats", "Boat"))
    await settled()
    await client.create(boat("free"))
    await client.create(boat("held", finalizers=["example.com/hold"]))
    await client.delete(CRDS, "boats.example.com")
    await settled()
    left = await client.list(BOATS)
    assert [obj["metadata"]["name"] for obj in left.items] == ["held"]
    found = await client.get(CRDS, "boats.example.com")
    assert condition(found, "Terminating")["reason"] == "InstanceDeletionInProgress"
    assert table.served["example.com", "boats"].terminating
    await client.free(BOATS, "held")
    clock.advance(controller.RECHECK)
    await until(lambda: not client.objects)
    assert table.served == {}


async def test_a_definition_that_was_never_established_just_goes(cluster):
    client, table, settled = cluster
    await client.create(crd("boats", "Boat"))
    await client.create(crd("ships", "Boat"))
    await settled()
    await client.delete(CRDS, "ships.example.com")
    await settled()
    left = await client.list(CRDS)
    assert [obj["metadata"]["name"] for obj in left.items] == ["boats.example.com"]
    assert list(table.served) == [("example.com", "boats")]


async def test_instances_of_a_definition_that_serves_nothing_go_too(cluster):
    client, _, settled = cluster
    hidden = crd("boats", "Boat")
    hidden["spec"]["versions"][0]["served"] = False
    await client.create(hidden)
    await client.create(boat("a"))
    await settled()
    await client.delete(CRDS, "boats.example.com")
    await settled()
    assert client.objects == {}
