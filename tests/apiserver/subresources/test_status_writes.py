"""A status update in process changes only the status, whatever else the object contains."""

import copy

import boats
import pytest

from inkube import APIServer
from inkube.schemas.status import StatusError

OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
CRD = boats.definition(
    {
        "type": "object",
        "properties": {"spec": OPEN, "status": OPEN},
    },
    scope="Cluster",
    subresources={"status": {}},
)
BOAT = {
    "apiVersion": "example.com/v1",
    "kind": "Boat",
    "metadata": {"name": "argo"},
    "spec": {"crew": ["jason", 1.5]},
}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "argo", "namespace": "default"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    },
}


@pytest.fixture
async def client():
    async with APIServer() as server:
        await server.client.create(CRD)
        await server.settled()
        yield server.client


@pytest.mark.parametrize(
    ("obj", "status"), [(BOAT, {"mood": "calm"}), (DEPLOYMENT, {"replicas": 1})]
)
async def test_nothing_but_the_status_changes(client, obj, status):
    created = await client.create(obj)
    changed = {**copy.deepcopy(created), "spec": {}, "status": status}
    written = await client.update(changed, subresource="status")
    assert written["spec"] == created["spec"]
    assert {**written["status"], **status} == written["status"]
    assert written["metadata"].get("generation") == created["metadata"].get("generation")


async def test_a_status_write_does_not_change_the_object_of_its_caller(client):
    created = await client.create(BOAT)
    sent = {**created, "status": {"mood": "calm"}}
    before = copy.deepcopy(sent)
    written = await client.update(sent, subresource="status")
    written["spec"]["crew"].append("medea")
    assert sent == before
    assert (await client.get("example.com/v1/boats", "argo"))["spec"] == BOAT["spec"]


async def test_a_status_for_an_older_object_is_refused(client):
    created = await client.create(BOAT)
    await client.update({**created, "status": {"mood": "calm"}}, subresource="status")
    with pytest.raises(StatusError, match="the object has been modified"):
        await client.update({**created, "status": {"mood": "wild"}}, subresource="status")


async def test_only_the_status_becomes_its_writers(client):
    created = await client.create(BOAT)
    written = await client.update({**created, "status": {"mood": "calm"}}, subresource="status")
    last = written["metadata"]["managedFields"][-1]
    assert last["subresource"] == "status"
    assert last["fieldsV1"] == {"f:status": {".": {}, "f:mood": {}}}
