"""Kubelets write events about containers, if the option is on."""

import pytest

PODS = "v1/pods"


def pod(name="p", **spec):
    containers = [{"name": "c", "image": "i:1"}]
    meta = {"name": name, "namespace": "default"}
    body = {"nodeName": "kube-node-1", "containers": containers, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": body}


def told(kube):
    """Return the events of kubelets: object, reason, message."""
    return [
        (event["involvedObject"].get("fieldPath"), event["reason"], event["message"])
        for event in sorted(
            kube.client.list("v1/events"), key=lambda each: int(each["metadata"]["resourceVersion"])
        )
        if event["source"].get("component") == "kubelet"
    ]


@pytest.mark.kube_workloads(controllers={"kubelet"}, kubelet_events=True)
def test_a_container_is_pulled_created_started_and_killed(kube):
    init = [{"name": "i", "image": "i:0", "imagePullPolicy": "Never"}]
    kube.client.create(pod(initContainers=init))
    kube.settled()
    kube.client.delete(PODS, "p", "default")
    kube.settled()
    first, main = "spec.initContainers{i}", "spec.containers{c}"
    assert told(kube) == [
        (first, "Pulled", 'Container image "i:0" already present on machine'),
        (first, "Created", "Container created"),
        (first, "Started", "Container started"),
        (main, "Pulling", 'Pulling image "i:1"'),
        (
            main, "Pulled",
            'Successfully pulled image "i:1" in 0s (0s including waiting). Image size: 0 bytes.',
        ),
        (main, "Created", "Container created"),
        (main, "Started", "Container started"),
        (main, "Killing", "Stopping container c"),
    ]  # fmt: skip
    [event] = [e for e in kube.client.list("v1/events") if e["reason"] == "Killing"]
    assert event["source"] == {"component": "kubelet", "host": "kube-node-1"}
    assert event["reportingInstance"] == "kube-node-1"


@pytest.mark.kube_workloads(controllers={"kubelet"}, kubelet_events=True)
def test_a_container_that_fails_repeatedly_backs_off(kube):
    kube.client.create(pod())
    kube.settled()
    for _ in range(2):
        found = kube.client.get(PODS, "p", "default")
        state = found["status"]["containerStatuses"][0]
        now = found["status"]["startTime"]
        state["state"] = {"terminated": {"exitCode": 3, "reason": "Error", "finishedAt": now}}
        kube.client.update(found, subresource="status")
        kube.settled()
    found = told(kube)
    assert [reason for _, reason, _ in found].count("BackOff") == 1
    uid = kube.client.get(PODS, "p", "default")["metadata"]["uid"]
    text = f"Back-off restarting failed container c in pod p_default({uid})"
    assert found[-1] == ("spec.containers{c}", "BackOff", text)


@pytest.mark.kube_workloads(controllers={"kubelet"})
def test_servers_of_tests_write_no_events_of_kubelets(kube):
    kube.client.create(pod())
    kube.settled()
    assert told(kube) == []
