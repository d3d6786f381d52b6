"""A resource can be written in any notation that kubectl and the project's own tools know."""

import pytest

from inkube import APIServer
from inkube.schemas.definitions import Names
from inkube.schemas.notation import Notation
from inkube.schemas.status import StatusError

DEPLOYMENT = Names("deployments", "Deployment", "deployment", short_names=("deploy",))
SPELLINGS = [
    "deployments", "deployment", "Deployment", "deploy", "deployments.apps", "Deployment.apps",
    "deploy.apps", "apps/v1/deployments", "apps/v1/Deployment", "apps/v1beta1/deploy",
]  # fmt: skip


@pytest.mark.parametrize("text", SPELLINGS)
def test_each_notation_means_the_resource(text):
    assert Notation.parse(text).means("apps", DEPLOYMENT)
    assert Notation.parse(text).subresource == ""
    assert Notation.parse(f"{text}/scale").subresource == "scale"
    assert Notation.parse(f"{text}/scale").means("apps", DEPLOYMENT)


@pytest.mark.parametrize(
    "text", ["deploys", "deployments.extensions", "v1/deployments", "extensions/v1/deployments", ""]
)
def test_a_notation_means_no_other_resource(text):
    assert not Notation.parse(text).means("apps", DEPLOYMENT)


async def test_a_client_takes_each_notation():
    async with APIServer(offline=True) as server:
        made = await server.client.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        )
        for text in ("v1/configmaps", "configmaps", "configmap", "ConfigMap", "cm"):
            found = await server.client.get(text, "a")
            assert found["metadata"]["uid"] == made["metadata"]["uid"]
        with pytest.raises(StatusError, match="nothing is served as cmm"):
            await server.client.get("cmm", "a")
