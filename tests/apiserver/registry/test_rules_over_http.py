"""Rules of built-in kinds that recordings showed to be wrong once, as clients see them."""

import pytest

TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
}
SERVICES = "/api/v1/namespaces/default/services?dryRun=All"


async def made(web, path, spec):
    answer = await web.ask("POST", path, {"metadata": {"name": "x"}, "spec": spec})
    assert answer.code == 201, answer.json
    return answer.json["spec"]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_condition_of_a_pod_that_a_job_looks_for_is_true_by_default(web):
    rules = [{"action": "Ignore", "onPodConditions": [{"type": "X"}]}]
    spec = {"template": TEMPLATE, "podFailurePolicy": {"rules": rules}}
    spec = await made(web, "/apis/batch/v1/namespaces/default/jobs?dryRun=All", spec)
    assert spec["podFailurePolicy"]["rules"][0]["onPodConditions"][0]["status"] == "True"


@pytest.mark.asyncio(loop_scope="module")
async def test_traffic_policies_are_for_services_with_addresses(web):
    spec = {"type": "ExternalName", "externalName": "a.b", "internalTrafficPolicy": "Local"}
    assert "internalTrafficPolicy" not in await made(web, SERVICES, spec)
    spec = {"ports": [{"port": 1}], "externalIPs": ["1.2.3.4"]}
    assert (await made(web, SERVICES, spec))["externalTrafficPolicy"] == "Cluster"


@pytest.mark.asyncio(loop_scope="module")
async def test_a_quota_of_storage_may_be_scoped_to_attributes_of_volumes(web):
    scope = {"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["x"]}
    spec = {
        "hard": {"requests.storage": "1Gi"},
        "scopeSelector": {"matchExpressions": [scope]},
    }
    path = "/api/v1/namespaces/default/resourcequotas?dryRun=All"
    assert (await made(web, path, spec))["hard"] == {"requests.storage": "1Gi"}


@pytest.mark.asyncio(loop_scope="module")
async def test_an_expression_of_several_lines_needs_a_message(web):
    rule = {
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"],
    }  # fmt: skip
    validations = [{"expression": "true\n&& true"}]
    body = {
        "metadata": {"name": "x"},
        "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": validations},
    }
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies?dryRun=All"
    answer = await web.ask("POST", path, body)
    causes = answer.json["details"]["causes"]
    assert [cause["field"] for cause in causes] == ["spec.validations[0].message"]
