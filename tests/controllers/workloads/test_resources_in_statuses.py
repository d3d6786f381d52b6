"""A simulated kubelet shows the resources of containers from their start, so that pods can be
resized.

Follows convertToAPIContainerStatuses of pkg/kubelet/kubelet_pods.go.
"""

import copy
import random

import pytest
import workloads as w

from inkube import StatusError, pod

pytestmark = pytest.mark.kube_workloads(bare_pods_run=True)
MEMBERS = {"containerStatuses": "containers", "initContainerStatuses": "initContainers"}
AMOUNTS = {"cpu": "100m", "memory": "64Mi", "ephemeral-storage": "1Gi", "example.com/gpu": "1"}
UNSUPPORTED = "spec: Forbidden: Pod running on node without support for resize"


def some_resources(choice):
    """Return resources of a container: none, requests, limits (which are then also the requests),
    or both."""
    names = [name for name in AMOUNTS if choice.random() < 0.5]
    amounts = {name: AMOUNTS[name] for name in names}
    if "example.com/gpu" in names:
        return {"limits": amounts}
    return {kind: amounts for kind in ("requests", "limits") if amounts and choice.random() < 0.6}


def some_pod(choice, name):
    def container(name, **more):
        return {"name": name, "image": "i", "resources": some_resources(choice), **more}

    spec: w.Object = {"containers": [container(f"c{at}") for at in range(choice.randint(1, 3))]}
    if choice.random() < 0.5:
        spec["initContainers"] = [container("i0"), container("i1", restartPolicy="Always")]
    if choice.random() < 0.3:
        spec["resources"] = {"requests": {"cpu": "1", "memory": "1Gi"}}
        for each in (*spec["containers"], *spec.get("initContainers", ())):
            each["resources"].pop("limits", None)
    return w.pod(name, **spec)


def shown(resources):
    """The fields of a status for the resources of a container, as kubelets derive them."""
    requests = resources.get("requests")
    return {"resources": resources} | ({"allocatedResources": requests} if requests else {})


def fields(status):
    return {name: status[name] for name in ("resources", "allocatedResources") if name in status}


def get(kube, name="p"):
    return kube.client.get(w.PODS, name, "default")


def resize(kube, name="p", container="c", **requests):
    change = {"name": container, "resources": {"requests": requests}}
    patch = {"spec": {"containers": [change]}}
    return kube.client.patch(
        w.PODS, name, "default", patch=patch, type="strategic", subresource="resize"
    )


@pytest.mark.parametrize("seed", range(4))
def test_statuses_show_what_containers_have_and_pods_can_be_resized(kube, seed):
    choice = random.Random(seed)
    kube.client.create(
        w.node("gpus", status={"capacity": {**AMOUNTS, "cpu": "64", "memory": "64Gi",
                                            "ephemeral-storage": "64Gi", "example.com/gpu": "64",
                                            "pods": "99"}})
    )  # fmt: skip
    kube.settled()
    pods = [some_pod(choice, f"p{at}") for at in range(12)]
    for each in pods:
        kube.client.create({**each, "spec": {**each["spec"], "nodeName": "gpus"}})
    kube.settled()
    for each in pods:
        found = get(kube, each["metadata"]["name"])
        spec, status = found["spec"], found["status"]
        assert status["phase"] == "Running"
        containers = [one for member in MEMBERS.values() for one in spec.get(member, ())]
        has_any = bool(spec.get("resources")) or any(one["resources"] for one in containers)
        for member, specs in MEMBERS.items():
            statuses = {one["name"]: one for one in status.get(member, ())}
            for one in spec.get(specs, ()):
                wanted = shown(one["resources"]) if has_any else {}
                assert fields(statuses[one["name"]]) == wanted, (found["metadata"]["name"], one)
        assert bool(fields(status)) == bool(spec.get("resources"))
        if has_any:
            resized = copy.deepcopy(found)
            kube.client.update(resized, subresource="resize")
        first = spec["containers"][0]["resources"]
        if "cpu" in first.get("requests", {}) and "limits" not in first:
            resize(kube, found["metadata"]["name"], "c0", cpu="200m")
            kube.settled()
            now = get(kube, found["metadata"]["name"])
            wanted = shown(now["spec"]["containers"][0]["resources"])
            assert wanted["allocatedResources"]["cpu"] == "200m"
            assert fields(now["status"]["containerStatuses"][0]) == wanted


def test_a_pod_shows_its_own_resources_and_what_its_node_allocated(kube):
    """PodRequests: those of the pod, other resources of its containers, and its overhead."""
    kube.client.create(
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": "vm"},
            "handler": "vm",
            "overhead": {"podFixed": {"cpu": "250m"}},
        }
    )
    storage = {"requests": {"ephemeral-storage": "1Gi"}}
    containers = [{"name": name, "image": "i", "resources": storage} for name in ("a", "b")]
    own = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2"}}
    kube.client.create(w.pod(containers=containers, resources=own, runtimeClassName="vm"))
    kube.settled()
    allocated = {"cpu": "1250m", "memory": "1Gi", "ephemeral-storage": "2Gi"}
    assert fields(get(kube)["status"]) == {
        "resources": {**own, "requests": {"cpu": "1250m", "memory": "1Gi"}},
        "allocatedResources": allocated,
    }


def running(container="c"):
    started = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    told = {"name": container, "image": "i", "imageID": "", "ready": True, "restartCount": 0}
    return {"phase": "Running", "containerStatuses": [{**told, "state": started}]}


REQUESTS = {"resources": {"requests": {"cpu": "1"}}}


def create(kube, **spec):
    kube.client.create(w.pod(containers=[{"name": "c", "image": "i", **REQUESTS}], **spec))


def write_status(kube, status):
    kube.client.patch(w.PODS, "p", "default", patch={"status": status}, subresource="status")


def test_a_pod_whose_node_shows_no_resources_is_not_resized(kube):
    """Its status comes from a kubelet without support for resizes, or from a test."""
    node = w.node("elsewhere")
    node["metadata"]["annotations"] = {}
    node["status"] = {"capacity": {"cpu": "8"}, "allocatable": {"cpu": "8"}}
    kube.client.create(node)
    create(kube, nodeName="elsewhere")
    write_status(kube, running())
    with pytest.raises(StatusError) as error:
        resize(kube, cpu="2")
    assert error.value.code == 422
    assert error.value.message == f'Pod "p" is invalid: {UNSUPPORTED}'
    [cause] = (error.value.details or {})["causes"]
    assert (cause["field"], cause["reason"]) == ("spec", "FieldValueForbidden")
    told = running()
    told["containerStatuses"][0]["resources"] = {}
    write_status(kube, told)
    assert resize(kube, cpu="2")["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "2"}}


def test_a_kubelet_adds_the_resources_that_another_client_removed(kube):
    create(kube)
    kube.settled()
    wanted = shown(REQUESTS["resources"])
    assert fields(get(kube)["status"]["containerStatuses"][0]) == wanted
    write_status(kube, running())
    kube.settled()
    assert fields(get(kube)["status"]["containerStatuses"][0]) == wanted


OWN = {
    "apiVersion": "kwok.x-k8s.io/v1alpha1",
    "kind": "Stage",
    "metadata": {"name": "pod-ready"},
    "spec": {
        "resourceRef": {"apiGroup": "v1", "kind": "Pod"},
        "selector": {
            "matchExpressions": [
                {"key": ".status.phase", "operator": "In", "values": ["Pending"]}
            ]
        },
        "next": {
            "statusTemplate": (
                "phase: Running\n"
                "containerStatuses:\n"
                "- {name: c, image: i, imageID: '', ready: true, restartCount: 0,"
                " state: {running: {startedAt: {{ Now | Quote }}}}}\n"
            )
        },
    },
}  # fmt: skip
"""A stage that writes no resources, as those of KWOK."""


@pytest.mark.kube_workloads(stages=[OWN], bare_pods_run=True)
@pytest.mark.parametrize("type_", ["strategic", "merge"])
def test_stages_need_not_write_resources(kube, type_):
    stage = kube.client.get("kwok.x-k8s.io/v1alpha1/stages", "pod-ready")
    next_ = stage["spec"]["next"]
    template = next_.pop("statusTemplate")
    next_["patches"] = [
        {"subresource": "status", "root": "status", "type": type_, "template": template}
    ]
    kube.client.update(stage)
    create(kube)
    kube.settled()
    found = get(kube)["status"]["containerStatuses"][0]
    assert fields(found) == shown(REQUESTS["resources"])
    resize(kube, cpu="2")


def test_a_stage_that_ends_a_pod_removes_its_resources(kube):
    """As in the recordings, whose kubelet shows none."""
    notes = {"pod-fail.stage.kwok.x-k8s.io/delay": "5s"}
    create(kube, annotations=notes, resources={"requests": {"cpu": "2"}}, restartPolicy="Never")
    kube.settled()
    assert fields(get(kube)["status"]) == shown({"requests": {"cpu": "2"}})
    kube.advance(6)
    status = get(kube)["status"]
    assert status["phase"] == "Failed"
    assert fields(status) == fields(status["containerStatuses"][0]) == {}


def test_a_pending_resize_does_not_change_what_is_shown(kube):
    """The status has the resources that the node gave, also after the container restarts."""
    create(kube)
    kube.client.create(w.pod("other", containers=[
        {"name": "c", "image": "i", "resources": {"requests": {"cpu": "30"}}}
    ], nodeName=kube.settled() or get(kube)["spec"]["nodeName"]))  # fmt: skip
    kube.settled()
    resize(kube, cpu="8")
    kube.settled()
    assert w.condition(get(kube), "PodResizePending") == ("True", "Deferred")
    write_status(kube, running())
    kube.settled()
    found = fields(get(kube)["status"]["containerStatuses"][0])
    assert found == shown(REQUESTS["resources"])


@pytest.mark.parametrize(
    ("has_containers", "has_whole"),
    [
        pytest.param(*shows, marks=pytest.mark.kubernetes_version(version), id=version)
        for version, *shows in (
            ("1.32", False, False),
            ("1.33", True, False),
            ("1.35", True, False),
        )
    ],
)
def test_older_minors_show_what_their_feature_gates_permit(kube, has_containers, has_whole):
    create(kube)
    kube.client.create(w.pod("whole", resources={"requests": {"cpu": "1"}}))
    kube.settled()
    wanted = shown(REQUESTS["resources"]) if has_containers else {}
    assert fields(get(kube)["status"]["containerStatuses"][0]) == wanted
    assert bool(fields(get(kube, "whole")["status"])) is has_whole
    found = get(kube)
    kube.settled()
    assert get(kube)["metadata"]["resourceVersion"] == found["metadata"]["resourceVersion"]


SEEN = []


@pod(image="loop")
async def loop(container):
    SEEN.append(container.env["CPU"])
    await container.sleep(10_000)


@pytest.mark.kube_workloads(pods=[loop])
@pytest.mark.parametrize("policy", ["NotRequired", "RestartContainer"])
def test_pods_of_functions_are_resized_too(kube, policy):
    SEEN.clear()
    cpu = {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "requests.cpu"}}}
    rule = {"resourceName": "cpu", "restartPolicy": policy}
    container = {"name": "c", "image": "loop", "env": [cpu], "resizePolicy": [rule], **REQUESTS}
    kube.client.create(w.pod(containers=[container]))
    kube.settled()
    assert fields(get(kube)["status"]["containerStatuses"][0]) == shown(REQUESTS["resources"])
    resize(kube, cpu="2")
    kube.settled()
    [one] = get(kube)["status"]["containerStatuses"]
    assert fields(one) == shown({"requests": {"cpu": "2"}})
    is_restarted = policy == "RestartContainer"
    assert (one["restartCount"], "running" in one["state"]) == (is_restarted, True)
    assert SEEN[1:] == (["2"] if is_restarted else [])
    reasons = [each["reason"] for each in kube.client.list(w.EVENTS)]
    assert {"ResizeStarted", "ResizeCompleted"} <= set(reasons)
