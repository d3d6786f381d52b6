"""An operator for the kind Website: one Deployment for each website, and a phase in its status."""

import os
from typing import Any

import kopf
from kubernetes import client, config

KIND = ("example.com", "v1", "websites")


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    config.load_kube_config(os.environ["KUBECONFIG"])
    settings.posting.enabled = False  # no events: this example shows objects only
    settings.persistence.finalizer = "example.com/websites"


@kopf.on.login()
def login(**arguments: Any) -> kopf.ConnectionInfo | None:
    return kopf.login_with_kubeconfig(**arguments)


@kopf.on.resume(*KIND, backoff=0.1)  # after a crash, the last handler may have done half its work
@kopf.on.create(*KIND, backoff=0.1)
def create(
    spec: kopf.Spec, status: kopf.Status, name: str, namespace: Any, patch: kopf.Patch, **_: Any
) -> None:
    apply(namespace, desired(name, spec))
    patch.status["phase"] = status.get("phase", "Created")


@kopf.on.update(*KIND, field="spec", backoff=0.1)
def update(spec: kopf.Spec, name: str, namespace: Any, patch: kopf.Patch, **_: Any) -> None:
    apply(namespace, desired(name, spec))
    patch.status["phase"] = "Updated"


def apply(namespace: Any, deployment: Any) -> None:
    """Create the Deployment, or change it: the same request for both, so it can be repeated."""
    kopf.adopt(deployment)  # the website owns the Deployment
    client.AppsV1Api().patch_namespaced_deployment(
        deployment["metadata"]["name"],
        namespace,
        deployment,
        field_manager="websites",
        force=True,
        _content_type="application/apply-patch+yaml",
    )


def desired(name: str, spec: kopf.Spec) -> Any:
    labels = {"website": name}
    container = {"name": "web", "image": spec["image"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": spec["replicas"],
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
