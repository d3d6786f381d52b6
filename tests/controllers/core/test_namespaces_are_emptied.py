"""Deletion of namespaces: deleted content, blocking finalizers, conditions."""

import asyncio

import pytest
from patience import within

from inkube import APIServer
from inkube.schemas.status import StatusError

SPACES = "v1/namespaces"


def space(name):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def config_map(name, namespace, **metadata):
    meta = {"name": name, "namespace": namespace, **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


async def conditions(server, name):
    found = await server.client.get(SPACES, name)
    return {each["type"]: each for each in found["status"]["conditions"]}


async def is_gone(server, name):
    try:
        await server.client.get(SPACES, name)
    except StatusError as error:
        return error.code == 404
    return False


async def test_a_deleted_namespace_ends_with_all_its_objects():
    async with APIServer() as server, within():
        await server.client.create(space("a"))
        for number in range(20):
            await server.client.create(config_map(f"m{number}", "a"))
        answer = await server.client.delete(SPACES, "a")
        assert answer["status"]["phase"] == "Terminating"
        assert "deletionGracePeriodSeconds" not in answer["metadata"]
        await server.settled()
        assert await is_gone(server, "a")
        assert not (await server.client.list("v1/configmaps")).items


async def test_a_terminating_namespace_reports_remaining_objects_and_ends_after_them():
    async with APIServer() as server:
        await server.client.create(space("a"))
        await server.client.create(config_map("held", "a", finalizers=["a.b/hold"]))
        await server.client.create(config_map("free", "a"))
        await server.client.delete(SPACES, "a")
        await server.settled()
        found = await conditions(server, "a")
        assert list(found) == [
            "NamespaceDeletionDiscoveryFailure",
            "NamespaceDeletionGroupVersionParsingFailure",
            "NamespaceDeletionContentFailure",
            "NamespaceContentRemaining",
            "NamespaceFinalizersRemaining",
        ]
        remaining = "Some resources are remaining: configmaps. has 1 resource instances"
        assert found["NamespaceContentRemaining"]["message"] == remaining
        holding = "Some content in the namespace has finalizers remaining: "
        holding += "a.b/hold in 1 resource instances"
        assert found["NamespaceFinalizersRemaining"]["message"] == holding
        patch = {"metadata": {"finalizers": None}}
        await server.client.patch("v1/configmaps", "held", "a", patch=patch)
        await server.settled()
        assert await is_gone(server, "a")


async def test_a_terminating_namespace_admits_no_new_objects():
    async with APIServer() as server:
        await server.client.create(space("a"))
        await server.client.create(config_map("held", "a", finalizers=["a.b/hold"]))
        await server.client.delete(SPACES, "a")
        with pytest.raises(StatusError) as refused:
            await server.client.create(config_map("late", "a"))
        assert refused.value.code == 403
        assert refused.value.details["causes"][0]["reason"] == "NamespaceTerminating"


async def test_a_running_pod_holds_back_everything_else():
    container = {"name": "c", "image": "i"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "a"},
        "spec": {"nodeName": "n", "containers": [container]},
    }
    async with APIServer() as server:
        await server.client.create(space("a"))
        await server.client.create(pod)
        await server.client.create(config_map("later", "a"))
        await server.client.delete(SPACES, "a")
        await server.settled()
        assert await server.client.get("v1/configmaps", "later", "a")
        marked = await server.client.get("v1/pods", "p", "a")
        assert marked["metadata"]["deletionGracePeriodSeconds"] == 30
        await server.client.delete("v1/pods", "p", "a", options={"gracePeriodSeconds": 0})
        await server.settled()
        assert await is_gone(server, "a")


async def test_a_foreign_finalizer_keeps_an_empty_namespace():
    async with APIServer() as server:
        body = {**space("a"), "spec": {"finalizers": ["example.com/mine"]}}
        await server.client.create(body)
        await server.client.delete(SPACES, "a")
        await server.settled()
        found = await server.client.get(SPACES, "a")
        assert found["spec"]["finalizers"] == ["example.com/mine"]
        found["spec"]["finalizers"] = []
        await server.client.update(found, subresource="finalize")
        assert await is_gone(server, "a")


async def test_a_dry_run_deletes_nothing_and_answers_terminating():
    async with APIServer() as server:
        await server.client.create(space("a"))
        answer = await server.client.delete(SPACES, "a", options={"dryRun": ["All"]})
        assert answer["status"]["phase"] == "Terminating"
        await server.settled()
        assert (await server.client.get(SPACES, "a"))["status"]["phase"] == "Active"


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_some_namespaces_cannot_be_deleted(name):
    async with APIServer() as server:
        with pytest.raises(StatusError, match="may not be deleted"):
            await server.client.delete(SPACES, name)


async def test_many_namespaces_are_deleted_at_the_same_time():
    async with APIServer() as server:
        for number in range(30):
            await server.client.create(space(f"s{number}"))
            await server.client.create(config_map("m", f"s{number}"))
        await asyncio.gather(*(server.client.delete(SPACES, f"s{number}") for number in range(30)))
        await server.settled()
        left = (await server.client.list(SPACES)).items
        assert not [obj for obj in left if obj["metadata"]["name"].startswith("s")]
