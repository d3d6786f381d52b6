"""A server with objects of many kinds, and its dumps."""

import pytest

from inkube import APIServer

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "nodeName": "one",
        "containers": [{"name": "main", "image": "nginx"}, {"name": "side", "image": "nginx"}],
    },
}


@pytest.fixture
async def live(boat_crd, boat, config_map):
    """A server with built-in objects, a CRD, a custom resource, a Secret and a pod."""
    async with APIServer() as server:
        await server.client.create(boat_crd)
        await server.settled()
        for obj in (
                boat("argo", size=3), config_map("sky", colour="blue"),
                {**config_map("key"), "kind": "Secret", "data": {"a": "Yg=="}},
                {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one"}},
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}},
                {
                    "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
                    "metadata": {"name": "web", "namespace": "default"},
                    "spec": {"maxReplicas": 3, "scaleTargetRef": TARGET},
                },
                POD,
            ):  # fmt: skip
            await server.client.create(obj)
        await server.settled()
        yield server
