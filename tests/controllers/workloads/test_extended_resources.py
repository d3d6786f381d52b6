"""Extended resources of pods that devices provide, on nodes that do not report the resource."""

import pytest
import workloads as w

from inkube.controllers.workloads.devices import extended

pytestmark = pytest.mark.kube_workloads()

GROUP = "resource.k8s.io/v1"
CLAIMS, SLICES = f"{GROUP}/resourceclaims", f"{GROUP}/resourceslices"
CLASSES = f"{GROUP}/deviceclasses"
DRIVER, FOO = "gpu.example.com", "example.com/foo"
IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"


def device_class(name="gpu", **spec):
    meta = {"name": name}
    return {"apiVersion": GROUP, "kind": "DeviceClass", "metadata": meta, "spec": spec}


def slice_of(node, *devices):
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": list(devices)}
    meta = {"name": f"{node}-slice"}
    return {"apiVersion": GROUP, "kind": "ResourceSlice", "metadata": meta, "spec": spec}


def container(name="c", count=1, resource=FOO, **more):
    amounts = {resource: str(count)}
    resources = {"requests": {"cpu": "1m", **amounts}, "limits": amounts}
    return {"name": name, "image": "i", "resources": resources, **more}


def user(name, **more):
    return w.pod(name, containers=[container(**more)])


def get(kube, name, resource=w.PODS):
    return kube.client.get(resource, name, "default")


def node_of(kube, name):
    return get(kube, name)["spec"].get("nodeName")


def scheduled(kube, name):
    conditions = get(kube, name)["status"].get("conditions", ())
    return next((each["message"] for each in conditions if each["type"] == "PodScheduled"), "")


@pytest.fixture
def foos(kube):
    """A class for `example.com/foo`, and two devices on the first node."""
    kube.client.create(device_class(extendedResourceName=FOO))
    kube.client.create(slice_of("kube-node-1", {"name": "a"}, {"name": "b"}))
    return kube


@pytest.mark.parametrize("resource", [FOO, IMPLICIT])
def test_a_claim_is_made_for_the_resource_and_ends_with_the_pod(foos, resource):
    foos.client.create(user("p", resource=resource, count=2))
    foos.settled()
    pod, [claim] = get(foos, "p"), foos.client.list(CLAIMS)
    assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == ("kube-node-1", "Running")
    meta, uid = claim["metadata"], pod["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, "controller": True}
    assert meta["generateName"] == "p-extended-resources-"
    assert meta["annotations"] == {"resource.kubernetes.io/extended-resource-claim": "true"}
    assert meta["ownerReferences"] == [owner]
    assert meta["finalizers"] == ["resource.kubernetes.io/delete-protection"]
    request = f"container-0-request-{['cpu', resource].index(resource)}"
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}
    assert claim["spec"]["devices"]["requests"] == [{"name": request, "exactly": exactly}]
    results = claim["status"]["allocation"]["devices"]["results"]
    assert [(each["request"], each["device"]) for each in results] == [
        (request, "a"),
        (request, "b"),
    ]
    assert claim["status"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": uid}]
    mapping = {"containerName": "c", "resourceName": resource, "requestName": request}
    assert pod["status"]["extendedResourceClaimStatus"] == {
        "resourceClaimName": meta["name"],
        "requestMappings": [mapping],
    }
    foos.client.delete(w.PODS, "p", "default")
    foos.settled()
    assert foos.client.list(CLAIMS) == []


def test_a_pod_waits_until_devices_are_released(foos):
    foos.client.create(user("first", count=2))
    foos.settled()
    foos.client.create(user("second"))
    foos.settled()
    assert scheduled(foos, "second") == (
        "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )
    foos.client.delete(w.PODS, "first", "default")
    foos.settled()
    assert node_of(foos, "second") == "kube-node-1"


def test_a_pod_waits_until_a_class_names_its_resource(foos):
    foos.client.create(user("p", resource="example.com/bar"))
    foos.settled()
    assert "2 Insufficient example.com/bar" in scheduled(foos, "p")
    foos.client.patch(CLASSES, "gpu", patch={"spec": {"extendedResourceName": "example.com/bar"}})
    foos.settled()
    assert node_of(foos, "p") == "kube-node-1"


def test_a_node_that_reports_the_resource_provides_it_without_a_claim(foos):
    node = foos.client.get(w.NODES, "kube-node-2")
    for member in ("capacity", "allocatable"):
        node["status"][member][FOO] = "1"
    foos.client.update(node, subresource="status")
    foos.client.create(
        w.pod("p", containers=[container()], nodeSelector=node["metadata"]["labels"])
    )
    foos.settled()
    assert node_of(foos, "p") == "kube-node-2"
    assert foos.client.list(CLAIMS) == []
    assert "extendedResourceClaimStatus" not in get(foos, "p")["status"]


def test_a_claim_of_an_earlier_attempt_is_deleted_first(foos):
    gated = user("p")
    gated["spec"]["schedulingGates"] = [{"name": "g"}]
    uid = foos.client.create(gated)["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, "controller": True}
    request = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
    foos.client.create(
        {
            "apiVersion": GROUP,
            "kind": "ResourceClaim",
            "metadata": {
                "name": "left",
                "namespace": "default",
                "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
                "ownerReferences": [owner],
                "finalizers": ["resource.kubernetes.io/delete-protection"],
            },
            "spec": {"devices": {"requests": [request]}},
        }
    )
    foos.client.patch(w.PODS, "p", "default", patch={"spec": {"schedulingGates": None}})
    foos.settled()
    [event] = foos.client.list(w.EVENTS, fields="reason=FailedScheduling")
    assert event["message"].startswith(
        "0/2 nodes are available: 2 cannot schedule extended resource claim. deletion of "
        "ResourceClaim completed, preemption: "
    )
    [made] = foos.client.list(CLAIMS)
    assert made["metadata"]["name"] != "left"
    assert node_of(foos, "p") == "kube-node-1"


def test_a_claim_waits_for_the_conditions_of_its_devices(kube):
    kube.client.create(device_class(extendedResourceName=FOO))
    conditions = {"bindingConditions": ["Attached"], "bindingFailureConditions": ["Broken"]}
    kube.client.create(slice_of("kube-node-1", {"name": "a", **conditions}))
    kube.client.create(user("p"))
    kube.settled()
    [claim] = kube.client.list(CLAIMS)
    assert node_of(kube, "p") is None
    kube.advance(601)
    [second] = kube.client.list(CLAIMS)
    assert second["metadata"]["uid"] != claim["metadata"]["uid"]
    attached = {"type": "Attached", "status": "True", "reason": "Done", "message": ""}
    attached["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    device = {"driver": DRIVER, "pool": "kube-node-1", "device": "a", "conditions": [attached]}
    status = {**second["status"], "devices": [device]}
    kube.client.update({**second, "status": status}, subresource="status")
    kube.settled()
    assert node_of(kube, "p") == "kube-node-1"
    assert [each["metadata"]["uid"] for each in kube.client.list(CLAIMS)] == [
        second["metadata"]["uid"]
    ]


@pytest.mark.kubernetes_version("1.35")
def test_devices_provide_no_resources_before_1_36(foos):
    foos.client.create(user("p"))
    foos.client.create(user("q", resource=IMPLICIT))
    foos.settled()
    assert "extendedResourceName" not in foos.client.get(CLASSES, "gpu")["spec"]
    assert "2 Insufficient example.com/foo" in scheduled(foos, "p")
    assert f"2 Insufficient {IMPLICIT}" in scheduled(foos, "q")


def test_the_newest_class_provides_a_resource():
    def named(name, created):
        return {"metadata": {"name": name, "creationTimestamp": f"2026-01-01T00:00:0{created}Z"}}

    classes = [named("c", 1), named("b", 2), named("a", 1), named("d", 2)]
    assert extended.preferred(classes) == classes[1]
    assert extended.preferred([]) is None


BAR = "example.com/bar"
SIDECAR = {"restartPolicy": "Always"}


def of(name, **counts):
    names = {"foo": FOO, "bar": BAR, "cpu": "cpu"}
    requests = {names[key]: str(count) for key, count in counts.items()}
    return {"name": name, "resources": {"requests": requests}}


@pytest.mark.parametrize(
    ("early", "late", "requests", "mappings"),
    [
        # the number in a name is the place of the resource among all that the container requests
        ([], [of("a", cpu=1, foo=2)], {"0-1": 2}, ["a foo 0-1"]),
        ([], [of("a", foo=1, bar=3)], {"0-0": 3, "0-1": 1}, ["a bar 0-0", "a foo 0-1"]),
        ([], [of("a", foo=0), of("b", foo=1)], {"1-0": 1}, ["b foo 1-0"]),
        # an init container has what later containers have, and requests only what is missing
        ([of("i", foo=1)], [of("a", foo=2)], {"1-0": 2}, ["a foo 1-0", "i foo 1-0"]),
        (
            [of("i", foo=3)],
            [of("a", foo=2)],
            {"0-0": 1, "1-0": 2},
            ["a foo 1-0", "i foo 1-0", "i foo 0-0"],
        ),
        # the largest request of init containers serves all of them
        (
            [of("i", foo=1), of("j", foo=2)],
            [of("a", cpu=1)],
            {"1-0": 2},
            ["i foo 1-0", "j foo 1-0"],
        ),
        # a sidecar keeps its devices, and those of earlier sidecars are not free
        (
            [of("s", foo=1) | SIDECAR, of("i", foo=1)],
            [of("a", foo=1)],
            {"0-0": 1, "2-0": 1},
            ["s foo 0-0", "a foo 2-0", "i foo 2-0"],
        ),
    ],
)
def test_requests_share_devices_of_containers_that_do_not_run_at_once(
    early, late, requests, mappings
):
    spec = {"initContainers": early, "containers": late}
    made = extended.requests_for(spec, {FOO: "f", BAR: "b"})
    assert {
        each["name"].replace("container-", "").replace("-request", ""): each["exactly"]["count"]
        for each in made.requests
    } == requests
    told = [
        f"{each['containerName']} {each['resourceName'][12:]} {each['requestName']}"
        for each in made.mappings
    ]
    assert told == [
        f"{text.rpartition(' ')[0]} container-{text[-3]}-request-{text[-1]}" for text in mappings
    ]
