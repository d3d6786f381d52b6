"""Limit ranges, without a server."""

from inkube.schemas.builtin import limitranges

RANGE = {
    "spec": {
        "limits": [
            {
                "type": "Container",
                "default": {"cpu": "2", "memory": "64Mi"},
                "defaultRequest": {"cpu": "1", "memory": "64Mi"},
                "min": {"cpu": "100m"},
                "max": {"cpu": "2"},
            },
            {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}},
        ]
    }
}


def pod(**resources):
    container = {"name": "c", "resources": resources}
    return {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}


def test_a_pod_gets_the_defaults_and_a_note():
    made = pod(limits={"cpu": "500m"})
    limitranges.fill(made, RANGE)
    assert made["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "500m", "memory": "64Mi"},
        "requests": {"cpu": "1", "memory": "64Mi"},
    }
    assert made["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": (
            "LimitRanger plugin set: cpu, memory request for container c; "
            "memory limit for container c"
        )
    }


def test_a_pod_with_all_amounts_is_unchanged():
    amounts = {"cpu": "1", "memory": "1Gi"}
    made = pod(limits=amounts, requests=amounts)
    limitranges.fill(made, RANGE)
    assert "annotations" not in made["metadata"]
    assert limitranges.violations(made, RANGE) == []


def test_values_outside_the_limits_are_errors():
    made = pod(limits={"cpu": "3"}, requests={"cpu": "50m"})
    assert limitranges.violations(made, RANGE) == [
        "minimum cpu usage per Container is 100m, but request is 50m",
        "maximum cpu usage per Container is 2, but limit is 3",
    ]
