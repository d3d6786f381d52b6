"""Pods that something else ends keep the reason as the condition DisruptionTarget."""

import pytest
import workloads as w

pytestmark = pytest.mark.kube_workloads(bare_pods_run=True)


def kept(name, node, **spec):
    """Return a pod that stays after its end, until its finalizer is removed."""
    made = w.pod(name, nodeSelector={"kubernetes.io/hostname": node}, **spec)
    made["metadata"]["finalizers"] = ["example.com/kept"]
    return made


def priority_class(name, value):
    meta = {"name": name}
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    return {**head, "metadata": meta, "value": value}


def test_ended_pods_have_a_condition_with_the_reason(kube):
    for name in ("tiny", "tainted", "gone"):
        size = {"cpu": "1", "memory": "1Gi", "pods": "1"}
        kube.client.create(w.node(name, status={"allocatable": size, "capacity": size}))
        kube.client.create(kept(f"on-{name}", name))
    kube.settled()
    assert {each["status"]["phase"] for each in kube.client.list(w.PODS)} == {"Running"}
    kube.client.create(priority_class("high", 9))
    kube.client.create(kept("preemptor", "tiny", priorityClassName="high"))
    taint = {"key": "broken", "effect": "NoExecute"}
    kube.client.patch(w.NODES, "tainted", patch={"spec": {"taints": [taint]}})
    kube.client.delete(w.NODES, "gone")
    kube.settled()
    kube.advance(60)
    found = {each["metadata"]["name"]: each for each in kube.client.list(w.PODS)}
    assert found.pop("preemptor")["status"]["phase"] == "Running"
    told = {
        name: (each["status"]["phase"], *w.condition(each, "DisruptionTarget"))
        for name, each in found.items()
    }
    assert told == {
        "on-tiny": ("Failed", "True", "PreemptionByScheduler"),
        "on-tainted": ("Failed", "True", "DeletionByTaintManager"),
        "on-gone": ("Failed", "True", "DeletionByPodGC"),
    }


def test_a_job_does_not_count_pods_that_were_disrupted(kube):
    condition = {"type": "DisruptionTarget", "status": "True"}
    rule = {"action": "Ignore", "onPodConditions": [condition]}
    kube.client.create(w.node("old"))
    only = {"kubernetes.io/hostname": "old"}
    notes = {"pod-complete.stage.kwok.x-k8s.io/delay": "1h"}
    pods = w.template(restartPolicy="Never", nodeSelector=only, annotations=notes)
    policy = {"backoffLimit": 0, "podFailurePolicy": {"rules": [rule]}}
    job = w.job(template=pods)
    kube.client.create({**job, "spec": {**job["spec"], **policy}})
    kube.settled()
    [first] = kube.client.list(w.PODS)
    taint = {"key": "broken", "effect": "NoExecute"}
    kube.client.patch(w.NODES, "old", patch={"spec": {"taints": [taint]}})
    kube.advance(5)
    kube.client.patch(w.NODES, "old", patch={"spec": {"taints": None}})
    kube.advance(30)
    [second] = kube.client.list(w.PODS)
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    status = kube.client.get(w.JOBS, "j", "default")["status"]
    assert (status["active"], status.get("failed", 0)) == (1, 0)
