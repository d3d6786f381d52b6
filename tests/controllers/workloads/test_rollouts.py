"""A workload reaches the state in its spec, whatever happened to it, and in whatever order."""

import asyncio
import contextlib
import http.client
import json
import random

import pytest
import workloads as w
from hypothesis import given
from hypothesis import strategies as st
from patience import SECONDS

from inkube.apiserver import requestwaits
from inkube.controllers.manager import Manager
from inkube.controllers.workloads import rollouts
from inkube.schemas.status import StatusError

pytestmark = pytest.mark.kube_workloads()
STEPS = 12


def images(kube):
    found = w.alive(kube.client.list(w.PODS))
    return sorted(each["spec"]["containers"][0]["image"] for each in found)


def disturb(kube, choice, kind, resource):
    """Make one random change: scale, change the template, delete a pod or let it fail."""
    what = choice.choice(("scale", "update", "delete", "fail", "wait"))
    if what == "scale":
        patch = {"spec": {"replicas": choice.randrange(6)}}
        kube.client.patch(resource, "web", "default", patch=patch)
    elif what == "update":
        template = w.template(f"i:{choice.randrange(1, 4)}")
        kube.client.patch(resource, "web", "default", patch={"spec": {"template": template}})
    elif what == "wait":
        kube.settled()
    else:
        found = w.alive(kube.client.list(w.PODS))
        if not found:
            return
        strike(kube, choice.choice(found)["metadata"]["name"], is_deletion=what == "delete")


def strike(kube, victim, *, is_deletion):
    """Delete a pod, or let it fail. A controller may have deleted it before."""
    try:
        if is_deletion:
            kube.client.delete(w.PODS, victim, "default")
        else:
            status = {"status": {"phase": "Failed"}}
            kube.client.patch(w.PODS, victim, "default", patch=status, subresource="status")
    except StatusError as error:
        if error.code != 404:
            raise


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet"])
def test_random_changes_end_in_the_state_of_the_spec(kube, kind, seed):
    choice = random.Random(f"{kind}/{seed}")
    resource = f"apps/v1/{kind.lower()}s"
    kube.client.create(w.workload(kind, replicas=3))
    for _ in range(STEPS):
        disturb(kube, choice, kind, resource)
    kube.settled()
    found = kube.client.get(resource, "web", "default")
    wanted = found["spec"]["replicas"]
    living = [
        each for each in w.alive(kube.client.list(w.PODS)) if each["status"]["phase"] == "Running"
    ]
    assert len(living) == wanted
    status = found["status"]
    assert status["observedGeneration"] == found["metadata"]["generation"]
    assert status.get("readyReplicas", 0) == status.get("replicas", 0) == wanted
    if kind != "ReplicaSet":  # it never replaces pods of another template
        image = found["spec"]["template"]["spec"]["containers"][0]["image"]
        assert {each["spec"]["containers"][0]["image"] for each in living} <= {image}
        assert status.get("updatedReplicas", 0) == wanted
    revision = kube.server.store.revision
    kube.settled()
    assert kube.server.store.revision == revision


def test_a_rollout_is_written_in_few_steps_and_then_nothing(kube):
    kube.client.create(w.workload("Deployment", replicas=60))
    kube.settled()
    begun = kube.server.store.revision
    kube.client.patch(
        w.DEPLOYMENTS, "web", "default", patch={"spec": {"template": w.template("i:2")}}
    )
    kube.settled()
    writes = kube.server.store.revision - begun
    assert images(kube) == ["i:2"] * 60
    assert writes < 60 * 10, "make, bind, run, delete twice, and what is told of it"
    begun = kube.server.store.revision
    kube.settled()
    assert kube.server.store.revision == begun


def test_a_paused_deployment_scales_but_does_not_roll(kube):
    kube.client.create(w.workload("Deployment", replicas=2))
    kube.settled()
    spec = {"paused": True, "replicas": 4, "template": w.template("i:2")}
    kube.client.patch(w.DEPLOYMENTS, "web", "default", patch={"spec": spec})
    kube.settled()
    assert images(kube) == ["i:1"] * 4
    found = kube.client.get(w.DEPLOYMENTS, "web", "default")
    assert w.condition(found, "Progressing") == ("Unknown", "DeploymentPaused")
    kube.client.patch(w.DEPLOYMENTS, "web", "default", patch={"spec": {"paused": None}})
    kube.settled()
    assert images(kube) == ["i:2"] * 4


def test_a_deployment_whose_pods_never_are_ready_times_out(kube):
    unready = {"pod-unready.stage.kwok.x-k8s.io": "true"}
    deployment = w.workload("Deployment", replicas=1, progressDeadlineSeconds=60)
    deployment["spec"]["template"] = w.template(labels=unready)
    kube.client.create(deployment)
    kube.settled()
    kube.advance(70)
    found = kube.client.get(w.DEPLOYMENTS, "web", "default")
    assert w.condition(found, "Progressing") == ("False", "ProgressDeadlineExceeded")


def test_pods_count_as_available_when_they_were_ready_long_enough(kube):
    kube.client.create(w.workload("Deployment", replicas=2, minReadySeconds=30))
    kube.settled()
    found = kube.client.get(w.DEPLOYMENTS, "web", "default")
    assert (found["status"]["readyReplicas"], found["status"].get("availableReplicas")) == (2, None)
    kube.advance(31)
    found = kube.client.get(w.DEPLOYMENTS, "web", "default")
    assert found["status"]["availableReplicas"] == 2


def test_a_quota_that_grows_lets_the_missing_pods_in(kube):
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": {"pods": "1"}}}
    quota["metadata"] = {"name": "few", "namespace": "default"}
    kube.client.create(quota)
    kube.settled()
    kube.client.create(w.workload("Deployment", replicas=3))
    kube.settled()
    found = kube.client.get(w.DEPLOYMENTS, "web", "default")
    assert w.condition(found, "ReplicaFailure") == ("True", "FailedCreate")
    patch = {"spec": {"hard": {"pods": "9"}}}
    kube.client.patch("v1/resourcequotas", "few", "default", patch=patch)
    kube.settled()
    found = kube.client.get(w.DEPLOYMENTS, "web", "default")
    assert w.condition(found, "ReplicaFailure") == ("", "")
    assert found["status"]["availableReplicas"] == 3


def replica_set(name, replicas, most):
    annotations = {"deployment.kubernetes.io/max-replicas": str(most)}
    meta = {"name": name, "uid": name, "creationTimestamp": name, "annotations": annotations}
    return {"metadata": meta, "spec": {"replicas": replicas}}


@pytest.mark.parametrize(
    ("wanted", "sizes", "goals"),
    [
        (10, (5, 5), (5, 5)),
        (20, (5, 5), (10, 10)),
        (5, (5, 5), (2, 3)),
        (0, (5, 5), (0, 0)),
    ],
)
def test_scaling_in_a_rollout_is_spread_in_proportion(wanted, sizes, goals):
    deployment = w.workload("Deployment", replicas=wanted)
    deployment["spec"]["strategy"] = {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1},
    }
    deployment["status"] = {"replicas": sum(sizes)}
    old, new = (replica_set(name, size, 10) for name, size in zip("ab", sizes, strict=True))
    found = rollouts.scaled(deployment, new, [old])
    assert sorted(found.values()) == sorted(goals)


def test_a_write_finds_what_controllers_made_of_the_one_before(kube, monkeypatch):
    """Requests follow each other faster than on a cluster, where each waits for a disk."""
    monkeypatch.setattr(requestwaits, "CATCH_UP_SECONDS", 10)  # for slow machines
    host, port = kube.url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=SECONDS)

    def send(method, path, body=None):
        headers = {"Content-Type": "application/merge-patch+json"}
        connection.request(method, path, body and json.dumps(body), headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200

    labelled = {"metadata": {"labels": {"app": "web"}}}
    with contextlib.closing(connection):
        for _ in range(10):
            kube.client.create(w.pod("stray"))
            kube.client.create(w.workload("ReplicaSet", replicas=1))
            kube.settled()
            send("PATCH", "/api/v1/namespaces/default/pods/stray", labelled)
            send("DELETE", "/apis/apps/v1/namespaces/default/replicasets/web")
            kube.settled()
            assert kube.client.list(w.PODS) == []


async def test_controllers_that_come_to_no_end_hold_no_write_up_for_long(monkeypatch):
    class Busy(Manager):
        is_working = True

        async def wait_idle(self):
            await asyncio.Event().wait()

    monkeypatch.setattr(requestwaits, "CATCH_UP_SECONDS", 0.001)
    await asyncio.wait_for(requestwaits.of_earlier_writes(Busy.__new__(Busy))(), SECONDS)


@pytest.mark.parametrize("digits", ["", "٣", "9" * 19, "9" * 5000])
def test_a_percentage_that_is_no_int64_is_nothing(digits):
    """Go's Atoi refuses it, and validation reads it as 0 (getPercentValue)."""
    assert rollouts.scaled_value(f"{digits}%", 10, up=True) == 0


@given(st.integers(0, 10**18 - 1), st.integers(0, 2**31 - 1), st.booleans())
def test_a_percentage_is_exact_however_large(percent, total, up):
    found = rollouts.scaled_value(f"{percent}%", total, up=up)
    assert 0 <= (found * 100 - percent * total) * (1 if up else -1) < 100


@pytest.mark.parametrize("text", ["9" * 5000, "x", "-1", "٣", ""])
def test_an_annotation_that_is_no_number_is_none(text):
    name = "revision"
    obj = {"metadata": {"annotations": {rollouts.ANNOTATION + name: text}}}
    assert rollouts.number(obj, name) is None
