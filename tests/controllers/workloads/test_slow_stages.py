"""The set `slow`: a pod shows what it waits for, and runs later."""

import pytest
import workloads as w

pytestmark = pytest.mark.kube_workloads(stages=["slow"], bare_pods_run=True)


def status(kube):
    return kube.client.get(w.PODS, "p", "default")["status"]


def states(found, member="containerStatuses"):
    """Each container with its state, whose reason is a part of it if it waits or has ended."""
    return [
        (one["name"], kind, told.get("reason"))
        for one in found[member]
        for kind, told in one["state"].items()
    ]


@pytest.mark.parametrize("has_inits", [False, True])
def test_a_pod_waits_for_its_images_and_then_for_its_containers(kube, has_inits):
    """As convertToAPIContainerStatuses and GeneratePodInitializedCondition of pkg/kubelet."""
    inits = [
        {"name": "setup", "image": "i"}, {"name": "side", "image": "i", "restartPolicy": "Always"},
    ]  # fmt: skip
    spec: w.Object = {"initContainers": inits} if has_inits else {}
    kube.client.create(w.pod(**spec))
    kube.settled()
    kube.advance(2.1)
    found = status(kube)
    reason = "PodInitializing" if has_inits else "ContainerCreating"
    assert states(found) == [("c", "waiting", reason)]
    conditions = {
        one["type"]: (one["status"], one.get("reason"), one.get("message"))
        for one in found["conditions"]
    }
    unready = ("False", "ContainersNotReady", "containers with unready status: [c]")
    assert conditions == {
        "PodScheduled": ("True", None, None),
        "PodReadyToStartContainers": ("False", None, None),
        "Initialized": (
            "False", "ContainersNotInitialized",
            "containers with incomplete status: [setup side]",
        ) if has_inits else ("True", None, None),
        "Ready": unready,
        "ContainersReady": unready,
    }  # fmt: skip
    kube.advance(10)
    found = status(kube)
    assert states(found) == [("c", "running", None)]
    assert all(
        (one["status"], one.get("reason"), one.get("message")) == ("True", None, None)
        for one in found["conditions"]
    )
    if has_inits:
        assert states(found, "initContainerStatuses") == [
            ("setup", "terminated", "Completed"),
            ("side", "running", None),
        ]
