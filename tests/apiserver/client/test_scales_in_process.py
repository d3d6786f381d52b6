"""In-process clients get a Scale from the scale subresource, as over HTTP."""

import pytest

from inkube.schemas.status import StatusError

DEPLOYMENTS = "apps/v1/deployments"
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    },
}


def test_a_scale_is_read_and_patched(kube):
    kube.client.create(DEPLOYMENT)
    scale = kube.client.get(DEPLOYMENTS, "web", subresource="scale")
    assert scale["kind"] == "Scale"
    assert scale["status"]["selector"] == "app=web"
    changed = kube.client.patch(
        DEPLOYMENTS, "web", "default", patch={"spec": {"replicas": 4}}, subresource="scale"
    )
    assert (changed["kind"], changed["spec"]) == ("Scale", {"replicas": 4})
    assert kube.client.get(DEPLOYMENTS, "web")["spec"]["replicas"] == 4


def test_a_scale_contains_no_members_of_its_object(kube):
    kube.client.create(DEPLOYMENT)
    body = {"spec": {"replicas": 2, "paused": True}, "metadata": {"labels": {"a": "b"}}}
    kube.client.patch(DEPLOYMENTS, "web", "default", patch=body, subresource="scale")
    found = kube.client.get(DEPLOYMENTS, "web")
    assert found["spec"]["replicas"] == 2
    assert "paused" not in found["spec"]
    assert "labels" not in found["metadata"]


def test_kinds_without_a_scale_have_none(kube):
    kube.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
    with pytest.raises(StatusError) as refused:
        kube.client.get("v1/configmaps", "c", subresource="scale")
    assert refused.value.code == 404
