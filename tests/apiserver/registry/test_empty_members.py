"""Empty lists and maps of a request: validation sees them, but they are not stored."""

import pytest

PODS = "/api/v1/namespaces/default/pods"
VOLUMES = "/api/v1/persistentvolumes"
TEMPLATES = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SETS = "/apis/apps/v1/namespaces/default/daemonsets"


def pod(**spec):
    container = {"name": "c", "image": "i", "args": ["a"]}
    return {"metadata": {"name": "p"}, "spec": {"containers": [container], **spec}}


def causes(answer):
    return [(each["field"], each["message"]) for each in answer.json["details"]["causes"]]


@pytest.mark.asyncio(loop_scope="module")
async def test_an_empty_list_is_forbidden_where_nothing_may_be_set(web):
    spec = {"metadata": {"finalizers": []}, "spec": {}}
    answer = await web.ask("POST", TEMPLATES, {"metadata": {"name": "a"}, "spec": spec})
    assert causes(answer) == [("spec.metadata.finalizers", "Forbidden: cannot be set")]


@pytest.mark.asyncio(loop_scope="module")
async def test_errors_show_them_as_they_were_sent(web):
    source = {"hostPath": {"path": "/x"}, "accessModes": ["ReadWriteOnce"]}
    body = {"metadata": {"name": "v"}, "spec": {**source, "capacity": {}}}
    shown = dict(causes(await web.ask("POST", VOLUMES, body)))["spec.capacity"]
    assert shown == 'Unsupported value: {}: supported values: "storage"'


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("resource", "member", "refused"),
    [
        ("configmaps", "data", False),  # the defaults make it an empty map
        ("configmaps", "binaryData", True),
        ("secrets", "data", True),
    ],
)
async def test_an_empty_map_can_be_a_change_of_an_immutable_object(web, resource, member, refused):
    path, name = f"/api/v1/namespaces/default/{resource}", member.lower()
    stored = (await web.ask("POST", path, {"metadata": {"name": name}, "immutable": True})).json
    answer = await web.ask("PUT", f"{path}/{name}", {**stored, member: {}})
    found = [field for field, _ in causes(answer)] if answer.code == 422 else []
    assert found == [member] * refused, answer.json


@pytest.mark.asyncio(loop_scope="module")
async def test_errors_of_an_apply_show_them(web):
    ranges = "/apis/networking.k8s.io/v1/servicecidrs"
    await web.ask("POST", ranges, {"metadata": {"name": "r"}, "spec": {"cidrs": ["10.8.0.0/16"]}})
    body = {"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR"}
    path = f"{ranges}/r?fieldManager=m&force=true"
    answer = await web.patch(path, {**body, "spec": {"cidrs": []}}, "apply")
    assert causes(answer) == [("spec.cidrs", "Invalid value: []: field is immutable")]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_status_whose_parent_the_strategy_copies_is_stored_without_them(web):
    nodes = "/api/v1/nodes"
    stored = (await web.ask("POST", nodes, {"metadata": {"name": "n"}})).json
    config = {"assigned": {}}  # removed, because kubelets no longer read it
    stored["status"] = {**stored["status"], "capacity": {}, "runtimeHandlers": [], "config": config}
    status = (await web.ask("PUT", f"{nodes}/n/status", stored)).json["status"]
    assert not {"capacity", "runtimeHandlers", "config"} & status.keys()


@pytest.mark.asyncio(loop_scope="module")
async def test_empty_members_are_neither_stored_nor_returned_nor_owned(web):
    sent = pod(nodeSelector={}, imagePullSecrets=[], volumes=[])
    sent["metadata"] = {"name": "empty", "labels": {}}
    made = await web.ask("POST", PODS, sent, Accept="application/json")
    assert made.code == 201, made.json
    stored = (await web.ask("GET", f"{PODS}/empty")).json
    for obj in (made.json, stored):
        assert not {"nodeSelector", "imagePullSecrets", "volumes"} & obj["spec"].keys()
        assert "labels" not in obj["metadata"]
        owned = obj["metadata"]["managedFields"][0]["fieldsV1"]
        assert "f:volumes" not in owned["f:spec"]


@pytest.mark.asyncio(loop_scope="module")
async def test_an_update_that_brings_them_changes_nothing(web):
    """At any depth. A struct without any set field is something different."""
    await web.ask("POST", PODS, pod())
    stored = (await web.ask("GET", f"{PODS}/p")).json
    stored["spec"]["nodeSelector"] = {}
    stored["spec"]["containers"][0]["envFrom"] = []
    answer = await web.ask("PUT", f"{PODS}/p", stored)
    assert answer.code == 200, answer.json
    assert answer.json["metadata"]["resourceVersion"] == stored["metadata"]["resourceVersion"]
    stored["spec"]["containers"][0]["args"] = []
    ((_, refused),) = causes(await web.ask("PUT", f"{PODS}/p", stored))
    assert '+   "Args": [],' in refused
    stored["spec"]["containers"][0]["args"] = ["a"]
    stored["spec"]["containers"][0]["lifecycle"] = {}
    assert (await web.ask("PUT", f"{PODS}/p", stored)).code == 422


@pytest.mark.asyncio(loop_scope="module")
async def test_a_patch_brings_them_like_a_body(web):
    await web.ask("POST", PODS, pod())
    answer = await web.patch(f"{PODS}/p", {"spec": {"nodeSelector": {"a": "b"}}})
    assert answer.code == 422
    answer = await web.patch(f"{PODS}/p", {"spec": {"nodeSelector": {}}})
    assert answer.code == 200, answer.json


@pytest.mark.asyncio(loop_scope="module")
async def test_a_selector_with_an_empty_map_selects_everything(web):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}
    spec = {"selector": {"matchLabels": {}}, "template": template}
    answer = await web.ask("POST", SETS, {"metadata": {"name": "d"}, "spec": spec})
    shown = "Invalid value: {}: empty selector is invalid for daemonset"
    assert causes(answer) == [("spec.selector", shown)]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_pod_with_an_empty_overhead_needs_a_class_that_has_one(web):
    answer = await web.ask("POST", PODS, {**pod(overhead={}), "metadata": {"name": "o"}})
    assert answer.code == 403
    assert "Pod Overhead set without" in answer.json["message"]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("path", "member"), [(SETS, "updateStrategy"), (DEPLOYMENTS, "strategy")])
async def test_an_unknown_strategy_is_shown_with_zeros(web, path, member):
    """The defaults of other members are those of known types."""
    spec = {member: {"type": "Odd", "rollingUpdate": {}}}
    errors = dict(causes(await web.ask("POST", path, {"metadata": {"name": "a"}, "spec": spec})))
    zeros = '{"Type":"Odd","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":0}}'
    assert errors[f"spec.{member}"].startswith(f"Unsupported value: {zeros}: supported values: ")
