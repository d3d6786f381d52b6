"""A server in a thread of its own, for clients that block and for processes."""

import pytest

from inkube.apiserver.testing.kube import Plan, running
from inkube.apiserver.testing.thread import LoopThread

GROUP = "clients.example.com"


def crd(kind, plural):
    """A namespaced kind with spec, status and a column."""
    size = {"type": "object", "properties": {"size": {"type": "integer"}}}
    phase = {"type": "object", "properties": {"phase": {"type": "string"}}}
    preserved = {**phase, "x-kubernetes-preserve-unknown-fields": True}
    schema = {
        "type": "object",
        "description": f"A {kind} of the sea.",
        "properties": {"spec": size, "status": preserved},
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [version],
        },
    }


@pytest.fixture(scope="package")
def kube():
    """One server for the tests of all clients, with the kind Crab."""
    with LoopThread() as thread, running(thread, Plan()) as kube:
        kube.install(crd("Crab", "crabs"))
        kube.settled()
        yield kube


@pytest.fixture
def namespace(kube):
    """A namespace for this test alone."""
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "clients-"}}
    return kube.client.create(body)["metadata"]["name"]


@pytest.fixture
def kubeconfig(kube, tmp_path):
    """A file that names the server."""
    path = tmp_path / "kubeconfig"
    path.write_text(kube.kubeconfig())
    return path


@pytest.fixture
def crab(namespace):
    """`crab("a", size=3)`: a body."""

    def make(name, **spec):
        meta = {"name": name, "namespace": namespace}
        return {"apiVersion": f"{GROUP}/v1", "kind": "Crab", "metadata": meta, "spec": spec}

    return make


def pytest_collection_modifyitems(items):
    """What clients call deprecated or warn of is theirs; what they leave open is closed here."""
    for item in items:
        if "clients" in item.path.parts:
            for what in ("DeprecationWarning", "UserWarning"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{what}"))
