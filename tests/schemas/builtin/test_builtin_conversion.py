"""Kinds with two different forms."""

import pytest

from inkube.schemas.builtin import conversion, decoding
from inkube.schemas.meta import GVK


def test_a_core_event_reads_as_a_new_one_and_back():
    core = decoding.decode(
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "a"},
            "involvedObject": {"kind": "ConfigMap"},
            "message": "all is well",
            "count": 1,
            "source": {"component": "c"},
        },
        GVK("", "v1", "Event"),
    ).object
    new = conversion.convert(core, "events.k8s.io/v1")
    assert new == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "a"},
        "regarding": {"kind": "ConfigMap"},
        "note": "all is well",
        "deprecatedCount": 1,
        "deprecatedSource": {"component": "c"},
        "eventTime": None,
        "deprecatedFirstTimestamp": None,
        "deprecatedLastTimestamp": None,
    }
    assert conversion.convert(new, "v1") == core


@pytest.mark.parametrize("utilization", [None, 50])
def test_an_autoscaler_survives_its_old_version(utilization):
    target = {"type": "AverageValue", "averageValue": "1Gi"}
    memory = {"type": "Resource", "resource": {"name": "memory", "target": target}}
    cpu = {
        "type": "Resource",
        "resource": {
            "name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": utilization},
        },
    }
    metrics = [memory] if utilization is None else [memory, cpu]
    obj = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"},
        "spec": {"maxReplicas": 3, "metrics": metrics},
        "status": {"currentMetrics": None, "desiredReplicas": 0},
    }
    old = conversion.convert(obj, "autoscaling/v1")
    assert old["spec"].get("targetCPUUtilizationPercentage") == utilization
    assert "metrics" not in old["spec"]
    assert conversion.convert(old, "autoscaling/v2") == obj


def test_custom_events_are_not_touched():
    obj = {"apiVersion": "example.com/v1", "kind": "Event", "message": "x"}
    assert conversion.convert(obj, "example.com/v2")["message"] == "x"
