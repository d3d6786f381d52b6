"""Owner references on a real server: cascading, blocking and orphaning deletion."""

import random

import boats
import pytest

from inkube import APIServer
from inkube.controllers.client import Selection
from inkube.schemas.status import StatusError

MAPS = "v1/configmaps"


def config_map(name, *owners, namespace="default", **metadata):
    meta = {"name": name, "namespace": namespace, "ownerReferences": list(owners), **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


def owner(obj, **more):
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": obj["metadata"]["name"],
        "uid": obj["metadata"]["uid"],
        **more,
    }


async def names(server, namespace="default"):
    found = await server.client.list(MAPS, Selection(namespace=namespace))
    return {obj["metadata"]["name"] for obj in found.items}


async def delete(server, name, policy=None, resource=MAPS):
    options = {"propagationPolicy": policy} if policy else None
    return await server.client.delete(resource, name, "default", options=options)


def crd():
    return boats.definition({"type": "object", "x-kubernetes-preserve-unknown-fields": True})


async def test_dependents_of_dependents_are_deleted_in_the_background():
    async with APIServer() as server:
        top = await server.client.create(config_map("top"))
        middle = await server.client.create(config_map("middle", owner(top)))
        await server.client.create(config_map("leaf", owner(middle)))
        await delete(server, "top")
        await server.settled()
        assert await names(server) == set()


async def test_an_object_with_one_remaining_owner_stays_and_loses_the_other_reference():
    async with APIServer() as server:
        one = await server.client.create(config_map("one"))
        two = await server.client.create(config_map("two"))
        await server.client.create(config_map("child", owner(one), owner(two)))
        await delete(server, "one")
        await server.settled()
        child = await server.client.get(MAPS, "child", "default")
        assert child["metadata"]["ownerReferences"] == [owner(two)]


async def test_a_foreground_deletion_waits_for_those_that_block_it():
    async with APIServer() as server:
        top = await server.client.create(config_map("top"))
        held = config_map("held", owner(top, blockOwnerDeletion=True), finalizers=["a.b/hold"])
        await server.client.create(held)
        free = config_map("free", owner(top), finalizers=["a.b/hold"])
        await server.client.create(free)
        answer = await delete(server, "top", "Foreground")
        assert answer["metadata"]["finalizers"] == ["foregroundDeletion"]
        await server.settled()
        assert await names(server) == {"top", "held", "free"}
        patch = {"metadata": {"finalizers": None}}
        await server.client.patch(MAPS, "held", "default", patch=patch)
        await server.settled()
        assert await names(server) == {"free"}


async def test_a_foreground_deletion_deletes_the_whole_tree():
    async with APIServer() as server:
        top = await server.client.create(config_map("top"))
        middle = await server.client.create(
            config_map("middle", owner(top, blockOwnerDeletion=True))
        )
        await server.client.create(config_map("leaf", owner(middle, blockOwnerDeletion=True)))
        await delete(server, "top", "Foreground")
        await server.settled()
        assert await names(server) == set()


async def test_a_circle_of_owners_does_not_hold_a_foreground_deletion():
    async with APIServer() as server:
        one = await server.client.create(config_map("one"))
        two = await server.client.create(config_map("two", owner(one, blockOwnerDeletion=True)))
        references = [owner(two, blockOwnerDeletion=True)]
        patch = {"metadata": {"ownerReferences": references}}
        await server.client.patch(MAPS, "one", "default", patch=patch)
        await server.settled()
        await delete(server, "one", "Foreground")
        await server.settled()
        assert await names(server) == set()


async def test_orphans_stay_and_know_their_owner_no_longer():
    async with APIServer() as server:
        top = await server.client.create(config_map("top"))
        await server.client.create(config_map("child", owner(top)))
        await delete(server, "top", "Orphan")
        await server.settled()
        child = await server.client.get(MAPS, "child", "default")
        assert "ownerReferences" not in child["metadata"]
        assert await names(server) == {"child"}


async def test_an_owner_that_never_was_or_lives_elsewhere_is_no_owner():
    async with APIServer() as server:
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
        await server.client.create(space)
        far = await server.client.create(config_map("far", namespace="other"))
        await server.client.create(config_map("stray", owner(far)))
        ghost = {**owner(far), "name": "ghost", "uid": "0-0"}
        await server.client.create(config_map("haunted", ghost))
        await server.settled()
        assert await names(server) == set()
        assert await names(server, "other") == {"far"}


async def test_a_new_object_of_the_old_owners_name_is_no_owner():
    async with APIServer() as server:
        first = await server.client.create(config_map("top"))
        await delete(server, "top")
        await server.client.create(config_map("top"))
        await server.client.create(config_map("child", owner(first)))
        await server.settled()
        assert await names(server) == {"top"}


async def test_cluster_scoped_objects_with_an_owner_in_a_namespace_are_left_alone():
    async with APIServer() as server:
        ghost = owner(await server.client.create(config_map("top")))
        role = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "wide", "ownerReferences": [ghost]},
        }
        await server.client.create(role)
        await delete(server, "top")
        await server.settled()
        assert await server.client.get("rbac.authorization.k8s.io/v1/clusterroles", "wide")


async def test_an_owner_of_a_kind_not_served_is_waited_for():
    async with APIServer() as server:
        ghost = {"apiVersion": "example.com/v1", "kind": "Boat", "name": "x", "uid": "1-2"}
        await server.client.create(config_map("child", ghost))
        await server.settled()
        assert await names(server) == {"child"}
        await server.client.create(crd())
        await server.settled()
        assert await names(server) == set()


async def test_a_deleted_definition_deletes_its_objects_and_their_dependents():
    async with APIServer() as server:
        await server.client.create(crd())
        await server.settled()
        meta = {"name": "b", "namespace": "default"}
        body = {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": meta}
        boat = await server.client.create(body)
        await server.client.create(config_map("cargo", owner(boat)))
        await server.client.delete(
            "apiextensions.k8s.io/v1/customresourcedefinitions", "boats.example.com"
        )
        await server.settled()
        assert await names(server) == set()


async def test_deleted_jobs_orphan_their_dependents_by_default():
    container = {"name": "c", "image": "i"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "default"},
        "spec": {"template": template},
    }
    async with APIServer() as server:
        job = await server.client.create(body)
        await server.client.create(config_map("child", owner(job)))
        await delete(server, "j", resource="batch/v1/jobs")
        await server.settled()
        assert await names(server) == {"child"}
        with pytest.raises(StatusError):
            await server.client.get("batch/v1/jobs", "j", "default")


async def test_what_was_left_when_the_server_stopped_is_collected_when_it_starts(tmp_path):
    async with APIServer(data=tmp_path / "store.db", controllers=False) as server:
        top = await server.client.create(config_map("top"))
        await server.client.create(config_map("child", owner(top)))
        await delete(server, "top")
        assert await names(server) == {"child"}
    async with APIServer(data=tmp_path / "store.db") as server:
        await server.settled()
        assert await names(server) == set()


async def test_objects_survive_with_a_living_owner_or_without_any_owner():
    async with APIServer() as server:
        for seed in range(12):
            await _forest(server, random.Random(seed), f"forest-{seed}")


async def _forest(server, chance, namespace):
    """A random forest of owners, a random deletion, and the objects that must remain."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    await server.client.create(space)
    made, parents = [], {}
    for index in range(9):
        chosen = chance.sample(made, k=min(len(made), chance.choice([0, 0, 1, 2])))
        blocks = chance.random() < 0.5
        owners = [owner(parent, blockOwnerDeletion=blocks) for parent in chosen]
        obj = await server.client.create(config_map(f"m{index}", *owners, namespace=namespace))
        made.append(obj)
        parents[f"m{index}"] = [parent["metadata"]["name"] for parent in chosen]
    alive = set(parents)
    while alive:
        name = chance.choice(sorted(alive))
        policy = {"propagationPolicy": chance.choice(["Background", "Foreground"])}
        await server.client.delete(MAPS, name, namespace, options=policy)
        await server.settled()
        alive.discard(name)
        alive = _survivors(alive, parents)
        parents = {
            name: [parent for parent in owners if parent in alive]
            for name, owners in parents.items()
            if name in alive
        }
        assert await names(server, namespace) == alive


def _survivors(alive, parents):
    """Repeatedly remove objects that had owners and have none left."""
    while True:
        gone = {name for name in alive if parents[name] and not alive & set(parents[name])}
        if not gone:
            return alive
        alive = alive - gone
