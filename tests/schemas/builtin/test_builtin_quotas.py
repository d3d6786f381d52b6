"""Quotas and limit ranges, without a server."""

from inkube.schemas.builtin import limitranger, quotas

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
QUOTA = {
    "metadata": {"name": "q"},
    "status": {"hard": {"configmaps": "2", "requests.cpu": "1"}, "used": {"configmaps": "2"}},
}


def pod(**resources):
    container = {"name": "c", "resources": resources}
    return {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}


def test_a_pod_gets_the_defaults_and_a_note():
    made = pod(limits={"cpu": "500m"})
    limitranger.fill(made, [RANGE])
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


def test_a_pod_that_says_everything_is_left_alone():
    amounts = {"cpu": "1", "memory": "1Gi"}
    made = pod(limits=amounts, requests=amounts)
    limitranger.fill(made, [RANGE])
    assert "annotations" not in made["metadata"]
    assert limitranger.violations(made, [RANGE]) == []


def test_what_lies_outside_is_told():
    made = pod(limits={"cpu": "3"}, requests={"cpu": "50m"})
    assert limitranger.violations(made, [RANGE]) == [
        "minimum cpu usage per Container is 100m, but request is 50m",
        "maximum cpu usage per Container is 2, but limit is 3",
    ]
    claim = {
        "kind": "PersistentVolumeClaim",
        "spec": {"resources": {"requests": {"storage": "2Gi"}}},
    }
    assert limitranger.violations(claim, [RANGE]) == [
        "maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi"
    ]


def test_one_too_many_is_refused():
    requested = quotas.usage("", "configmaps", {})
    assert quotas.refusal(QUOTA, requested) == (
        "exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2"
    )
    assert quotas.refusal(QUOTA, quotas.usage("", "secrets", {})) == ""


def test_a_pod_counts_what_it_asks_for():
    used = quotas.usage("", "pods", pod(requests={"cpu": "1500m"}))
    assert {name: str(amount) for name, amount in used.items()} == {
        "count/pods": "1",
        "pods": "1",
        "requests.cpu": "1500m",
        "cpu": "1500m",
    }
    assert quotas.refusal(QUOTA, used).startswith(
        "exceeded quota: q, requested: requests.cpu=1500m"
    )
    assert quotas.unspecified(QUOTA, pod()) == ("failed quota: q: must specify requests.cpu for: c")
    assert quotas.unspecified(QUOTA, pod(requests={"cpu": "1"})) == ""


def test_used_is_the_sum():
    objects = [("", "configmaps", {}), ("", "configmaps", {}), ("apps", "deployments", {})]
    hard = ["configmaps", "secrets", "count/deployments.apps"]
    assert quotas.total(objects, hard) == {
        "configmaps": "2",
        "secrets": "0",
        "count/deployments.apps": "1",
    }
