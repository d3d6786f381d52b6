"""Claims of pods in a server with workloads: made from templates, allocated, reserved, released."""

import pytest
import workloads as w

from inkube import pod

pytestmark = pytest.mark.kube_workloads()

GROUP = "resource.k8s.io/v1"
CLAIMS, SLICES = f"{GROUP}/resourceclaims", f"{GROUP}/resourceslices"
DRIVER = "gpu.example.com"


def device_class(name="gpu", **spec):
    spec = {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}], **spec}
    return {
        "apiVersion": GROUP,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": spec,
    }


def slice_of(node, *devices, **spec):
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": list(devices), **spec}
    return {
        "apiVersion": GROUP,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-slice"},
        "spec": spec,
    }


def exactly(name="gpu", **spec):
    return {"name": name, "exactly": {"deviceClassName": "gpu", **spec}}


def claim(name, *requests, **devices):
    return {
        "apiVersion": GROUP,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": list(requests or [exactly()]), **devices}},
    }


def template(name, *requests):
    spec = {"spec": claim(name, *requests)["spec"], "metadata": {"labels": {"for": "gpu"}}}
    return {
        "apiVersion": GROUP,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def user(name, *names, from_template=None, **spec):
    claims = [{"name": each, "resourceClaimName": each} for each in names]
    if from_template:
        claims.append({"name": "own", "resourceClaimTemplateName": from_template})
    return w.pod(name, resourceClaims=claims, **spec)


def get(kube, name, resource=CLAIMS):
    return kube.client.get(resource, name, "default")


def scheduled(kube, name):
    pod = get(kube, name, w.PODS)
    for each in pod["status"].get("conditions", ()):
        if each["type"] == "PodScheduled":
            return each.get("message", "")
    return ""


def devices_of(obj):
    results = obj["status"]["allocation"]["devices"]["results"]
    return [(each["request"], each["pool"], each["device"]) for each in results]


@pytest.fixture
def gpus(kube):
    """Two devices on the first node."""
    kube.client.create(device_class())
    kube.client.create(slice_of("kube-node-1", {"name": "a"}, {"name": "b"}))
    return kube


def test_a_claim_is_allocated_reserved_and_released(gpus):
    gpus.client.create(claim("c"))
    gpus.client.create(user("p", "c"))
    gpus.settled()
    assert get(gpus, "p", w.PODS)["spec"]["nodeName"] == "kube-node-1"
    found = get(gpus, "c")
    assert found["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
    status, uid = found["status"], get(gpus, "p", w.PODS)["metadata"]["uid"]
    assert status["reservedFor"] == [{"resource": "pods", "name": "p", "uid": uid}]
    assert status["allocation"]["devices"]["results"] == [
        {"request": "gpu", "driver": DRIVER, "pool": "kube-node-1", "device": "a"}
    ]
    [term] = status["allocation"]["nodeSelector"]["nodeSelectorTerms"]
    own = {"key": "metadata.name", "operator": "In", "values": ["kube-node-1"]}
    assert term == {"matchFields": [own]}
    gpus.client.delete(w.PODS, "p", "default")
    gpus.settled()
    found = get(gpus, "c")
    assert "finalizers" not in found["metadata"]
    assert "allocation" not in found.get("status", {})


def test_a_pod_waits_until_a_device_is_released(gpus):
    gpus.client.create(claim("both", exactly(count=2)))
    gpus.client.create(claim("more"))
    gpus.client.create(user("first", "both"))
    gpus.settled()
    gpus.client.create(user("second", "more"))
    gpus.settled()
    assert scheduled(gpus, "second") == (
        "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )
    gpus.client.delete(w.PODS, "first", "default")
    gpus.settled()
    assert get(gpus, "second", w.PODS)["spec"]["nodeName"] == "kube-node-1"


def test_pods_share_a_claim_on_the_node_of_its_device(gpus):
    gpus.client.create(claim("c"))
    for name in ("p", "q"):
        gpus.client.create(user(name, "c"))
    gpus.settled()
    assert {get(gpus, name, w.PODS)["spec"]["nodeName"] for name in "pq"} == {"kube-node-1"}
    assert len(get(gpus, "c")["status"]["reservedFor"]) == 2


def test_a_claim_is_made_from_its_template_and_ends_with_the_pod(gpus):
    gpus.client.create(user("p", from_template="t"))
    gpus.settled()
    assert get(gpus, "p", w.PODS)["status"].get("conditions") is None
    [event] = gpus.client.list(w.EVENTS, fields="reason=FailedResourceClaimCreation")
    assert event["message"] == (
        'PodResourceClaim own: resource claim template "t": '
        'resourceclaimtemplate.resource.k8s.io "t" not found'
    )
    gpus.client.create(template("t"))
    gpus.settled()
    pod = get(gpus, "p", w.PODS)
    [status] = pod["status"]["resourceClaimStatuses"]
    assert status["name"] == "own"
    assert status["resourceClaimName"].startswith("p-own-")
    made = get(gpus, status["resourceClaimName"])["metadata"]
    assert made["labels"] == {"for": "gpu"}
    assert made["annotations"] == {"resource.kubernetes.io/pod-claim-name": "own"}
    [owner] = made["ownerReferences"]
    assert owner["uid"] == pod["metadata"]["uid"]
    assert pod["spec"]["nodeName"] == "kube-node-1"
    gpus.client.delete(w.PODS, "p", "default")
    gpus.settled()
    assert gpus.client.list(CLAIMS) == []


def test_a_claim_of_a_job_is_released_when_its_pod_ends(gpus):
    gpus.client.create(template("t"))
    pods = w.template(
        restartPolicy="Never", resourceClaims=[{"name": "g", "resourceClaimTemplateName": "t"}]
    )
    gpus.client.create(w.job(template=pods))
    gpus.settled()
    assert len(gpus.client.list(CLAIMS)) == 1
    gpus.advance(5)
    assert gpus.client.get(w.JOBS, "j", "default")["status"]["succeeded"] == 1
    assert gpus.client.list(CLAIMS) == []


def test_a_class_that_does_not_exist_is_named(gpus):
    gpus.client.create(claim("c", {"name": "r", "exactly": {"deviceClassName": "other"}}))
    gpus.client.create(user("p", "c"))
    gpus.settled()
    assert scheduled(gpus, "p") == (
        "0/2 nodes are available: request r: device class other does not exist. "
        "no new claims to deallocate, preemption: 0/2 nodes are available: "
        "2 Preemption is not helpful for scheduling."
    )
    gpus.client.create(device_class("other"))
    gpus.settled()
    assert get(gpus, "p", w.PODS)["spec"]["nodeName"]


def test_an_expression_that_fails_is_an_error_of_the_scheduler(gpus):
    text = f'device.attributes["{DRIVER}"].model == "x"'
    gpus.client.create(claim("c", exactly(selectors=[{"cel": {"expression": text}}])))
    gpus.client.create(user("p", "c"))
    gpus.settled()
    [condition] = get(gpus, "p", w.PODS)["status"]["conditions"]
    assert condition["reason"] == "SchedulerError"
    assert condition["message"] == (
        'running "DynamicResources" filter plugin: claim default/c: selector #0: '
        "CEL runtime error: no such key: model"
    )


def test_a_taint_keeps_pods_away_and_another_ends_them(gpus):
    seconds = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}
    gpus.client.create(claim("c", exactly(tolerations=[seconds])))
    gpus.client.create(user("p", "c"))
    gpus.settled()
    taint = {"key": "broken", "effect": "NoExecute"}
    found = gpus.client.get(SLICES, "kube-node-1-slice")
    for device in found["spec"]["devices"]:
        device["taints"] = [taint]
    gpus.client.update(found)
    gpus.client.create(claim("d"))
    gpus.client.create(user("q", "d"))
    gpus.settled()
    assert "2 cannot allocate all claims" in scheduled(gpus, "q")
    assert "deletionTimestamp" not in get(gpus, "p", w.PODS)["metadata"]
    gpus.advance(61)
    assert [each["metadata"]["name"] for each in gpus.client.list(w.PODS)] == ["q"]
    [event] = gpus.client.list(w.EVENTS, fields="reason=DeviceTaintManagerEviction")
    assert event["message"] == "Marking for deletion"


def test_a_pod_waits_for_the_conditions_of_its_device(kube):
    kube.client.create(device_class())
    ready = {"bindingConditions": ["Attached"], "bindingFailureConditions": ["Broken"]}
    kube.client.create(slice_of("kube-node-1", {"name": "a", **ready}))
    kube.client.create(claim("c"))
    kube.client.create(user("p", "c"))
    kube.settled()
    found = get(kube, "c")
    assert devices_of(found) == [("gpu", "kube-node-1", "a")]
    assert "nodeName" not in get(kube, "p", w.PODS)["spec"]
    report = {"driver": DRIVER, "pool": "kube-node-1", "device": "a"}
    attached = {
        "type": "Attached",
        "status": "True",
        "reason": "Done",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    status = {**found["status"], "devices": [{**report, "conditions": [attached]}]}
    kube.client.update({**found, "status": status}, subresource="status")
    kube.settled()
    assert get(kube, "p", w.PODS)["spec"]["nodeName"] == "kube-node-1"


def test_devices_that_are_never_bound_are_released_after_ten_minutes(kube):
    kube.client.create(device_class())
    ready = {"bindingConditions": ["Attached"], "bindingFailureConditions": ["Broken"]}
    kube.client.create(slice_of("kube-node-1", {"name": "a", **ready}))
    kube.client.create(claim("c"))
    kube.client.create(user("p", "c"))
    kube.settled()
    first = get(kube, "c")["status"]["allocation"]["allocationTimestamp"]
    kube.advance(601)
    # it is allocated once more, since no other device exists
    assert get(kube, "c")["status"]["allocation"]["allocationTimestamp"] > first


@pod(image="function")
async def endless(container):
    await container.sleep(10_000)


@pytest.mark.kube_workloads(pods=[endless])
@pytest.mark.parametrize("image", ["plain", "function"])
def test_a_kubelet_starts_only_pods_with_reserved_claims(gpus, image):
    gpus.client.create(claim("c"))
    containers = [{"name": "c", "image": image}]
    gpus.client.create(user("p", "c", nodeName="kube-node-1", containers=containers))
    gpus.settled()
    assert get(gpus, "p", w.PODS)["status"]["phase"] == "Pending"
    [event] = gpus.client.list(w.EVENTS, fields="reason=FailedPrepareDynamicResources")
    assert "is not allowed to use ResourceClaim c" in event["message"]
    gpus.client.create(user("q", "c"))
    gpus.settled()
    assert get(gpus, "p", w.PODS)["status"]["phase"] == "Running"
    assert len(get(gpus, "c")["status"]["reservedFor"]) == 2


@pytest.mark.kube_workloads(nodes=3)
def test_the_node_with_the_better_alternative_is_chosen(kube):
    kube.client.create(device_class())
    for node, model in (("kube-node-2", "small"), ("kube-node-3", "large")):
        kube.client.create(
            slice_of(node, {"name": "d", "attributes": {"model": {"string": model}}})
        )
    choices = [
        {
            "name": model,
            "deviceClassName": "gpu",
            "selectors": [
                {"cel": {"expression": f'device.attributes["{DRIVER}"].model == "{model}"'}}
            ],
        }
        for model in ("large", "small")
    ]
    for name in ("c", "d"):
        kube.client.create(claim(name, {"name": "r", "firstAvailable": choices}))
        kube.client.create(user(f"p-{name}", name))
        kube.settled()
    assert devices_of(get(kube, "c")) == [("r/large", "kube-node-3", "d")]
    assert devices_of(get(kube, "d")) == [("r/small", "kube-node-2", "d")]


@pytest.mark.kube_workloads(nodes=1)
def test_many_pods_share_devices_without_a_device_being_given_twice(kube):
    kube.client.create(device_class())
    kube.client.create(slice_of("kube-node-1", *({"name": f"d{i}"} for i in range(6))))
    kube.client.create(template("t", exactly(count=2)))
    pods = w.template(resourceClaims=[{"name": "g", "resourceClaimTemplateName": "t"}])
    kube.client.create(w.workload("Deployment", replicas=5, template=pods))
    kube.settled()
    found = [each for each in kube.client.list(CLAIMS) if "allocation" in each.get("status", {})]
    names = [name for each in found for name in devices_of(each)]
    assert (len(found), len(set(names))) == (3, 6)
    assert len(kube.client.list(w.PODS, fields="status.phase=Running")) == 3
