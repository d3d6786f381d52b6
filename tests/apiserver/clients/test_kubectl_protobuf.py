"""Newer kubectl requests protobuf: Go's decoder reads the same objects from it as from JSON."""

import json

import pytest

LIVE = ("managedFields", "resourceVersion", "status")
MEDIA = "Content-Type: application/vnd.kubernetes.protobuf"
APPS, BATCH = "/apis/apps/v1/namespaces/default", "/apis/batch/v1/namespaces/default"
NETWORKING = "/apis/networking.k8s.io/v1/namespaces/default"
MADE = {
    f"{APPS}/deployments/web": ["deployment", "web", "--image=x", "--port=80", "--replicas=2"],
    f"{BATCH}/jobs/j": ["job", "j", "--image=x"],
    f"{NETWORKING}/ingresses/i": ["ingress", "i", "--rule=a.b/c=s:http", "--annotation=x=y"],
    "/api/v1/namespaces/default/services/s": ["service", "clusterip", "s", "--tcp=80:http"],
    "/api/v1/namespaces/default/secrets/k": ["secret", "generic", "k", "--from-literal=a=é"],
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets/p": [
        "pdb", "p", "--selector=a=b", "--min-available=50%",
    ],
}  # fmt: skip


def filled(value):
    """Remove empty values, because kubectl prints some of them, and the status, which controllers
    write."""
    if isinstance(value, dict):
        kept = {key: filled(child) for key, child in value.items() if key not in LIVE}
        return {key: child for key, child in kept.items() if child not in ({}, [], "", 0, None)}
    return [filled(child) for child in value] if isinstance(value, list) else value


@pytest.mark.parametrize("path", MADE)
def test_kubectl_decodes_protobuf_to_the_same_objects_as_json(kubectl_on_path, path):
    kubectl = kubectl_on_path
    shown = json.loads(kubectl("create", *MADE[path], "-o", "json"))
    assert filled(shown) == filled(json.loads(kubectl("get", "--raw", path)))
    again = kubectl("create", *MADE[path], "-v=8", code=1)
    assert "already exists" in again  # from a Status that kubectl has decoded
    if MEDIA not in again:
        pytest.skip("this kubectl is too old to ask for protobuf")
