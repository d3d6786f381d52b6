"""Claims, volumes and classes have a finalizer while they are in use, on every server."""

import pytest

from inkube import APIServer

CLAIMS, VOLUMES, PODS = "v1/persistentvolumeclaims", "v1/persistentvolumes", "v1/pods"
CLASSES = "storage.k8s.io/v1/volumeattributesclasses"
SIZE = {"storage": "1Gi"}


@pytest.fixture
async def server():
    async with APIServer() as made:
        yield made


def claim(name="c", **spec):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": SIZE}, **spec}
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}


def volume(**spec):
    spec = {
        "accessModes": ["ReadWriteOnce"], "capacity": SIZE, "hostPath": {"path": "/x"}, **spec,
    }  # fmt: skip
    meta = {"name": "v"}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta, "spec": spec}


def pod(name="p", node="n", **volumes):
    own = volumes or {"persistentVolumeClaim": {"claimName": "c"}}
    spec = {
        "nodeName": node,
        "containers": [{"name": "main", "image": "x"}],
        "volumes": [{"name": "data", **own}],
    }
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


async def deleted(server, resource, name, namespace=""):
    """Delete an object; return whether it is gone after the controllers have settled."""
    await server.client.delete(resource, name, namespace)
    return await gone(server, resource, name)


async def gone(server, resource, name):
    await server.settled()
    listed = (await server.client.list(resource)).items
    found = [each["metadata"] for each in listed if each["metadata"]["name"] == name]
    assert all(meta["deletionTimestamp"] for meta in found)
    return not found


async def test_unused_claims_volumes_and_classes_are_deleted_at_once(server):
    made = await server.client.create(claim())
    assert made["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert await deleted(server, CLAIMS, "c", "default")
    await server.client.create(volume())
    assert await deleted(server, VOLUMES, "v")
    body = {"metadata": {"name": "fast"}, "driverName": "d", "parameters": {"a": "b"}}
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass"}
    await server.client.create({**kind, **body})
    assert await deleted(server, CLASSES, "fast")


async def test_a_claim_stays_while_a_pod_on_a_node_uses_it(server):
    await server.client.create(claim())
    await server.client.create(pod())
    assert not await deleted(server, CLAIMS, "c", "default")
    await server.client.delete(PODS, "p", "default", options={"gracePeriodSeconds": 0})
    assert await gone(server, CLAIMS, "c")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_a_claim_is_deleted_when_its_pod_has_ended(server, phase):
    await server.client.create(claim())
    await server.client.create(pod())
    assert not await deleted(server, CLAIMS, "c", "default")
    patch = {"status": {"phase": phase}}
    await server.client.patch(PODS, "p", "default", patch=patch, subresource="status")
    assert await gone(server, CLAIMS, "c")


async def test_a_pod_without_a_node_holds_no_claim(server):
    await server.client.create(claim())
    await server.client.create(pod(node=""))
    assert await deleted(server, CLAIMS, "c", "default")


async def test_the_claim_of_an_ephemeral_volume_is_its_pod_s(server):
    template = {"spec": claim()["spec"]}
    await server.client.create(claim("p-data"))
    await server.client.create(pod(ephemeral={"volumeClaimTemplate": template}))
    assert not await deleted(server, CLAIMS, "p-data", "default")


async def test_a_volume_stays_while_it_is_bound(server):
    await server.client.create(volume())
    for phase, goes in (("Bound", False), ("Released", True)):
        patch = {"status": {"phase": phase}}
        await server.client.patch(VOLUMES, "v", patch=patch, subresource="status")
        if goes:
            assert await gone(server, VOLUMES, "v")
        else:
            assert not await deleted(server, VOLUMES, "v")


@pytest.mark.parametrize("user", ["claim", "volume"])
async def test_a_class_stays_while_it_is_named(server, user):
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass"}
    body = {"metadata": {"name": "fast"}, "driverName": "d", "parameters": {"a": "b"}}
    await server.client.create({**kind, **body})
    own = {"volumeAttributesClassName": "fast"}
    csi = {"csi": {"driver": "d", "volumeHandle": "h"}, "hostPath": None}
    named = claim(**own) if user == "claim" else volume(**own, **csi)
    await server.client.create(named)
    assert not await deleted(server, CLASSES, "fast")
    place = (CLAIMS, "c", "default") if user == "claim" else (VOLUMES, "v", "")
    assert await deleted(server, *place)
    assert await gone(server, CLASSES, "fast")


async def test_a_namespace_with_claims_is_emptied(server):
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    await server.client.create(space)
    made = claim()
    made["metadata"]["namespace"] = "n"
    await server.client.create(made)
    assert await deleted(server, "v1/namespaces", "n")


async def test_without_kube_controller_manager_they_stay():
    async with APIServer(controllers=False) as server:
        await server.client.create(claim())
        assert not await deleted(server, CLAIMS, "c", "default")


async def test_a_deletion_from_before_a_restart_is_completed(tmp_path):
    data = tmp_path / "store.db"
    async with APIServer(data=data, controllers=False) as server:
        await server.client.create(claim())
        await server.client.delete(CLAIMS, "c", "default")
    async with APIServer(data=data) as server:
        assert await gone(server, CLAIMS, "c")
