"""kr8s, unmodified."""

import pytest

kr8s = pytest.importorskip("kr8s")

GROUP = "clients.example.com"


def test_custom_objects_are_written_patched_and_found(kubeconfig, namespace, crab):
    api = kr8s.api(kubeconfig=str(kubeconfig))
    kind = kr8s.objects.new_class("Crab", version=f"{GROUP}/v1", namespaced=True)
    made = kind(crab("k", size=1), api=api)
    made.create()
    made.patch({"spec": {"size": 7}})
    found = list(kind.list(namespace=namespace, api=api))
    assert [(each.name, each.spec.size) for each in found] == [("k", 7)]
    made.delete()
    assert not made.exists()


def test_kinds_are_found_by_discovery(kubeconfig, namespace):
    api = kr8s.api(kubeconfig=str(kubeconfig))
    kinds = {resource["kind"] for resource in api.api_resources()}
    assert {"ConfigMap", "Crab", "Deployment"} <= kinds
