"""Unmodified kr8s."""

import pytest

kr8s = pytest.importorskip("kr8s")

from kr8s._async_utils import as_sync_func  # noqa: E402

GROUP = "clients.example.com"


@pytest.fixture
def api(kubeconfig):
    """A client whose connections are closed; kr8s itself leaves them to the garbage collector."""
    made = kr8s.api(kubeconfig=str(kubeconfig))
    yield made
    as_sync_func(made._session.aclose)()


def test_custom_objects_are_written_patched_and_found(api, namespace, crab):
    kind = kr8s.objects.new_class("Crab", version=f"{GROUP}/v1", namespaced=True)
    made = kind(crab("k", size=1), api=api)
    made.create()
    made.patch({"spec": {"size": 7}})
    found = list(kind.list(namespace=namespace, api=api))
    assert [(each.name, each.spec.size) for each in found] == [("k", 7)]
    made.delete()
    assert not made.exists()


def test_kinds_are_found_by_discovery(api):
    kinds = {resource["kind"] for resource in api.api_resources()}
    assert {"ConfigMap", "Crab", "Deployment"} <= kinds
