"""A CRD that asks for a conversion webhook works in its storage version and nowhere else."""

import pytest

from inkube import APIServer
from inkube.schemas.status import StatusError

SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "boats.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"kind": "Boat", "plural": "boats"},
        "versions": [
            {"name": name, "served": True, "storage": name == "v1", "schema": SCHEMA}
            for name in ("v1", "v2")
        ],
        "conversion": {
            "strategy": "Webhook",
            "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": {"url": "https://127.0.0.1:1/convert"},
            },
        },
    },
}


async def test_other_versions_than_the_stored_one_answer_501():
    async with APIServer() as server:
        await server.client.create(CRD)
        await server.settled()
        boat = {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "argo"}}
        await server.client.create(boat)
        assert await server.client.get("example.com/v1/boats", "argo")
        with pytest.raises(StatusError, match="converted by a webhook") as caught:
            await server.client.get("example.com/v2/boats", "argo")
        assert (caught.value.code, caught.value.reason) == (501, "NotImplemented")
        with pytest.raises(StatusError, match="storage version"):
            await server.client.create({**boat, "apiVersion": "example.com/v2"})
