"""Taints are added and removed with the conditions of a node."""

import pytest

NODES = "v1/nodes"


def set_condition(kube, kind, status):
    """Set one condition of a node; return its taints afterwards."""
    node = kube.client.get(NODES, "kube-node-1")
    others = [each for each in node["status"]["conditions"] if each["type"] != kind]
    told = {"type": kind, "status": status, "reason": "Test", "message": "said by a test"}
    node["status"]["conditions"] = [*others, told]
    kube.client.update(node, subresource="status")
    kube.settled()
    taints = kube.client.get(NODES, "kube-node-1")["spec"].get("taints") or []
    return [(taint["key"], taint["effect"]) for taint in taints]


@pytest.mark.kube_workloads
@pytest.mark.parametrize(
    ("condition", "name"),
    [
        ("MemoryPressure", "memory-pressure"),
        ("DiskPressure", "disk-pressure"),
        ("PIDPressure", "pid-pressure"),
        ("NetworkUnavailable", "network-unavailable"),
    ],
)
def test_a_condition_that_is_true_keeps_new_pods_away(kube, condition, name):
    kube.settled()
    assert set_condition(kube, condition, "True") == [(f"node.kubernetes.io/{name}", "NoSchedule")]
    assert set_condition(kube, condition, "False") == []
