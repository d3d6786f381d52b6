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


WHOLE, INIT = "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers"


@pytest.mark.parametrize("member", ["resources", "initContainers"])
@pytest.mark.parametrize("declared", [[], [WHOLE, INIT]])
async def test_a_resize_needs_the_features_of_the_node(client, member, declared):
    """Follows TestNodeDeclaredFeatureAdmission of Kubernetes 1.36."""
    labels, name = {"kubernetes.io/os": "linux"}, f"{member.lower()}-{len(declared)}"
    observed = {"allocatable": {"cpu": "2", "memory": "2Gi"}, "declaredFeatures": declared}
    meta = {"name": name, "labels": labels}
    await client.create({"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": observed})
    small, large = ({"requests": {"cpu": cpu}} for cpu in ("100m", "200m"))
    part = small if member == "resources" else [{"name": "i", "image": "i", "resources": small}]
    spec = {"nodeName": name, "containers": [{"name": "c", "image": "i"}], member: part}
    meta = {"name": name, "namespace": "default"}
    pod = await client.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    pod["metadata"]["labels"] = {"a": "b"}
    pod = await client.update(pod)
    if member == "resources":
        pod["spec"]["resources"] = large
    else:
        pod["spec"]["initContainers"][0]["resources"] = large
    if declared:
        await client.update(pod, subresource="resize")
        return
    with pytest.raises(StatusError) as error:
        await client.update(pod, subresource="resize")
    why = f"pod update requires features {WHOLE if member == 'resources' else INIT} which are not"
    assert error.value.message == f'pods "{name}" is forbidden: {why} available on node "{name}"'
