"""The delays and thresholds of probes hold up readiness, in the clock of the server."""

import pytest
import workloads as w

from inkube.controllers.clock import FakeClock

pytestmark = [
    pytest.mark.kube_workloads(bare_pods_run=True),
    pytest.mark.kube_options(clock=FakeClock()),  # the time that the test takes does not count
]


def probed(kube, *, startup=None, readiness=None, **spec):
    probes = {"startupProbe": startup, "readinessProbe": readiness}
    container = {"name": "c", "image": "i", **{k: v for k, v in probes.items() if v}}
    for probe in (startup, readiness):
        (probe or {}).setdefault("tcpSocket", {"port": 80})
    kube.client.create(w.pod(containers=[container], **spec))
    kube.settled()


def state(kube):
    """Return whether the container has started, whether it is ready, and whether the pod is."""
    found = kube.client.get(w.PODS, "p", "default")
    [container] = found["status"]["containerStatuses"]
    ready, all_ready = w.condition(found, "Ready")[0], w.condition(found, "ContainersReady")[0]
    assert ready == all_ready == str(container["ready"])
    return container["started"], container["ready"]


@pytest.mark.parametrize(
    ("startup", "readiness", "starts", "is_ready"),
    [
        (None, {}, 0, 0),
        (None, {"initialDelaySeconds": 5}, 0, 5),
        (None, {"initialDelaySeconds": 5, "successThreshold": 3, "periodSeconds": 4}, 0, 13),
        ({"initialDelaySeconds": 7}, None, 7, 7),
        ({"initialDelaySeconds": 7}, {"initialDelaySeconds": 3}, 7, 7),
        ({"initialDelaySeconds": 3}, {"initialDelaySeconds": 7}, 3, 7),
        ({"initialDelaySeconds": 3}, {"successThreshold": 2}, 3, 13),
    ],
)
def test_a_container_starts_and_is_ready_after_just_these_seconds(
    kube, startup, readiness, starts, is_ready
):
    probed(kube, startup=startup, readiness=readiness)
    passed = 0
    for moment in sorted({starts, is_ready}):
        if moment > passed:
            kube.advance(moment - passed - 1)
            assert state(kube) == (moment > starts, False)
            kube.advance(1)
        passed = moment
        assert state(kube) == (moment >= starts, moment >= is_ready)


def test_a_restarted_container_waits_again(kube):
    probed(kube, readiness={"initialDelaySeconds": 5})
    kube.advance(5)
    assert state(kube) == (True, True)
    ended = {"terminated": {"exitCode": 1, "finishedAt": "2026-01-01T00:00:00Z"}}
    pod = kube.client.get(w.PODS, "p", "default")
    pod["status"]["containerStatuses"][0]["state"] = ended
    kube.client.update(pod, subresource="status")
    kube.settled()
    assert state(kube) == (True, False)
    kube.advance(5)
    assert state(kube) == (True, True)


def test_a_gate_and_a_probe_both_hold_up_readiness(kube):
    gates = [{"conditionType": "example.com/gate"}]
    probed(kube, readiness={"initialDelaySeconds": 5}, readinessGates=gates)
    kube.advance(5)
    pod = kube.client.get(w.PODS, "p", "default")
    assert w.condition(pod, "ContainersReady")[0] == "True"
    assert w.condition(pod, "Ready") == ("False", "ReadinessGatesNotReady")


def test_a_deployment_is_available_when_its_probes_are_done(kube):
    template = w.template()
    template["spec"]["containers"][0]["readinessProbe"] = {
        "tcpSocket": {"port": 80}, "initialDelaySeconds": 30,
    }  # fmt: skip
    kube.client.create(w.workload("Deployment", replicas=2, template=template))
    kube.settled()
    for seconds, available in ((29, 0), (1, 2)):
        kube.advance(seconds)
        status = kube.client.get("apps/v1/deployments", "web", "default")["status"]
        assert status.get("availableReplicas", 0) == available
