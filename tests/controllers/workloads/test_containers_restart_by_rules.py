"""Containers have rules and a policy of their own for their restarts.

Follows ContainerShouldRestart of pkg/api/v1/pod/util.go, and getPhase of
pkg/kubelet/kubelet_pods.go.
"""

import itertools

import pytest
import workloads as w

pytestmark = pytest.mark.kube_workloads(bare_pods_run=True)


def rule(operator, *values, action="Restart"):
    return {"action": action, "exitCodes": {"operator": operator, "values": list(values)}}


def wanted(pod_policy, own, rules, code):
    """Whether a container restarts after an exit code, as upstream decides it."""
    if own is not None:
        for one in rules:
            matches = code in one["exitCodes"]["values"]
            if matches == (one["exitCodes"]["operator"] == "In"):
                return True
    policy = own or pod_policy
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def status(kube, name="p"):
    return kube.client.get(w.PODS, name, "default")["status"]


def end(kube, *containers, name="p", code):
    found = status(kube, name)["containerStatuses"]
    now = "2020-01-01T00:00:00Z"
    for one in found:
        if one["name"] in containers:
            told = {"exitCode": code, "reason": "Error", "startedAt": now, "finishedAt": now}
            one["state"] = {"terminated": told}
    patch = {"status": {"containerStatuses": found}}
    kube.client.patch(w.PODS, name, "default", patch=patch, subresource="status")


RULES = ((), (rule("In", 42),), (rule("NotIn", 0, 42), rule("In", 42)))
CASES = [
    (pod_policy, own, rules, code)
    for pod_policy, own, rules, code in itertools.product(
        ("Always", "OnFailure", "Never"), (None, "Always", "OnFailure", "Never"), RULES, (0, 1, 42)
    )
    if own is not None or not rules
]


def test_rules_precede_the_policy_of_the_container_which_precedes_that_of_the_pod(kube):
    for at, (pod_policy, own, rules, _) in enumerate(CASES):
        container: w.Object = {"name": "c", "image": "i"}
        if own is not None:
            container["restartPolicy"] = own
        if rules:
            container["restartPolicyRules"] = list(rules)
        kube.client.create(w.pod(f"p{at}", containers=[container], restartPolicy=pod_policy))
    kube.settled()
    for at, case in enumerate(CASES):
        end(kube, "c", name=f"p{at}", code=case[-1])
    kube.settled()
    for at, case in enumerate(CASES):
        found = status(kube, f"p{at}")
        [one] = found["containerStatuses"]
        if wanted(*case):
            assert (found["phase"], one["restartCount"]) == ("Running", 1), case
            assert one["lastState"]["terminated"]["exitCode"] == case[-1]
        else:
            assert found["phase"] == ("Failed" if case[-1] else "Succeeded"), case


def test_a_pod_goes_on_until_no_container_restarts(kube):
    containers = [
        {"name": "a", "image": "i", "restartPolicy": "OnFailure"},
        {"name": "b", "image": "i"},
    ]
    kube.client.create(w.pod(containers=containers, restartPolicy="Never"))
    kube.settled()
    end(kube, "a", "b", code=1)
    kube.settled()
    first, second = status(kube)["containerStatuses"]
    assert status(kube)["phase"] == "Running"
    assert ("running" in first["state"], "terminated" in second["state"]) == (True, True)
    end(kube, "a", code=0)
    kube.settled()
    assert status(kube)["phase"] == "Failed"


def test_a_rule_restarts_all_containers(kube):
    """The container that ends waits for its back-off; the others restart with it."""
    again = [rule("In", 88, action="RestartAllContainers")]
    containers = [
        {"name": "a", "image": "i", "restartPolicy": "Never", "restartPolicyRules": again},
        {"name": "b", "image": "i"},
    ]
    inits = [
        {"name": "once", "image": "i"}, {"name": "side", "image": "i", "restartPolicy": "Always"},
    ]  # fmt: skip
    kube.client.create(w.pod(containers=containers, initContainers=inits, restartPolicy="Never"))
    kube.settled()
    for count in (1, 2):
        end(kube, "a", code=88)
        kube.settled()
        found = status(kube)
        every = [*found["initContainerStatuses"], *found["containerStatuses"]]
        assert [one["restartCount"] for one in every] == [count] * 4
        assert {one["lastState"]["terminated"]["reason"] for one in every} == {
            "RestartingAllContainers"
        }
        assert ["running" in one["state"] for one in every] == [False, True, True, True]
        assert all(one["ready"] for one in every)
        assert w.condition(kube.client.get(w.PODS, "p", "default"), "Ready")[0] == "True"
    end(kube, "a", "b", code=1)
    kube.settled()
    assert status(kube)["phase"] == "Failed"
