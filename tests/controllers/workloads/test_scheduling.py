"""Selection of nodes for pods, reasons for pending ones, and preemption."""

import pytest
import workloads as w

from inkube.controllers.workloads import capacity, matching
from inkube.controllers.workloads.scheduling import preemption

pytestmark = pytest.mark.kube_workloads()


def placed(kube, name):
    return kube.client.get(w.PODS, name, "default")["spec"].get("nodeName")


def why(kube, name):
    found = kube.client.get(w.PODS, name, "default")
    for each in found["status"].get("conditions", ()):
        if each["type"] == "PodScheduled":
            return each.get("message", "")
    return ""


def asking(cpu):
    return [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]


def test_pods_without_requests_are_spread(kube):
    kube.client.create(w.workload("Deployment", replicas=6))
    kube.settled()
    on = [each["spec"]["nodeName"] for each in kube.client.list(w.PODS)]
    assert sorted(map(on.count, set(on))) == [3, 3]


def test_a_pod_that_fits_nowhere_is_placed_when_a_node_comes(kube):
    kube.client.create(w.pod(nodeSelector={"disk": "ssd"}))
    kube.settled()
    assert placed(kube, "p") is None
    assert why(kube, "p").startswith(
        "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."
    )
    kube.client.create(w.node("fast", labels={"disk": "ssd"}))
    kube.settled()
    assert placed(kube, "p") == "fast"


def failures(kube):
    """Return the counts of the events FailedScheduling, in their order."""
    found = kube.client.list("events.k8s.io/v1/events", fields="reason=FailedScheduling")
    return [each.get("series", {}).get("count", 1) for each in found]


def test_attempts_are_recorded_at_changes_and_every_five_minutes(kube):
    kube.client.create(w.pod(nodeSelector={"disk": "ssd"}))
    kube.settled()
    assert failures(kube) == [1]
    kube.client.create(w.pod("other"))
    kube.settled()
    kube.client.delete(w.PODS, "other", "default", options={"gracePeriodSeconds": 0})
    kube.settled()
    assert failures(kube) == [1]
    kube.client.create(w.node("third"))
    kube.settled()
    told = failures(kube)
    assert len(told) > 1
    for counts in ([*told, 1], [*told, 2]):
        kube.advance(300)
        kube.settled()
        assert failures(kube) == counts


def test_pods_are_kept_apart_by_anti_affinity(kube):
    term = {
        "labelSelector": {"matchLabels": {"app": "web"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    template = w.template(affinity={"podAntiAffinity": required})
    kube.client.create(w.workload("ReplicaSet", replicas=3, template=template))
    kube.settled()
    on = sorted(str(each["spec"].get("nodeName")) for each in kube.client.list(w.PODS))
    assert on == ["None", "kube-node-1", "kube-node-2"]
    left = next(e for e in kube.client.list(w.PODS) if not e["spec"].get("nodeName"))
    assert "2 node(s) didn't match pod anti-affinity rules" in why(kube, left["metadata"]["name"])


def test_constraints_of_topology_hold_back_what_would_be_uneven(kube):
    for name, zone in (("a1", "a"), ("b1", "b")):
        kube.client.create(w.node(name, labels={"zone": zone}))
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    template = w.template(topologySpreadConstraints=[constraint])
    kube.client.create(w.workload("ReplicaSet", replicas=4, template=template))
    kube.settled()
    on = sorted(each["spec"]["nodeName"] for each in kube.client.list(w.PODS))
    assert on == ["a1", "a1", "b1", "b1"]


def test_host_ports_are_taken_once_per_node(kube):
    ports = [{"containerPort": 80, "hostPort": 80}]
    containers = [{"name": "c", "image": "i", "ports": ports}]
    for name in ("a", "b", "c"):
        kube.client.create(w.pod(name, containers=containers))
    kube.settled()
    assert len({placed(kube, name) for name in ("a", "b", "c")}) == 3
    waiting = next(name for name in ("a", "b", "c") if placed(kube, name) is None)
    assert "2 node(s) didn't have free ports for the requested pod ports" in why(kube, waiting)


def test_a_pod_waits_for_its_claim_and_runs_on_the_node_of_the_volume(kube):
    claim: w.Object = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    claim["metadata"] = {"name": "data", "namespace": "default"}
    resources = {"requests": {"storage": "1Gi"}}
    claim["spec"] = {
        "storageClassName": "local", "accessModes": ["ReadWriteOnce"], "resources": resources,
    }  # fmt: skip
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    kube.client.create(w.pod(volumes=volumes))
    kube.settled()
    assert 'persistentvolumeclaim "data" not found' in why(kube, "p")
    kube.client.create(claim)
    kube.settled()
    assert "pod has unbound immediate PersistentVolumeClaims" in why(kube, "p")
    there = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["kube-node-2"]}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}}
    volume["spec"] = {
        "storageClassName": "local",
        "capacity": {"storage": "2Gi"},
        "accessModes": ["ReadWriteOnce"],
        "local": {"path": "/x"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [there]}]}},
    }
    kube.client.create(volume)
    kube.settled()
    assert placed(kube, "p") == "kube-node-2"


def test_the_first_consumer_binds_a_claim_that_waits_for_it(kube):
    kube.client.create(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "late"},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
        }
    )
    spec = {"storageClassName": "late", "accessModes": ["ReadWriteOnce"]}
    kube.client.create(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "default"},
            "spec": {**spec, "resources": {"requests": {"storage": "1Gi"}}},
        }
    )
    kube.client.create(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "v"},
            "spec": {**spec, "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}},
        }
    )
    kube.settled()
    claims = "v1/persistentvolumeclaims"
    assert kube.client.get(claims, "data", "default")["status"]["phase"] == "Pending"
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    kube.client.create(w.pod(volumes=volumes))
    kube.settled()
    assert kube.client.get(claims, "data", "default")["status"]["phase"] == "Bound"
    assert kube.client.get(w.PODS, "p", "default")["status"]["phase"] == "Running"


def test_the_more_important_pod_takes_the_room_of_the_least(kube):
    size = {"cpu": "1", "memory": "1Gi", "pods": "10"}
    kube.client.create(w.node("tiny", status={"allocatable": size, "capacity": size}))
    only = {"kubernetes.io/hostname": "tiny"}
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    for name, value in (("low", 1), ("middle", 5), ("high", 9)):
        kube.client.create({**head, "metadata": {"name": name}, "value": value})
        spec = {"containers": asking("500m"), "nodeSelector": only, "priorityClassName": name}
        kube.client.create(w.pod(name, **spec))
        kube.settled()
    assert placed(kube, "high") == "tiny"
    left = {each["metadata"]["name"] for each in kube.client.list(w.PODS)}
    assert left == {"middle", "high"}
    told = [e["message"] for e in kube.client.list(w.EVENTS) if e["reason"] == "Preempted"]
    assert len(told) == 1


def with_priorities(kube, **values):
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    for name, value in values.items():
        kube.client.create({**head, "metadata": {"name": name}, "value": value})


def on_tiny(kube, name, cpu, annotations=None, **spec):
    """Create a pod with the priority of its name, which only the node "tiny" takes."""
    only = {"kubernetes.io/hostname": "tiny"}
    spec = {"containers": asking(cpu), "nodeSelector": only, "priorityClassName": name, **spec}
    made = w.pod(name, **spec)
    made["metadata"]["annotations"] = annotations or {}
    kube.client.create(made)
    kube.settled()


def test_room_is_kept_for_a_nominated_pod(kube):
    size = {"cpu": "1", "memory": "1Gi", "pods": "10"}
    kube.client.create(w.node("tiny", status={"allocatable": size, "capacity": size}))
    with_priorities(kube, low=1, middle=5, high=9, highest=12)
    slow = {"pod-delete.stage.kwok.x-k8s.io/delay": "10s"}
    on_tiny(kube, "low", "600m", annotations=slow)
    on_tiny(kube, "high", "800m")
    status = kube.client.get(w.PODS, "high", "default")["status"]
    assert status["nominatedNodeName"] == "tiny"
    on_tiny(kube, "middle", "300m")
    assert placed(kube, "middle") is None, "there is room for it now, but not beside the other"
    on_tiny(kube, "highest", "100m")
    assert placed(kube, "highest") == "tiny", "the room is not kept from more important pods"
    kube.advance(11)
    assert placed(kube, "high") == "tiny"
    assert "nominatedNodeName" not in kube.client.get(w.PODS, "high", "default")["status"]
    assert placed(kube, "middle") is None


def test_a_pod_takes_the_room_of_victims_that_end_at_once(kube):
    """The deletion of the last victim can precede the report about the pod."""
    size = {"cpu": "1", "memory": "1Gi", "pods": "10"}
    kube.client.create(w.node("tiny", status={"allocatable": size, "capacity": size}))
    with_priorities(kube, low=1, high=9)
    on_tiny(kube, "low", "800m", terminationGracePeriodSeconds=0)
    on_tiny(kube, "high", "900m")
    assert placed(kube, "high") == "tiny"


def test_a_more_important_pod_takes_the_place_of_a_nominated_one(kube):
    size = {"cpu": "1", "memory": "1Gi", "pods": "10"}
    kube.client.create(w.node("tiny", status={"allocatable": size, "capacity": size}))
    with_priorities(kube, low=1, middle=5, high=9)
    slow = {"pod-delete.stage.kwok.x-k8s.io/delay": "10s"}
    on_tiny(kube, "low", "900m", annotations=slow)
    on_tiny(kube, "middle", "900m")
    assert kube.client.get(w.PODS, "middle", "default")["status"]["nominatedNodeName"] == "tiny"
    kube.client.delete(w.PODS, "middle", "default", options={"gracePeriodSeconds": 0})
    on_tiny(kube, "high", "900m")
    kube.advance(11)
    assert placed(kube, "high") == "tiny"


def test_pods_that_request_ephemeral_storage_are_placed(kube):
    asked = {"requests": {"ephemeral-storage": "1Gi"}, "limits": {"ephemeral-storage": "2Gi"}}
    kube.client.create(w.node("third"))
    containers = [{"name": "c", "image": "i", "resources": asked}]
    kube.client.create(w.pod("p", containers=containers))
    only = {"kubernetes.io/hostname": "third"}
    kube.client.create(w.pod("q", containers=containers, nodeSelector=only))
    kube.settled()
    assert placed(kube, "p")
    assert placed(kube, "q") == "third"


def test_tainted_nodes_are_left_at_the_time_a_pod_tolerates(kube):
    kube.client.create(w.node("old"))
    for name, seconds in (("soon", 5), ("late", 100)):
        toleration = {"key": "gone", "operator": "Exists", "tolerationSeconds": seconds}
        kube.client.create(
            w.pod(name, nodeName="old", tolerations=[{**toleration, "effect": "NoExecute"}])
        )
    kube.client.create(w.pod("never", nodeName="old"))
    kube.settled()
    taint = {"key": "gone", "effect": "NoExecute"}
    kube.client.patch(w.NODES, "old", patch={"spec": {"taints": [taint]}})
    kube.settled()
    assert {e["metadata"]["name"] for e in kube.client.list(w.PODS)} == {"soon", "late"}
    kube.advance(6)
    assert {e["metadata"]["name"] for e in kube.client.list(w.PODS)} == {"late"}
    kube.client.patch(w.NODES, "old", patch={"spec": {"taints": None}})
    kube.settled()
    kube.advance(200)
    assert {e["metadata"]["name"] for e in kube.client.list(w.PODS)} == {"late"}


def test_a_daemon_set_has_a_pod_on_each_node_that_fits(kube):
    kube.client.create(w.workload("DaemonSet"))
    kube.settled()
    kube.client.create(w.node("third"))
    kube.settled()
    on = sorted(each["spec"]["nodeName"] for each in kube.client.list(w.PODS))
    assert on == ["kube-node-1", "kube-node-2", "third"]
    kube.client.delete(w.NODES, "third")
    kube.settled()
    kube.advance(41)
    status = kube.client.get(w.DAEMON_SETS, "web", "default")["status"]
    assert (status["desiredNumberScheduled"], status["numberReady"]) == (2, 2)
    assert len(kube.client.list(w.PODS)) == 2


def test_a_node_that_falls_silent_is_given_up(kube):
    kube.client.create(w.node("old"))
    kube.client.create(w.pod(nodeName="old"))
    kube.settled()
    kube.client.patch(w.NODES, "old", patch={"metadata": {"annotations": None}})
    kube.settled()
    kube.advance(61)
    node = kube.client.get(w.NODES, "old")
    assert w.condition(node, "Ready") == ("Unknown", "NodeStatusUnknown")
    keys = {(taint["key"], taint["effect"]) for taint in node["spec"]["taints"]}
    assert ("node.kubernetes.io/unreachable", "NoExecute") in keys
    pod = kube.client.get(w.PODS, "p", "default")
    assert w.condition(pod, "Ready")[0] == "False"


def test_requests_are_those_of_the_containers_or_of_what_starts_them():
    def container(cpu, **more):
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "containers": [container("100m"), container("200m")],
        "initContainers": [container("50m", restartPolicy="Always"), container("1")],
        "overhead": {"cpu": "10m"},
    }
    assert capacity.requests(spec) == {"cpu": 1060}


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "a", "operator": "Exists"}, True),
        ({"key": "a", "value": "x"}, True),
        ({"key": "a", "value": "y"}, False),
        ({"key": "a", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "b", "operator": "Exists"}, False),
    ],
)
def test_tolerations_fit_taints(toleration, tolerated):
    taint = {"key": "a", "value": "x", "effect": "NoSchedule"}
    assert matching.is_tolerated(toleration, taint) is tolerated


def _policy(expression):
    """Return a policy about bindings of pods, with its binding."""
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods/binding"],
    }
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": expression, "message": "not there"}],
    }
    group = {"apiVersion": "admissionregistration.k8s.io/v1"}
    binding = {"policyName": "b", "validationActions": ["Deny"]}
    return (
        {**group, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "b"}, "spec": spec},
        {
            **group,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "b"},
            "spec": binding,
        },
    )


def test_a_pod_whose_binding_is_refused_is_tried_again(kube):
    for each in _policy("object.target.name != 'kube-node-1'"):
        kube.client.create(each)
    kube.client.create(w.pod(nodeSelector={"kubernetes.io/hostname": "kube-node-1"}))
    kube.settled()
    [condition] = kube.client.get(w.PODS, "p", "default")["status"]["conditions"]
    assert (condition["reason"], condition["message"].partition("'")[0]) == (
        "SchedulerError",
        'running Bind plugin "DefaultBinder": pods "p" is forbidden: ValidatingAdmissionPolicy ',
    )
    kube.advance(3)
    kube.client.delete("admissionregistration.k8s.io/v1/validatingadmissionpolicybindings", "b")
    kube.advance(11)
    assert placed(kube, "p") == "kube-node-1"


def _near(*labels, topology="kubernetes.io/hostname"):
    """Return the affinity to pods, with a term for each label."""
    terms = [
        {"labelSelector": {"matchLabels": {each: "yes"}}, "topologyKey": topology}
        for each in labels
    ]
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def test_pods_that_are_wanted_match_every_term_of_the_affinity(kube):
    node = {"kubernetes.io/hostname": "kube-node-1"}
    for label in ("a", "b"):
        kube.client.create(w.pod(label, labels={label: "yes"}, nodeSelector=node))
    kube.settled()
    kube.client.create(w.pod("p", affinity=_near("a", "b")))
    kube.settled()
    assert "2 node(s) didn't match pod affinity rules" in why(kube, "p")
    kube.client.create(w.pod("both", labels={"a": "yes", "b": "yes"}, nodeSelector=node))
    kube.settled()
    assert placed(kube, "p") == "kube-node-1"


def test_the_only_pod_that_is_wanted_can_be_preempted_by_one_that_matches_itself(kube):
    size = {"cpu": "1", "memory": "1Gi", "pods": "10"}
    kube.client.create(w.node("tiny", status={"allocatable": size, "capacity": size}))
    with_priorities(kube, low=1, high=9)
    labels = {"a": "yes"}
    on_tiny(kube, "low", "900m", labels=labels)
    on_tiny(kube, "high", "900m", labels=labels, affinity=_near("a"))
    kube.advance(40)
    assert placed(kube, "high") == "tiny"


def test_a_pod_that_no_preemption_helps_reports_what_the_node_would_lack(kube):
    size = {"cpu": "1", "memory": "1Gi", "pods": "10"}
    kube.client.create(w.node("tiny", status={"allocatable": size, "capacity": size}))
    with_priorities(kube, low=1, high=9)
    on_tiny(kube, "low", "900m")
    kept = w.pod("kept", containers=asking("50m"), nodeName="tiny", priorityClassName="high")
    kube.client.create(kept)
    on_tiny(kube, "high", "980m")
    assert why(kube, "high").endswith(
        "preemption: 0/3 nodes are available: 1 Insufficient cpu, "
        "2 Preemption is not helpful for scheduling."
    )


def _victim(name, priority, started=None):
    made = w.pod(name, priority=priority)
    made["metadata"]["uid"] = name
    made["status"] = {"startTime": f"2026-01-01T00:00:{started}Z"} if started else {}
    return capacity.PodOnNode(made)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (
            [_victim("a", 5), _victim("b", 4)],
            [_victim(each, 0) for each in "cd"] + [_victim("e", 5)],
        ),
        ([_victim("a", 5), _victim("b", 1)], [_victim("c", 5), _victim("d", 2)]),
        ([_victim("a", 5, "09")], [_victim("b", 5, "08")]),
        ([_victim("a", 5)], [_victim("b", 5, "08")]),
        (
            [_victim("a", 5, "09"), _victim("b", 4, "01")],
            [_victim("c", 5, "08"), _victim("d", 4, "07")],
        ),
    ],
)
def test_victims_are_few_then_of_low_priority_then_young(better, worse):
    first, second = (capacity.Node(w.node(name)) for name in ("n1", "n2"))
    found = [preemption.Victims(first, worse, 0), preemption.Victims(second, better, 0)]
    assert min(found, key=preemption.Victims.cost).pods == better


def test_pods_that_are_nominated_to_a_node_keep_others_away_by_anti_affinity(kube):
    size = {"cpu": "2", "memory": "1Gi", "pods": "10"}
    kube.client.create(w.node("tiny", status={"allocatable": size, "capacity": size}))
    with_priorities(kube, low=1, high=9)
    slow = {"pod-delete.stage.kwok.x-k8s.io/delay": "10s"}
    port = [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 8080}]}]
    on_tiny(kube, "low", "0", annotations=slow, containers=port)
    [term] = _near("a")["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    on_tiny(kube, "high", "0", affinity=apart, containers=port)
    assert kube.client.get(w.PODS, "high", "default")["status"]["nominatedNodeName"] == "tiny"
    on_tiny(kube, "other", "0", labels={"a": "yes"}, priorityClassName="low")
    assert "1 node(s) didn't satisfy existing pods anti-affinity rules" in why(kube, "other")
