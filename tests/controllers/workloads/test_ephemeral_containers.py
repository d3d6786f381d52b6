"""Ephemeral containers start in a running pod, so that `kubectl debug` finds them running."""

import pytest
import workloads as w

pytestmark = pytest.mark.kube_workloads(bare_pods_run=True, kubelet_events=True)


def get(kube):
    return kube.client.get(w.PODS, "p", "default")


def add(kube, *names):
    found = get(kube)
    spec = found["spec"]
    spec["ephemeralContainers"] = [
        *spec.get("ephemeralContainers", ()),
        *({"name": name, "image": "tools:1", "targetContainerName": "c"} for name in names),
    ]
    kube.client.update(found, subresource="ephemeralcontainers")
    kube.settled()


def test_new_ephemeral_containers_start_and_earlier_ones_go_on(kube):
    kube.client.create(w.pod())
    kube.settled()
    add(kube, "first")
    [first] = get(kube)["status"]["ephemeralContainerStatuses"]
    running = first.pop("state")["running"]
    assert first == {
        "name": "first",
        "image": "tools:1",
        "imageID": "",
        "lastState": {},
        "ready": False,
        "resources": {},
        "restartCount": 0,
    }
    kube.advance(10)
    add(kube, "second", "third")
    found = get(kube)["status"]["ephemeralContainerStatuses"]
    assert [one["name"] for one in found] == ["first", "second", "third"]
    started = [one["state"]["running"]["startedAt"] for one in found]
    assert started[0] == running["startedAt"] < started[1] == started[2]
    events = [
        each["reason"]
        for each in kube.client.list(w.EVENTS)
        if each["involvedObject"].get("fieldPath") == "spec.ephemeralContainers{third}"
    ]
    assert sorted(events) == ["Created", "Pulled", "Pulling", "Started"]


def test_ephemeral_containers_wait_for_the_start_of_the_pod(kube):
    kube.client.create(w.pod(annotations={"pod-ready.stage.kwok.x-k8s.io/delay": "10s"}))
    kube.settled()
    add(kube, "look")
    assert "ephemeralContainerStatuses" not in get(kube)["status"]
    kube.advance(11)
    [one] = get(kube)["status"]["ephemeralContainerStatuses"]
    assert "running" in one["state"]


def test_ephemeral_containers_end_with_their_pod(kube):
    kube.client.create(w.pod())
    kube.client.patch(
        w.PODS, "p", "default", patch={"metadata": {"finalizers": ["example.com/keep"]}}
    )
    kube.settled()
    add(kube, "look")
    kube.client.delete(w.PODS, "p", "default")
    kube.settled()
    [one] = get(kube)["status"]["ephemeralContainerStatuses"]
    assert one["state"]["terminated"]["exitCode"] == 137


def test_a_resize_of_the_pod_does_not_touch_ephemeral_containers(kube):
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    kube.client.create(w.pod(containers=[container]))
    kube.settled()
    add(kube, "look")
    before = get(kube)["status"]["ephemeralContainerStatuses"]
    patch = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}
    kube.client.patch(w.PODS, "p", "default", patch=patch, type="strategic", subresource="resize")
    kube.settled()
    status = get(kube)["status"]
    assert status["containerStatuses"][0]["allocatedResources"] == {"cpu": "2"}
    assert status["ephemeralContainerStatuses"] == before


def test_kubectl_debug_attaches_to_its_container(kube, kubectl):
    kube.client.create(w.pod())
    kube.settled()
    debug = kubectl.start(
        "debug", "p", "--image=tools:1", "--container=look", "--attach", "--", "sh"
    )
    kubectl("wait", "pod/p", "--for=jsonpath={.status.ephemeralContainerStatuses[0].state.running}")
    assert "no script answers" in kubectl("exec", "p", "-c", "look", "--", "sh", code=127)
    assert kubectl("logs", "p", "-c", "look") == ""
    kube.client.delete(w.PODS, "p", "default", options={"gracePeriodSeconds": 0})
    debug.communicate(timeout=30)
