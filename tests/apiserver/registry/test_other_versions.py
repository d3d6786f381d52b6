"""A built-in object that is written through its other version: nothing but the patch changes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkube.schemas.builtin import autoscalers

SCALERS = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
METRIC = {"name": "m", "selector": {"matchLabels": {"a": "b"}}}
DESCRIBED = {"kind": "Service", "name": "s", "apiVersion": "v1"}
VALUE = {"type": "Value", "value": "10"}
AVERAGE = {"type": "AverageValue", "averageValue": "500m"}
USED = {"type": "Utilization", "averageUtilization": 50}
METRICS = [
    {"type": "Pods", "pods": {"metric": METRIC, "target": AVERAGE}},
    {"type": "Object", "object": {"metric": METRIC, "describedObject": DESCRIBED, "target": VALUE}},
    {"type": "External", "external": {"metric": {"name": "e"}, "target": VALUE}},
    {"type": "External", "external": {"metric": METRIC, "target": AVERAGE}},
    {"type": "Resource", "resource": {"name": "memory", "target": AVERAGE}},
    {"type": "Resource", "resource": {"name": "cpu", "target": AVERAGE}},
    {
        "type": "ContainerResource",
        "containerResource": {"name": "cpu", "container": "c", "target": USED},
    },
]
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": USED}}
RULES = st.fixed_dictionaries(
    {},
    optional={
        "stabilizationWindowSeconds": st.integers(0, 9),
        "selectPolicy": st.sampled_from(["Max", "Disabled"]),
        "policies": st.just([{"type": "Pods", "value": 4, "periodSeconds": 15}]),
        "tolerance": st.just("100m"),
    },
)
STATUS = {
    "currentMetrics": [
        {
            "type": "Resource",
            "resource": {"name": "cpu", "current": {"averageValue": "1", "averageUtilization": 7}},
        }
    ],
    "conditions": [{"type": "AbleToScale", "status": "True", "lastTransitionTime": None}],
    "desiredReplicas": 0,
}


@settings(deadline=None)
@given(
    metrics=st.lists(st.sampled_from(METRICS), max_size=3),
    has_cpu=st.booleans(),
    behavior=st.fixed_dictionaries({}, optional={"scaleUp": RULES, "scaleDown": RULES}),
    status=st.sampled_from([{"currentMetrics": None, "desiredReplicas": 0}, STATUS]),
    annotations=st.sampled_from([{}, {"note": "<&>"}]),
)
def test_an_autoscaler_read_as_v1_is_the_same_again_as_v2(
    metrics, has_cpu, behavior, status, annotations
):
    spec = {"maxReplicas": 3, "metrics": [*metrics, CPU] if has_cpu or not metrics else metrics}
    if any(behavior.values()):
        spec["behavior"] = {name: rules for name, rules in behavior.items() if rules}
    metadata = {"name": "a", **({"annotations": annotations} if annotations else {})}
    obj = {"apiVersion": "autoscaling/v2", "metadata": metadata, "spec": spec, "status": status}
    assert autoscalers.to_v2(autoscalers.to_v1(obj)) == obj


@pytest.mark.parametrize("text", ["no JSON", "5", "[5]", '[{"type":5}]', '[{"resource":"x"}]'])
def test_an_autoscaler_without_metrics_has_the_default_of_v1_and_annotations_never_stay(text):
    broken = {"autoscaling.alpha.kubernetes.io/metrics": text, "note": "x"}
    old = {"metadata": {"annotations": broken}, "spec": {"maxReplicas": 2}}
    new = autoscalers.to_v2(old)
    assert new["metadata"]["annotations"] == {"note": "x"}
    [cpu] = new["spec"]["metrics"]
    assert cpu["resource"]["target"] == {"type": "Utilization", "averageUtilization": 80}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("number", range(len(METRICS)))
async def test_a_patch_through_v1_changes_only_its_field(web, number):
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"maxReplicas": 5, "scaleTargetRef": target, "metrics": [METRICS[number]]}
    name = f"scaler-{number}"
    body = {"metadata": {"name": name}, "spec": {**spec, "behavior": {"scaleDown": {}}}}
    before = (await web.ask("POST", SCALERS.format("v2") + "?fieldManager=one", body)).json
    path = f"{SCALERS.format('v1')}/{name}"
    old = (await web.ask("GET", path)).json
    patched = await web.patch(f"{path}?fieldManager=two", {"spec": {"minReplicas": 2}})
    assert patched.code == 200, patched.json
    assert patched.json["spec"] == {**old["spec"], "minReplicas": 2}
    after = (await web.ask("GET", f"{SCALERS.format('v2')}/{name}")).json
    assert after["spec"] == {**before["spec"], "minReplicas": 2}
    owners = {each["manager"]: each for each in after["metadata"]["managedFields"]}
    assert owners["two"]["apiVersion"] == "autoscaling/v1"
    assert owners["two"]["fieldsV1"] == {"f:spec": {"f:minReplicas": {}}}
    kept = dict(before["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"])
    del kept["f:minReplicas"]
    assert owners["one"]["fieldsV1"] == {"f:spec": kept}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "given",
    [
        {},
        {
            "metrics": '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":1}}]',
            "current-metrics": "[]",
            "conditions": '[{"type":"Odd"}]',
        },
    ],
)
async def test_a_write_through_v1_keeps_what_annotations_of_v1_contain(web, given):
    """A write to the object keeps the status, a write to the status keeps the spec. Metadata alone
    have none of these annotations."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"maxReplicas": 5, "scaleTargetRef": target}
    path, inner = (f"{SCALERS.format(version)}/kept-{len(given)}" for version in ("v1", "v2"))
    name = {"name": f"kept-{len(given)}"}
    body = {"metadata": name, "spec": {**spec, "metrics": [METRICS[0]]}}
    assert (await web.ask("POST", SCALERS.format("v2"), body)).code == 201
    old = (await web.patch(f"{inner}/status", {"status": STATUS})).json
    for form in ("PartialObjectMetadata", "Table"):
        accept = f"application/json;as={form};v=v1;g=meta.k8s.io"
        shown = (await web.ask("GET", path, Accept=accept)).json
        meta = shown["rows"][0]["object"]["metadata"] if "rows" in shown else shown["metadata"]
        assert "annotations" not in meta
    annotations = {f"autoscaling.alpha.kubernetes.io/{key}": text for key, text in given.items()}
    new = {"metadata": {**name, "annotations": annotations}, "spec": spec, "status": {}}
    assert (await web.ask("PUT", path, new)).code == 200
    changed = (await web.ask("GET", inner)).json
    assert changed["status"] == old["status"]
    assert changed["spec"]["metrics"] != old["spec"]["metrics"]
    assert (await web.ask("PUT", f"{path}/status", {**new, "spec": {}})).code == 200
    assert (await web.ask("GET", inner)).json["spec"] == changed["spec"]
    used = {"status": {"currentCPUUtilizationPercentage": 7}}
    await web.ask("PUT", f"{path}/status", {"metadata": name, "spec": {}, **used})
    [metric] = (await web.ask("GET", inner)).json["status"]["currentMetrics"]
    assert metric["resource"]["current"] == {"averageUtilization": 7, "averageValue": "0"}


@pytest.mark.asyncio(loop_scope="module")
async def test_metrics_in_annotations_are_validated(web):
    metrics = '[{"type": "Odd"}]'
    annotations = {"autoscaling.alpha.kubernetes.io/metrics": metrics}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"maxReplicas": 5, "scaleTargetRef": target}
    body = {"metadata": {"name": "odd", "annotations": annotations}, "spec": spec}
    answer = await web.ask("POST", SCALERS.format("v1"), body)
    assert answer.code == 422
    assert answer.json["details"]["causes"][0]["field"] == "spec.metrics[0].type"


@pytest.mark.asyncio(loop_scope="module")
async def test_an_event_patched_through_the_other_group_changes_only_its_field(web):
    involved = {"kind": "ConfigMap", "namespace": "default", "name": "c"}
    body = {"metadata": {"name": "e"}, "involvedObject": involved, "message": "m", "count": 1}
    path = "/api/v1/namespaces/default/events"
    before = (await web.ask("POST", f"{path}?fieldManager=one", body)).json
    other = "/apis/events.k8s.io/v1/namespaces/default/events/e?fieldManager=two"
    patched = await web.patch(other, {"metadata": {"labels": {"a": "b"}}})
    assert patched.code == 200, patched.json
    after = (await web.ask("GET", f"{path}/e")).json
    assert {**after, "metadata": None} == {**before, "metadata": None}
    owners = {each["manager"]: each["fieldsV1"] for each in after["metadata"]["managedFields"]}
    assert owners["one"] == before["metadata"]["managedFields"][0]["fieldsV1"]
    assert owners["two"] == {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}


@pytest.mark.asyncio(loop_scope="module")
async def test_an_empty_map_is_no_conflict_with_an_owner_in_another_version(web):
    """Go leaves empty maps out when it converts the object for the comparison."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    body = {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "shared", "labels": {}}}
    spec = {"maxReplicas": 5, "scaleTargetRef": target}
    codes = []
    for version, manager, more in (
        ("v2", "one", {"spec": spec}),
        ("v1", "two", {}),
        ("v2", "three", {}),
    ):
        path = f"{SCALERS.format(version)}/shared?fieldManager={manager}"
        config = {"apiVersion": f"autoscaling/{version}", **body, **more}
        codes.append((await web.patch(path, config, "apply")).code)
    assert codes == [201, 200, 409], "in one version, it is one"
