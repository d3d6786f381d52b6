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


async def refused(web, path, body, verb="POST"):
    """The fields and texts of what the server says is wrong."""
    answer = await web.ask(verb, path, body)
    assert answer.code == 422, answer.json
    return [(cause["field"], cause["message"]) for cause in answer.json["details"]["causes"]]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_budget_that_says_zero_or_nothing_has_said_something(web):
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets?dryRun=All"
    both = {"metadata": {"name": "x"}, "spec": {"minAvailable": 1, "maxUnavailable": 0}}
    assert [field for field, _ in await refused(web, path, both)] == ["spec"]
    empty = {"metadata": {"name": "x"}, "spec": {"minAvailable": ""}}
    assert [field for field, _ in await refused(web, path, empty)] == ["spec.minAvailable"]


@pytest.mark.asyncio(loop_scope="module")
async def test_an_empty_list_of_addresses_is_none(web):
    spec = {"ports": [{"port": 1}], "clusterIPs": []}
    given = await made(web, SERVICES, spec)
    assert given["clusterIPs"] == [given["clusterIP"]]


@pytest.mark.asyncio(loop_scope="module")
async def test_nodes_of_hints_have_names(web):
    endpoint = {"addresses": ["1.2.3.4"], "hints": {"forNodes": [{}]}}
    body = {"metadata": {"name": "x"}, "addressType": "IPv4", "endpoints": [endpoint]}
    path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?dryRun=All"
    found = await refused(web, path, body)
    assert [field for field, _ in found] == ["endpoints[0].hints.forNodes[0].name"]


@pytest.mark.asyncio(loop_scope="module")
async def test_ranges_of_a_node_that_cannot_be_read_fail_the_check_of_families(web):
    body = {"metadata": {"name": "x"}, "spec": {"podCIDRs": ["10.1.0.0/24", "y"]}}
    found = await refused(web, "/api/v1/nodes?dryRun=All", body)
    why = "failed to check with dual stack with error:invalid CIDR[1]: <nil> "
    why = f"Internal error: invalid PodCIDRs. {why}(invalid CIDR address: y)"
    assert ("spec.podCIDRs", why) in found


@pytest.mark.asyncio(loop_scope="module")
async def test_a_scheduling_group_is_dropped_while_its_gate_is_off(web):
    pod = {**TEMPLATE["spec"], "schedulingGroup": {"podGroupName": "g"}}
    spec = await made(web, "/api/v1/namespaces/default/pods?dryRun=All", pod)
    assert "schedulingGroup" not in spec


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("path", "place", "warned"),
    [
        ("apis/apps/v1/namespaces/default/deployments", "spec.template", "new"),
        ("api/v1/namespaces/default/podtemplates", "template", "new"),
        ("api/v1/namespaces/default/replicationcontrollers", "spec.template", "old"),
    ],
)
async def test_a_change_is_warned_of_when_the_template_changes(web, path, place, warned):
    """Upstream looks at the old template of a ReplicationController
    (rcStrategy.WarningsOnUpdate)."""
    selector = {"a": "b"} if "replicationcontrollers" in path else {"matchLabels": {"a": "b"}}
    pod = {"containers": [{"name": "c", "image": "i"}], "imagePullSecrets": [{}]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod}
    spec = {"selector": selector, "template": template}
    body = {"template": template} if place == "template" else {"spec": spec}
    name = f"warned-{warned}"
    answer = await web.ask("POST", f"/{path}", {"metadata": {"name": name}, **body})
    assert answer.code == 201, answer.json
    assert "invalid empty name" in answer.headers["Warning"]
    body = answer.json
    body["metadata"]["labels"] = {"c": "d"}
    answer = await web.ask("PUT", f"/{path}/{name}", body)
    assert (answer.code, answer.headers.get("Warning")) == (200, None)
    body = answer.json
    changed = body["template"] if place == "template" else body["spec"]["template"]
    del changed["spec"]["imagePullSecrets"]
    answer = await web.ask("PUT", f"/{path}/{name}", body)
    assert ("Warning" in answer.headers) is (warned == "old")
