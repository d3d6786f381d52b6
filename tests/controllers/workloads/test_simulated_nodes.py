"""Simulated nodes: they register, and Stages determine their behavior."""

import json
from urllib.request import urlopen

import pytest
import workloads as w
import yaml

from inkube.controllers.clock import FakeClock
from inkube.controllers.workloads.kubelet.addresses import Addresses
from inkube.controllers.workloads.stages import functions, native, sets, stage
from inkube.schemas.status import StatusError

pytestmark = pytest.mark.kube_workloads(controllers={"kubelet"})
PODS, NODES, STAGES = "v1/pods", "v1/nodes", "kwok.x-k8s.io/v1alpha1/stages"
LEASES = "coordination.k8s.io/v1/leases"


def pod(name="p", **spec):
    spec = {"nodeName": "kube-node-1", "containers": [{"name": "c", "image": "i:1"}], **spec}
    annotations, labels = spec.pop("annotations", {}), spec.pop("labels", {})
    meta = {"name": name, "namespace": "default", "annotations": annotations, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def a_stage(name, **spec):
    spec = {"resourceRef": {"kind": "Pod"}, **spec}
    meta = {"name": name}
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": meta, "spec": spec}


def conditions(obj):
    return {one["type"]: one["status"] for one in obj["status"].get("conditions", ())}


def phase(kube, name="p"):
    return kube.client.get(PODS, name, "default")["status"]["phase"]


def test_a_server_begins_with_its_nodes(kube):
    node = kube.client.get(NODES, "kube-node-2")
    assert conditions(node)["Ready"] == "True"
    assert node["status"]["capacity"] == {
        "cpu": "32",
        "memory": "64Gi",
        "ephemeral-storage": "512Gi",
        "pods": "500",
    }
    assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.2"
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "kube-node-2"
    lease = kube.client.get(LEASES, "kube-node-2", "kube-node-lease")
    assert lease["spec"]["holderIdentity"] == "kube-node-2"
    assert lease["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]


def test_a_node_with_the_annotation_becomes_one_and_without_it_falls_silent(kube):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "mine"}}
    kube.client.create(node)
    kube.client.create(pod(nodeName="mine"))
    kube.settled()
    assert "Ready" not in conditions(kube.client.get(NODES, "mine"))
    assert phase(kube) == "Pending"
    notes = {"metadata": {"annotations": {"kwok.x-k8s.io/node": "fake"}}}
    kube.client.patch(NODES, "mine", patch=notes)
    kube.settled()
    mine = kube.client.get(NODES, "mine")
    assert conditions(mine)["Ready"] == "True"
    assert mine["status"]["allocatable"] == {
        "cpu": "4",
        "memory": "8Gi",
        "ephemeral-storage": "100Gi",
        "pods": "110",
    }
    assert phase(kube) == "Running"
    notes = {"metadata": {"annotations": None}}
    kube.client.patch(NODES, "mine", patch=notes)
    kube.client.create(pod("late", nodeName="mine"))
    before = kube.client.get(LEASES, "mine", "kube-node-lease")["spec"]["renewTime"]
    kube.advance(120)
    assert phase(kube, "late") == "Pending"
    assert kube.client.get(LEASES, "mine", "kube-node-lease")["spec"]["renewTime"] == before


def test_a_node_keeps_its_own_capacity(kube):
    size = {"cpu": "1", "memory": "1Gi", "pods": "10"}
    kube.client.create({
        "apiVersion": "v1", "kind": "Node", "status": {"capacity": size, "allocatable": size},
        "metadata": {"name": "tiny", "annotations": {"kwok.x-k8s.io/node": "fake"}},
    })  # fmt: skip
    kube.settled()
    assert kube.client.get(NODES, "tiny")["status"]["allocatable"] == size


def test_leases_are_renewed_after_the_clock_has_moved(kube):
    before = kube.client.get(LEASES, "kube-node-1", "kube-node-lease")["spec"]["renewTime"]
    kube.advance(3600)
    assert kube.client.get(LEASES, "kube-node-1", "kube-node-lease")["spec"]["renewTime"] > before


def test_a_label_makes_a_node_ill_and_well_again(kube):
    ill = {"metadata": {"labels": {"node-not-ready.stage.kwok.x-k8s.io": "true"}}}
    kube.client.patch(NODES, "kube-node-1", patch=ill)
    kube.settled()
    assert conditions(kube.client.get(NODES, "kube-node-1"))["Ready"] == "False"
    ill["metadata"]["labels"] = {"node-not-ready.stage.kwok.x-k8s.io": None}
    kube.client.patch(NODES, "kube-node-1", patch=ill)
    kube.settled()
    assert conditions(kube.client.get(NODES, "kube-node-1"))["Ready"] == "True"


def test_pods_run_with_addresses_of_their_own(kube):
    for name in ("a", "b"):
        kube.client.create(pod(name, initContainers=[{"name": "i", "image": "i:0"}]))
    kube.client.create(pod("host", hostNetwork=True))
    kube.settled()
    found = {one["metadata"]["name"]: one["status"] for one in kube.client.list(PODS)}
    assert {one["phase"] for one in found.values()} == {"Running"}
    assert found["a"]["podIP"] != found["b"]["podIP"]
    assert found["host"]["podIP"] == found["host"]["hostIP"] == "172.18.0.11"
    assert found["a"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


def test_delays_hold_up_the_pod_and_not_the_server(kube):
    notes = {
        "pod-ready.stage.kwok.x-k8s.io/delay": "10s",
        "pod-complete.stage.kwok.x-k8s.io/delay": "20s",
        "pod-delete.stage.kwok.x-k8s.io/delay": "5s",
    }
    kube.client.create(pod(annotations=notes, restartPolicy="Never"))
    kube.settled()
    assert phase(kube) == "Pending"
    kube.advance(10)
    assert phase(kube) == "Running"
    kube.client.create(pod("going", annotations=notes))
    kube.advance(10)
    kube.client.delete(PODS, "going", "default")
    kube.settled()
    assert kube.client.get(PODS, "going", "default")["metadata"]["deletionTimestamp"]
    kube.advance(10)
    assert phase(kube) == "Succeeded"
    with pytest.raises(StatusError, match="not found"):
        kube.client.get(PODS, "going", "default")


def test_a_pod_fails_as_its_annotations_require(kube):
    fail = "pod-fail.stage.kwok.x-k8s.io"
    notes = {f"{fail}/delay": "0s", f"{fail}/exit-code": "137", f"{fail}/reason": "OOMKilled"}
    kube.client.create(pod(annotations=notes, restartPolicy="Never"))
    kube.settled()
    status = kube.client.get(PODS, "p", "default")["status"]
    assert status["phase"] == "Failed"
    ended = status["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (137, "OOMKilled")


def test_a_label_makes_a_running_pod_unready_and_ready_again(kube):
    kube.client.create(pod())
    kube.settled()
    for value, ready in (("true", "False"), (None, "True")):
        patch = {"metadata": {"labels": {"pod-unready.stage.kwok.x-k8s.io": value}}}
        kube.client.patch(PODS, "p", "default", patch=patch)
        kube.settled()
        found = kube.client.get(PODS, "p", "default")
        assert conditions(found)["Ready"] == conditions(found)["ContainersReady"] == ready
        assert found["status"]["containerStatuses"][0]["ready"] is (ready == "True")


def test_readiness_gates_decide_both_ways(kube):
    kube.client.create(pod(readinessGates=[{"conditionType": "example.com/warm"}]))
    kube.settled()
    found = kube.client.get(PODS, "p", "default")
    assert conditions(found)["ContainersReady"] == "True"
    for value, ready in (("True", "True"), ("False", "False")):
        warm = {"status": {"conditions": [{"type": "example.com/warm", "status": value}]}}
        kube.client.patch(PODS, "p", "default", patch=warm, type="strategic", subresource="status")
        kube.settled()
        found = kube.client.get(PODS, "p", "default")
        assert conditions(found)["Ready"] == ready
    ready = next(one for one in found["status"]["conditions"] if one["type"] == "Ready")
    assert ready["message"] == (
        'the status of pod readiness gate "example.com/warm" is not "True", but False'
    )


def test_a_deleted_pod_with_a_finalizer_reports_its_end(kube):
    held = pod()
    held["metadata"]["finalizers"] = ["example.com/hold"]
    kube.client.create(held)
    kube.settled()
    kube.client.delete(PODS, "p", "default")
    kube.settled()
    status = kube.client.get(PODS, "p", "default")["status"]
    assert status["phase"] == "Failed"
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137


def test_a_deleted_pod_ends_before_it_is_removed(kube):
    ended = {"exitCode": 3, "reason": "Error"}
    containers = [{"name": name, "image": "i"} for name in ("a", "b")]
    kube.client.create(pod(containers=containers, restartPolicy="Never"))  # b is not restarted
    kube.settled()
    told = kube.client.get(PODS, "p", "default")
    told["status"]["containerStatuses"][1]["state"] = {"terminated": ended}
    kube.client.update(told, subresource="status")
    kube.settled()
    before = kube.client.get(PODS, "p", "default")
    started = before["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
    kube.client.delete(PODS, "p", "default")
    kube.settled()
    query = f"watch=1&timeoutSeconds=1&resourceVersion={before['metadata']['resourceVersion']}"
    with urlopen(f"{kube.url}/api/v1/namespaces/default/pods?{query}") as answer:
        marked, last, *_, gone = (json.loads(line) for line in answer)
    assert [each["type"] for each in (marked, last, gone)] == ["MODIFIED", "MODIFIED", "DELETED"]
    assert marked["object"]["status"]["phase"] == "Running"
    status = last["object"]["status"]
    assert (status["phase"], conditions(last["object"])["Ready"]) == ("Failed", "False")
    first, second = (one["state"]["terminated"] for one in status["containerStatuses"])
    assert (first["exitCode"], first["startedAt"]) == (137, started)
    assert second["exitCode"] == 3, "what ended by itself stays"


@pytest.mark.parametrize("policy", ["Never", "OnFailure"])
def test_a_pod_that_nobody_owns_completes(kube, policy):
    kube.client.create(pod(restartPolicy=policy))
    kube.client.create(pod("for-ever"))
    kube.settled()
    assert phase(kube) == "Running"
    kube.advance(2)
    assert (phase(kube), phase(kube, "for-ever")) == ("Succeeded", "Running")
    assert conditions(kube.client.get(PODS, "p", "default"))["Ready"] == "False"


@pytest.mark.parametrize(
    ("command", "runs", "ends"),
    [(["sleep", "30"], 29, 2), (["sleep", "infinity"], 3600, 87600 * 3600), (["echo"], 0, 2)],
)
def test_a_pod_that_sleeps_completes_when_it_has(kube, command, runs, ends):
    container = {"name": "c", "image": "i", "command": command[:1], "args": command[1:]}
    kube.client.create(pod(restartPolicy="Never", containers=[container]))
    kube.settled()
    kube.advance(runs)
    assert phase(kube) == "Running"
    kube.advance(ends)
    assert phase(kube) == "Succeeded"


@pytest.mark.kube_workloads(controllers={"kubelet"}, bare_pods_run=True)
def test_pods_that_nobody_owns_run_on_where_that_is_wanted(kube):
    kube.client.create(pod(restartPolicy="Never"))
    kube.settled()
    kube.advance(3600)
    assert phase(kube) == "Running"


def test_an_ended_container_restarts_by_its_restart_policy(kube):
    kube.client.create(pod())
    kube.client.create(pod("once", restartPolicy="Never"))
    kube.settled()
    for name in ("p", "once"):
        end(kube, name)
    assert phase(kube, "once") == "Failed"
    one = kube.client.get(PODS, "p", "default")["status"]["containerStatuses"][0]
    assert (one["restartCount"], one["ready"]) == (1, True)
    assert one["lastState"]["terminated"]["exitCode"] == 3
    end(kube, "p")
    one = kube.client.get(PODS, "p", "default")["status"]["containerStatuses"][0]
    assert one["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    kube.advance(11)
    one = kube.client.get(PODS, "p", "default")["status"]["containerStatuses"][0]
    assert one["restartCount"] == 2
    assert "running" in one["state"]


def end(kube, name):
    found = kube.client.get(PODS, name, "default")
    now = kube.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    ended = {"exitCode": 3, "reason": "Error", "startedAt": now, "finishedAt": now}
    found["status"]["containerStatuses"][0]["state"] = {"terminated": ended}
    kube.client.update(found, subresource="status")
    kube.settled()


def test_a_stage_of_ones_own_takes_effect_at_once(kube):
    kube.client.create(pod())
    kube.settled()
    kube.client.create(a_stage(
        "mark",
        selector={"matchExpressions": [
            {"key": ".status.phase", "operator": "In", "values": ["Running"]},
            {"key": '.metadata.annotations["seen"]', "operator": "DoesNotExist"},
        ]},
        next={
            "event": {"type": "Normal", "reason": "Seen", "message": "It was seen"},
            "finalizers": {"add": [{"value": "example.com/hold"}]},
            "patches": [{"template": "metadata: {annotations: {seen: {{ .metadata.name }}}}"}],
        },
    ))  # fmt: skip
    kube.settled()
    meta = kube.client.get(PODS, "p", "default")["metadata"]
    assert (meta["annotations"]["seen"], meta["finalizers"]) == ("p", ["example.com/hold"])
    event = next(one for one in kube.client.list("v1/events") if one["reason"] == "Seen")
    assert (event["message"], event["source"]["component"]) == ("It was seen", "kubelet")


def test_a_stage_may_make_other_objects_of_any_kind(kube):
    kube.client.create(a_stage(
        "twin",
        resourceRef={"apiGroup": "v1", "kind": "ConfigMap"},
        selector={"matchLabels": {"twin": "wanted"}},
        steps=[
            {"apply": {"template": """
                apiVersion: v1
                kind: ConfigMap
                metadata: {name: {{ .metadata.name }}-twin}
                data: {of: {{ .metadata.name }}}"""}},
            {"delete": True},
        ],
    ))  # fmt: skip
    labels = {"name": "one", "namespace": "default", "labels": {"twin": "wanted"}}
    kube.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": labels})
    kube.settled()
    names = [one["metadata"]["name"] for one in kube.client.list("v1/configmaps")]
    assert "one-twin" in names
    assert "one" not in names


@pytest.mark.parametrize(
    ("spec", "field", "why"),
    [
        ({"next": {"statusTemplate": "{{ define `x` }}"}}, "spec.next.statusTemplate", "define"),
        ({"next": {"statusTemplate": "{{ frob }}"}}, "spec.next.statusTemplate", "frob"),
        (
            {"selector": {"matchExpressions": [{"key": "def f: .; f", "operator": "Exists"}]}},
            "spec.selector.matchExpressions[0].key",
            "not supported: def",
        ),
        (
            {"selector": {"matchExpressions": [{"key": ".a", "operator": "Near"}]}},
            "spec.selector.matchExpressions[0].operator",
            "supported values",
        ),
        (
            {"selector": {"matchExpressions": [{"cel": {"expression": "self."}}]}},
            "spec.selector.matchExpressions[0].cel.expression",
            "Syntax error",
        ),
        ({"steps": [{}]}, "spec.steps[0]", "one of event"),
        (
            {"next": {"patches": [{"template": "", "impersonation": {"username": "x"}}]}},
            "spec.next.patches[0].impersonation",
            "not supported",
        ),
    ],
)
def test_a_stage_that_cannot_be_played_is_refused_when_it_is_written(kube, spec, field, why):
    with pytest.raises(StatusError) as caught:
        kube.client.create(a_stage("bad", **spec))
    assert caught.value.code == 422
    assert field in caught.value.message
    assert why in caught.value.message


def test_cel_may_select_and_weights_from_the_object_decide(kube):
    selector = {"matchExpressions": [{"cel": {"expression": "self.metadata.name == 'chosen'"}}]}
    for name, weight in (("heavy", '"7"'), ("never", '"none"'), ("light", '"0"')):
        kube.client.create(a_stage(
            name,
            resourceRef={"kind": "ConfigMap"},
            selector=selector,
            weightFrom={"expressionFrom": weight},
            next={"patches": [{"template": f"data: {{by: {name}}}"}]},
        ))  # fmt: skip
    meta = {"name": "chosen", "namespace": "default"}
    kube.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
    kube.settled()
    assert kube.client.get("v1/configmaps", "chosen", "default")["data"] == {"by": "heavy"}


def test_a_stage_that_fits_its_own_result_is_held_back(kube):
    kube.client.create(a_stage(
        "loop",
        resourceRef={"kind": "ConfigMap"},
        selector={"matchLabels": {"loop": "yes"}},
        next={"patches": [{"template": "data: {count: 'x{{ .data.count }}'}"}]},
    ))  # fmt: skip
    meta = {"name": "loop", "namespace": "default", "labels": {"loop": "yes"}}
    kube.client.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"count": ""}}
    )
    kube.settled()
    assert kube.client.get("v1/configmaps", "loop", "default")["data"]["count"] == "x" * 10
    assert [one["reason"] for one in kube.client.list("v1/events")] == ["StageLoop"]


def test_a_failing_template_is_reported_by_an_event(kube):
    kube.client.create(a_stage(
        "broken",
        resourceRef={"kind": "ConfigMap"},
        selector={"matchLabels": {"broken": "yes"}},
        next={"patches": [{"template": "data: {n: {{ .none.x }}}"}]},
    ))  # fmt: skip
    meta = {"name": "c", "namespace": "default", "labels": {"broken": "yes"}}
    kube.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
    kube.settled()
    (event,) = kube.client.list("v1/events")
    assert event["message"].startswith("stage broken cannot be played: nil pointer")


@pytest.mark.kube_workloads(controllers={"kubelet"}, stages=["slow"])
def test_the_slow_set_takes_seconds_of_the_clock(kube):
    kube.client.create(pod())
    kube.settled()
    assert phase(kube) == "Pending"
    kube.advance(2)
    status = kube.client.get(PODS, "p", "default")["status"]
    assert status["containerStatuses"][0]["state"]["waiting"]["reason"] == "ContainerCreating"
    kube.advance(10)
    assert phase(kube) == "Running"
    kube.client.delete(PODS, "p", "default")
    kube.settled()
    kube.advance(6)
    with pytest.raises(StatusError, match="not found"):
        kube.client.get(PODS, "p", "default")


@pytest.mark.kube_workloads(controllers={"kubelet"}, stages=["chaotic"], seed=3)
def test_the_chaotic_set_hurts_pods_that_recover(kube):
    for number in range(10):
        kube.client.create(pod(f"p{number}"))
    for _ in range(20):
        kube.advance(20)
    reasons = {one["reason"] for one in kube.client.list("v1/events")}
    assert {"ContainerDied", "Unhealthy"} <= reasons
    found = [one["status"]["containerStatuses"][0] for one in kube.client.list(PODS)]
    assert sum(one["restartCount"] for one in found) > 0


@pytest.mark.parametrize("name", ["pod-ready", "pod-fail", "node-initialize"])
def test_a_file_adds_and_replaces_stages(name, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(a_stage(name, selector={})))
    found = {obj["metadata"]["name"]: obj for obj in sets.load_stages([path])}
    assert found[name]["spec"]["selector"] == {}
    assert len(found) == len(sets.builtin("fast"))
    with pytest.raises(sets.StagesError, match="neither a file nor one of the sets fast"):
        sets.load_stages(["none"])


@pytest.mark.parametrize("name", sets.NAMES)
def test_every_stage_of_a_built_in_set_can_be_played(name):
    for obj in sets.builtin(name):
        assert stage.check(obj, functions.checking()) == []


RUNNING = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}
STORIES = [
    pod(),
    pod(labels={native.UNREADY: "true"}, initContainers=[
        {"name": "i", "image": "i"}, {"name": "s", "image": "s", "restartPolicy": "Always"},
    ]),
    pod(annotations={"pod-complete.stage.kwok.x-k8s.io/delay": "1s"}) | {"status": RUNNING},
    pod(annotations={"pod-fail.stage.kwok.x-k8s.io/delay": "1s"}) | {"status": RUNNING},
    pod(annotations={
        "pod-fail.stage.kwok.x-k8s.io/delay": "1s", "pod-fail.stage.kwok.x-k8s.io/index": "1,3",
        "batch.kubernetes.io/job-completion-index": "2",
    }) | {"status": RUNNING},
    pod(annotations={
        "pod-fail.stage.kwok.x-k8s.io/delay": "1s", "pod-fail.stage.kwok.x-k8s.io/index": "1,3",
        "batch.kubernetes.io/job-completion-index": "3",
        "pod-fail.stage.kwok.x-k8s.io/exit-code": "42",
    }) | {"status": RUNNING},
    pod(restartPolicy="Never") | {"status": RUNNING},
    pod(restartPolicy="OnFailure", annotations={
        "pod-complete.stage.kwok.x-k8s.io/delay": "1s",
    }) | {"status": RUNNING},
    pod(labels={native.UNREADY: "true"}) | {"status": {
        **RUNNING,
        "conditions": [{"type": "ContainersReady", "status": "True"}],
        "containerStatuses": [{"name": "c", "ready": True, "state": {"running": {}}}],
    }},
    pod() | {"status": {
        **RUNNING,
        "conditions": [
            {"type": "ContainersReady", "status": "False", "reason": "ContainersNotReady"}
        ],
        "containerStatuses": [{"name": "c", "ready": False, "state": {"running": {}}}],
    }},
    {"kind": "Node", "metadata": {"name": "n"}},
    {"kind": "Node", "metadata": {"name": "n"}, "status": {
        "capacity": {"cpu": "1"}, "nodeInfo": {"kernelVersion": "6"},
        "conditions": [{"type": "Ready", "status": "Unknown"}],
    }},
    {"kind": "Node", "metadata": {"name": "n", "labels": {native.NOT_READY: "true"}}},
]  # fmt: skip


PAIRS = [
    (name, obj)
    for name, kind in (
        (one["metadata"]["name"], one["spec"]["resourceRef"]["kind"])
        for one in sets.builtin("fast")
    )
    for obj in STORIES
    if obj["kind"] == kind
]


@pytest.mark.parametrize(("name", "obj"), PAIRS)
def test_a_native_stage_has_the_results_of_its_file(name, obj):
    addresses, clock = Addresses(), FakeClock()
    status = obj.get("status", {"phase": "Pending"} if "spec" in obj else {})
    obj = {**obj, "metadata": {**obj["metadata"], "uid": "u"}, "status": status}
    (stored,) = [one for one in sets.builtin("fast") if one["metadata"]["name"] == name]
    written = stage.read(stored, functions.helpers(clock, addresses))
    fast = native.Natives(clock, addresses).by_name[name]
    assert fast.matches(obj) == written.selector.matches(obj)
    if fast.matches(obj) and fast.status is not None:
        (step,) = written.steps
        assert _without_nulls(fast.status(obj)) == _without_nulls(step.render(obj))


def _without_nulls(value):
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


def test_a_pod_that_names_its_node_is_scheduled(kube):
    kube.client.create(w.pod("named", nodeName="kube-node-1"))
    kube.settled()
    conditions = kube.client.get(w.PODS, "named", "default")["status"]["conditions"]
    assert [each["status"] for each in conditions if each["type"] == "PodScheduled"] == ["True"]
