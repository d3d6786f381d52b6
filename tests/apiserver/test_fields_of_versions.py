"""Fields that older versions of Kubernetes set, keep, remove or check in another way."""

import copy
from typing import Any

import aiohttp
import pytest

from inkube import APIServer
from inkube.schemas.status import StatusError

KEY = "container.apparmor.security.beta.kubernetes.io/"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
SLICE: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "s"},
    "spec": {
        "driver": "d.example.com",
        "nodeName": "n",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "devices": [
            {
                "name": "d",
                "allowMultipleAllocations": True,
                "bindingFailureConditions": ["x"],
                "nodeName": "n",
                "capacity": {"memory": {"value": "1Gi", "requestPolicy": {"default": "1"}}},
            }
        ],
    },
}
CLAIM = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {
        "devices": {
            "requests": [
                {"name": "r", "exactly": {"deviceClassName": "c", "tolerations": [{"key": "k"}]}}
            ]
        }
    },
}


def pod(**container):
    made = copy.deepcopy(POD)
    made["spec"]["containers"][0].update(container)
    return made


async def created(version, obj):
    async with APIServer(kubernetes_version=version) as server:
        return await server.client.create(obj, dry_run=True)


async def causes_of(version, obj):
    with pytest.raises(StatusError) as refused:
        await created(version, obj)
    return [(cause["field"], cause["message"]) for cause in refused.value.details["causes"]]


@pytest.mark.parametrize(("version", "annotates"), [("1.33", True), ("1.34", False)])
async def test_profiles_of_fields_were_also_annotations(version, annotates):
    profile = {"type": "Localhost", "localhostProfile": "x"}
    made = await created(version, pod(securityContext={"appArmorProfile": profile}))
    wanted = {f"{KEY}c": "localhost/x"} if annotates else None
    assert made["metadata"].get("annotations") == wanted


@pytest.mark.parametrize("version", ["1.31", "1.36"])
async def test_an_annotation_becomes_the_field(version):
    given = copy.deepcopy(POD)
    given["metadata"]["annotations"] = {f"{KEY}c": "unconfined"}
    made = await created(version, given)
    container = made["spec"]["containers"][0]
    assert container["securityContext"] == {"appArmorProfile": {"type": "Unconfined"}}
    # an annotation that names no profile changes nothing
    given["metadata"]["annotations"] = {f"{KEY}c": "localhost/"}
    made = await created(version, given)
    assert "securityContext" not in made["spec"]["containers"][0]


async def test_a_name_that_no_annotation_can_have_has_two_errors():
    context = {"appArmorProfile": {"type": "RuntimeDefault"}}
    found = await causes_of("1.33", pod(name="-a", securityContext=context))
    assert [field for field, _ in found] == ["metadata.annotations", "spec.containers[0].name"]


async def test_a_proc_mount_becomes_the_default_while_the_gate_is_off():
    made = await created("1.32", pod(securityContext={"procMount": "Unmasked"}))
    assert made["spec"]["containers"][0]["securityContext"] == {"procMount": "Default"}


async def test_a_hook_that_does_not_sleep():
    sleepless = pod(lifecycle={"preStop": {"sleep": {"seconds": 0}}})
    why = "must be greater than 0 and less than terminationGracePeriodSeconds (30)"
    field = "spec.containers[0].lifecycle.preStop.sleep"
    assert await causes_of("1.31", sleepless) == [(field, f"Invalid value: 0: {why}")]
    made = await created("1.33", sleepless)
    assert made["spec"]["containers"][0]["lifecycle"]["preStop"]["sleep"] == {"seconds": 0}


async def test_a_job_loses_its_manager_and_the_template_of_a_cron_job_keeps_it():
    spec = {"managedBy": "example.com/a", "template": TEMPLATE}
    meta = {"name": "a", "namespace": "default"}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}
    assert "managedBy" not in (await created("1.31", job))["spec"]
    assert (await created("1.32", job))["spec"]["managedBy"] == "example.com/a"
    schedule = {"schedule": "* * * * *", "jobTemplate": {"spec": spec}}
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": meta, "spec": schedule}
    made = await created("1.31", cron)
    assert made["spec"]["jobTemplate"]["spec"]["managedBy"] == "example.com/a"


@pytest.mark.parametrize("version", ["1.34", "1.35"])
async def test_devices_lose_fields_whose_gates_are_off(version):
    device = (await created(version, SLICE))["spec"]["devices"][0]
    assert device == {"name": "d", "capacity": {"memory": {"value": "1Gi"}}}
    found = {field for field, _ in await causes_of("1.36", SLICE)}
    assert found == {"spec.devices[0]", "spec.devices[0].bindingConditions"}


@pytest.mark.parametrize(("version", "keeps"), [("1.34", True), ("1.35", False), ("1.36", True)])
async def test_only_1_35_removes_tolerations_of_requests(version, keeps):
    made = await created(version, CLAIM)
    assert ("tolerations" in made["spec"]["devices"]["requests"][0]["exactly"]) is keeps


async def test_a_missing_driver_had_two_errors():
    made = copy.deepcopy(SLICE)
    del made["spec"]["driver"]
    for version, count in (("1.34", 2), ("1.35", 1)):
        found = [field for field, _ in await causes_of(version, made) if field == "spec.driver"]
        assert len(found) == count


@pytest.mark.parametrize(("version", "code"), [("1.31", 201), ("1.32", 422)])
async def test_reviews_ignore_selectors_while_the_gate_is_off(version, code):
    asked = {"verb": "get", "resource": "pods", "fieldSelector": {}}
    review = {"spec": {"user": "u", "resourceAttributes": asked}}
    async with APIServer(kubernetes_version=version) as server, aiohttp.ClientSession() as session:
        url = f"{server.url}/apis/authorization.k8s.io/v1/subjectaccessreviews"
        async with session.post(url, json=review) as answer:
            assert answer.status == code
            told = await answer.json()
    if code == 201:
        assert "fieldSelector" not in told["spec"]["resourceAttributes"]


@pytest.mark.parametrize(
    ("version", "items", "count"),
    [("1.31", None, 0), ("1.33", None, 1), ("1.33", [], 0), ("1.34", None, 0)],
)
async def test_a_source_without_files_repeated_those_before_it(version, items, count):
    secret = {"secret": {"name": "s", "items": [{"key": "k", "path": "a"}]}}
    second = {"configMap": {"name": "c"} if items is None else {"name": "c", "items": items}}
    given = pod()
    given["spec"]["volumes"] = [{"name": "v", "projected": {"sources": [secret, second]}}]
    async with APIServer(kubernetes_version=version) as server, aiohttp.ClientSession() as session:
        url = f"{server.url}/api/v1/namespaces/default/pods?dryRun=All"
        async with session.post(url, json=given) as answer:
            assert answer.status == 201, await answer.text()
            told = answer.headers.getall("Warning", [])
    assert len([text for text in told if "overlapping paths" in text]) == count
