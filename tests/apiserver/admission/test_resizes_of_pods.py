"""Resizes are refused if the node cannot carry them out.

Follows TestPodResizeValidation of Kubernetes 1.36.
"""

import copy

import pytest

from inkube import APIServer, StatusError


@pytest.fixture
async def client():
    async with APIServer(controllers=False) as server:
        for name, system in (("small", "linux"), ("other", "windows"), ("unsaid", "")):
            labels = {"kubernetes.io/os": system} if system else {}
            meta = {"name": name, "labels": labels}
            observed = {"allocatable": {"cpu": "2", "memory": "2Gi"}}
            node = {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": observed}
            await server.client.create(node)
        yield server.client


SMALL = "node didn't have enough allocatable resources: cpu, requested: 4000, allocatable: 2000"


@pytest.mark.parametrize(
    ("node", "cpu", "why", "cause"),
    [
        ("small", "1", "", ""),
        ("unsaid", "1", "", ""),
        ("small", "4", SMALL, "NodeCapacity"),
        ("other", "0.5", "", ""),
        (
            "other",
            "1",
            'pod resize is only supported on linux nodes, node "other" is "windows"',
            "UnsupportedPlatform",
        ),
        ("absent", "1", 'node "absent" not found', ""),
        ("", "4", "", ""),
    ],
)
async def test_a_resize_must_fit_the_node(client, node, cpu, why, cause):
    requests = {"cpu": "500m", "memory": "512Mi"}
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    spec = {"containers": [container], **({"nodeName": node} if node else {})}
    meta = {"generateName": "p-", "namespace": "default"}
    pod = await client.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    resized = copy.deepcopy(pod)
    resized["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
    if not why:
        await client.update(resized, subresource="resize")
        return
    with pytest.raises(StatusError) as error:
        await client.update(resized, subresource="resize")
    name = pod["metadata"]["name"]
    assert (error.value.code, error.value.message) == (403, f'pods "{name}" is forbidden: {why}')
    causes = (error.value.details or {}).get("causes", [])
    assert [each["reason"] for each in causes] == ([cause] if cause else [])
