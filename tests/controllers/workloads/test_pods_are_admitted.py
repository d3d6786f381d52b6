"""A kubelet rejects a pod that does not fit on its node, whoever bound it."""

import random
from collections import Counter

import pytest
import workloads as w

from inkube import StatusError
from inkube.controllers.workloads import capacity

pytestmark = pytest.mark.kube_workloads(bare_pods_run=True)
ROOM = {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "10Gi", "pods": "12"}


def small(kube, **labels):
    kube.client.create(
        w.node("small", labels=labels, status={"capacity": ROOM, "allocatable": ROOM})
    )
    kube.settled()


def bound(kube, name="p", *, requests=None, ports=(), **spec):
    container = {
        "name": "c",
        "image": "i",
        "resources": {"limits": requests or {}},
        "ports": [{"containerPort": port, "hostPort": port} for port in ports],
    }
    kube.client.create(w.pod(name, nodeName="small", containers=[container], **spec))


def status(kube, name="p"):
    return kube.client.get(w.PODS, name, "default")["status"]


@pytest.mark.parametrize("seed", range(3))
def test_running_pods_fit_on_their_node_and_rejected_pods_did_not(kube, seed):
    small(kube)
    choice = random.Random(seed)
    names = [f"p{number}" for number in range(30)]
    for name in names:
        requests = {"cpu": f"{choice.randrange(1500)}m", "memory": f"{choice.randrange(2000)}Mi"}
        bound(kube, name, requests=requests, ports=choice.sample(range(8080, 8086), 1))
        if choice.random() < 0.3:
            kube.settled()
            gone = choice.choice([each["metadata"]["name"] for each in kube.client.list(w.PODS)])
            kube.client.delete(w.PODS, gone, "default", options={"gracePeriodSeconds": 0})
    kube.settled()
    found = kube.client.list(w.PODS)
    running = [each for each in found if each["status"]["phase"] == "Running"]
    used = Counter()
    for each in running:
        used.update(capacity.requests(each["spec"]))
    room = capacity.amounts(ROOM)
    assert 0 < len(running) <= room["pods"]
    assert all(used[name] <= room[name] for name in used)
    ports = [port for each in running for port in capacity.ports(each["spec"])]
    assert len(ports) == len(set(ports))
    rejected = [each for each in found if each["status"]["phase"] == "Failed"]
    assert len(running) + len(rejected) == len(found)
    assert {each["status"]["reason"] for each in rejected} <= {
        "OutOfpods", "OutOfcpu", "OutOfmemory", "NodePorts",
    }  # fmt: skip
    for each in rejected:
        assert each["status"]["message"].startswith("Pod was rejected: ")
        assert "containerStatuses" not in each["status"]


def test_each_reason_has_the_kubelets_text(kube):
    small(kube, disk="ssd")
    bound(kube, "cpu", requests={"cpu": "5"})
    bound(kube, "storage", requests={"ephemeral-storage": "11Gi"})
    bound(kube, "elsewhere", requests={"example.com/device": "1"})
    bound(kube, "selected", nodeSelector={"disk": "hdd"})
    kube.settled()
    assert status(kube, "cpu")["reason"] == "OutOfcpu"
    assert status(kube, "cpu")["message"] == (
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 5000, used: 0, "
        "capacity: 4000"
    )
    assert status(kube, "storage")["reason"] == "OutOfephemeral-storage"
    assert status(kube, "elsewhere")["phase"] == "Running"
    assert status(kube, "selected")["reason"] == "NodeAffinity"
    assert status(kube, "selected")["message"] == (
        "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node "
        "affinity/selector"
    )
    [event] = kube.client.list("v1/events", fields="reason=OutOfcpu")
    assert (event["type"], event["source"]) == (
        "Warning",
        {"component": "kubelet", "host": "small"},
    )


def test_a_pod_that_ended_leaves_its_room(kube):
    small(kube)
    bound(kube, "first", requests={"cpu": "4"})
    kube.settled()
    bound(kube, "second", requests={"cpu": "4"})
    kube.settled()
    assert status(kube, "second")["reason"] == "OutOfcpu"
    kube.client.delete(w.PODS, "first", "default", options={"gracePeriodSeconds": 0})
    kube.settled()
    bound(kube, "third", requests={"cpu": "4"})
    kube.settled()
    assert status(kube, "third")["phase"] == "Running"


def resize(kube, name="p", **amounts):
    resources = {"requests": amounts, "limits": amounts}
    kube.client.patch(
        w.PODS, name, "default",
        patch={"spec": {"containers": [{"name": "c", "resources": resources}]}},
        type="strategic", subresource="resize",
    )  # fmt: skip
    kube.settled()
    found = status(kube, name)
    [pending] = [c for c in found["conditions"] if c["type"] == "PodResizePending"] or [None]
    return found["containerStatuses"][0], pending


def test_a_resize_is_carried_out_and_reported_where_there_is_room(kube):
    small(kube)
    bound(kube, requests={"cpu": "1", "memory": "1Gi"})
    bound(kube, "other", requests={"cpu": "2"})
    kube.settled()
    got, pending = resize(kube, cpu="2", memory="1Gi")
    assert (got["resources"]["limits"]["cpu"], got["allocatedResources"]["cpu"]) == ("2", "2")
    assert (got["restartCount"], pending) == (0, None)
    got, pending = resize(kube, cpu="3", memory="1Gi")
    assert (got["allocatedResources"]["cpu"], pending["reason"]) == ("2", "Deferred")
    assert pending["message"] == (
        "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000"
    )
    with pytest.raises(StatusError, match="cpu, requested: 5000, allocatable: 4000"):
        resize(kube, cpu="5", memory="1Gi")
    got, pending = resize(kube, cpu="2", memory="1Gi")
    assert (got["allocatedResources"]["cpu"], pending) == ("2", None)
    events = {each["reason"]: each for each in kube.client.list(w.EVENTS)}
    assert set(events) >= {"ResizeStarted", "ResizeCompleted", "ResizeDeferred"}
    assert events["ResizeDeferred"]["message"] == (
        'Pod resize Deferred: {"containers":[{"name":"c","resources":{"limits":{"cpu":"3",'
        '"memory":"1Gi"},"requests":{"cpu":"3","memory":"1Gi"}}}],"generation":3,"error":'
        '"Node didn\'t have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000"}'
    )


def test_a_resize_of_the_pod_itself_is_carried_out(kube):
    small(kube)
    declared = kube.client.get(w.NODES, "small")["status"]["declaredFeatures"]
    assert declared[0] == "InPlacePodLevelResourcesVerticalScaling"
    bound(kube, resources={"requests": {"cpu": "1"}})
    kube.settled()
    patch = {"spec": {"resources": {"requests": {"cpu": "2"}}}}
    kube.client.patch(w.PODS, "p", "default", patch=patch, subresource="resize")
    kube.settled()
    found = status(kube)
    assert found["resources"]["requests"] == found["allocatedResources"] == {"cpu": "2"}


@pytest.mark.kube_options(disable_admission_plugins=["PodResizeValidator"])
def test_a_kubelet_finds_a_resize_infeasible(kube):
    small(kube)
    bound(kube, requests={"cpu": "1"})
    kube.settled()
    _, pending = resize(kube, cpu="5")
    assert pending["reason"] == "Infeasible"
    assert (
        pending["message"]
        == "Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000"
    )
    assert "ResizeInfeasible" in {each["reason"] for each in kube.client.list(w.EVENTS)}


def test_a_deferred_resize_is_tried_again(kube):
    small(kube)
    bound(kube, requests={"cpu": "1"})
    bound(kube, "other", requests={"cpu": "2"})
    kube.settled()
    assert resize(kube, cpu="4")[1]["reason"] == "Deferred"
    kube.client.delete(w.PODS, "other", "default", options={"gracePeriodSeconds": 0})
    kube.settled()
    kube.advance(181)
    assert status(kube)["containerStatuses"][0]["allocatedResources"] == {"cpu": "4"}


def test_a_resize_restarts_a_container_if_its_policy_requires_it(kube):
    small(kube)
    resources = {"limits": {"cpu": "1", "memory": "1Gi"}}
    policy = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
    container = {"name": "c", "image": "i", "resources": resources, "resizePolicy": policy}
    kube.client.create(w.pod(nodeName="small", containers=[container]))
    kube.settled()
    assert resize(kube, cpu="2", memory="1Gi")[0]["restartCount"] == 0
    assert resize(kube, cpu="2", memory="2Gi")[0]["restartCount"] == 1


def test_a_critical_pod_ends_others_of_the_lowest_class_of_service(kube):
    small(kube)
    bound(kube, "guaranteed", requests={"cpu": "1", "memory": "1Gi"})
    for name, cpu in (("small", "1"), ("large", "2")):
        bound(kube, name, requests={"cpu": cpu})
    kube.settled()
    bound(kube, "plain", requests={"cpu": "1"})
    kube.settled()
    assert status(kube, "plain")["reason"] == "OutOfcpu"
    bound(kube, "critical", requests={"cpu": "1"}, priorityClassName="system-node-critical")
    kube.settled()
    assert status(kube, "critical")["phase"] == "Running"
    phases = {name: status(kube, name)["phase"] for name in ("guaranteed", "small", "large")}
    assert phases == {"guaranteed": "Running", "small": "Failed", "large": "Running"}
    ended = status(kube, "small")
    assert (ended["reason"], ended["message"]) == (
        "Preempting",
        "Preempted in order to admit critical pod",
    )
    [condition] = [each for each in ended["conditions"] if each["type"] == "DisruptionTarget"]
    assert (condition["reason"], condition["message"]) == (
        "TerminationByKubelet",
        "Pod was preempted by Kubelet to accommodate a critical pod.",
    )


def test_a_critical_pod_that_no_end_of_others_helps_is_rejected(kube):
    small(kube)
    bound(kube, "other", requests={"cpu": "3"})
    kube.settled()
    bound(kube, "critical", requests={"cpu": "5"}, priorityClassName="system-node-critical")
    kube.settled()
    assert status(kube, "critical")["reason"] == "OutOfcpu"
    assert status(kube, "other")["phase"] == "Running"
