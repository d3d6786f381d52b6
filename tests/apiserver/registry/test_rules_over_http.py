"""Rules of built-in kinds that recordings once showed to be wrong, tested over HTTP."""

import base64

import pytest

TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
}
SIGNED_WITH_SHA1 = """\
-----BEGIN CERTIFICATE REQUEST-----
MIICUTCCATkCAQAwDDEKMAgGA1UEAwwBYTCCASIwDQYJKoZIhvcNAQEBBQADggEP
ADCCAQoCggEBAOQ2XBcHOndaYRIAn9JkVLl98MzO+LmMMX7zfmkQPkEhRJ9RAshl
5KPcm/swseNrn+PLsp8p8Yl8jU11cs0HBCoWcshn+gNUmyFUQU4Nir3uV5xbC8Z7
BMFZE36k/sR/CY0zeg7BDQ9BQUW+VOjQgJO4Q2EJqOBGhZWagb3h7JwQbjTPwRIF
Ueh8KKcnqJBhRP4WekJajnxMbL9T5WwVF/SWiCSWzf8ps+gNfg7641d63Tx8p3xo
GzzMg3YRwjNWYi+JQs4UA7JtOAY7sgB+JTbHFhZpLq8BM6fz+OaKhjlq2JvVJMqp
IRt86DYLEq6kgSA8HNR8GTfuTN9MyvUCMEcCAwEAAaAAMA0GCSqGSIb3DQEBBQUA
A4IBAQCGARs1C+Ss/ngCYnOBNWnPSFYWK/BlOHYTphM3xngNMs9DUhDuTN/HHtag
yThW/WHqEFZM006wC84NjYysL1lMR1lEhNYhF0z5oxj6tNjgEx48b51tJUTT3DX8
2ltdr8GFaMObyIV4iYhSBokVd+BcCx6ya8B9KMW265vnzTwEewjKvaTkXg6t5unO
Um0DlhucaQc6TjTYDWPLWmWBrGtI/hkZqOImVHKIcMYrBDJMh+ZJdw6F0oIoEiir
VZyAtki7hyhpMToXEriUqgyBehsEngN3+hoP36Y7qkIRSWaPjawdggr3LnxkZcJc
AW59hKBXVDqhgyYFvgmMk3YEzq0i
-----END CERTIFICATE REQUEST-----
"""
SERVICES = "/api/v1/namespaces/default/services?dryRun=All"


async def made(web, path, spec):
    answer = await web.ask("POST", path, {"metadata": {"name": "x"}, "spec": spec})
    assert answer.code == 201, answer.json
    return answer.json["spec"]


@pytest.mark.parametrize(
    ("spec", "fields"),
    [({"minAvailable": -1}, ["spec.minAvailable"]), ({"minAvailable": 1}, ["metadata.labels"])],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_budget_has_bad_labels_only_if_all_else_is_right(web, spec, fields):
    body = {"metadata": {"name": "x", "labels": {"a": "no space"}}, "spec": spec}
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets?dryRun=All"
    answer = await web.ask("POST", path, body)
    assert answer.code == 422
    assert [cause["field"] for cause in answer.json["details"]["causes"]] == fields


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
@pytest.mark.parametrize("address", ["192.168.0.1", "::1", "10.0.0.0", "10.0.0.9"])
async def test_addresses_without_the_first_one_are_refused_before_one_is_looked_for(web, address):
    spec = {"ports": [{"port": 1}], "clusterIPs": [address]}
    answer = await web.ask(
        "POST", "/api/v1/namespaces/default/services?dryRun=All",
        {"metadata": {"name": "a"}, "spec": spec},
    )  # fmt: skip
    assert answer.code == 422
    assert "must be empty when `clusterIP` is not specified" in answer.json["message"]
    assert "failed to allocate" not in answer.json["message"]


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
async def test_an_expression_of_several_lines_needs_no_message(web):
    """Upstream searches the message instead of the expression for line breaks, so it finds none."""
    rule = {
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"],
    }  # fmt: skip
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "true\n&& true"}],
    }
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies?dryRun=All"
    assert (await made(web, path, spec))["validations"] == spec["validations"]


@pytest.mark.asyncio(loop_scope="module")
async def test_the_creator_of_a_daemon_set_owns_the_generation_of_its_template(web):
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    body = {
        "metadata": {"name": "x"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    answer = await web.ask("POST", "/apis/apps/v1/namespaces/default/daemonsets?dryRun=All", body)
    meta, name = answer.json["metadata"], "deprecated.daemonset.template.generation"
    assert meta["annotations"] == {name: "1"}
    assert f"f:{name}" in meta["managedFields"][0]["fieldsV1"]["f:metadata"]["f:annotations"]


@pytest.mark.asyncio(loop_scope="module")
async def test_zero_values_have_no_owner_before_the_first_apply(web):
    """The owner of what was there before is found in comparison with the zero value of the type."""
    path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    made = await web.ask("POST", path, {"metadata": {"name": "zero"}, "spec": {}})
    assert (made.code, "managedFields" in made.json["metadata"]) == (201, False)
    assert made.json["spec"] == {"devices": {"requests": None}}
    body = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "spec": {}}
    applied = await web.ask(
        "PATCH", f"{path}/zero?fieldManager=m", body, Content_Type="application/apply-patch+yaml"
    )
    assert [each["manager"] for each in applied.json["metadata"]["managedFields"]] == ["m"]


@pytest.mark.asyncio(loop_scope="module")
async def test_metadata_of_a_daemon_set_alone_have_no_generation_of_its_template(web):
    """They come from the internal type, which has a field for it."""
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    path = "/apis/apps/v1/namespaces/default/daemonsets"
    name = "deprecated.daemonset.template.generation"
    for number, annotations in enumerate(({}, {"a": "b"})):
        body = {"metadata": {"name": f"m{number}", "annotations": annotations}, "spec": spec}
        assert (await web.ask("POST", path, body)).code == 201
        for form in ("PartialObjectMetadata", "Table"):
            accept = f"application/json;as={form};v=v1;g=meta.k8s.io"
            shown = (await web.ask("GET", f"{path}/m{number}", Accept=accept)).json
            meta = shown["rows"][0]["object"]["metadata"] if "rows" in shown else shown["metadata"]
            assert meta.get("annotations", {}) == annotations
        status = {**body, "status": {}, "metadata": {"name": f"m{number}"}}
        answer = await web.ask("PUT", f"{path}/m{number}/status", status)
        assert answer.json["metadata"]["annotations"] == {name: "1"}


@pytest.mark.asyncio(loop_scope="module")
async def test_a_bound_pod_has_the_zone_and_the_region_of_its_node(web):
    labels = {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r"}
    node = {"metadata": {"name": "zoned", "labels": {**labels, "other": "o"}}}
    assert (await web.ask("POST", "/api/v1/nodes", node)).code == 201
    pods = "/api/v1/namespaces/default/pods"
    pod = {"metadata": {"name": "zoned"}, "spec": TEMPLATE["spec"]}
    assert (await web.ask("POST", pods, pod)).code == 201
    binding = {"metadata": {"name": "zoned"}, "target": {"kind": "Node", "name": "zoned"}}
    assert (await web.ask("POST", f"{pods}/zoned/binding", binding)).code == 201
    answer = await web.ask("GET", f"{pods}/zoned")
    assert answer.json["metadata"]["labels"] == labels


@pytest.mark.asyncio(loop_scope="module")
async def test_writers_of_an_attachments_status_own_none_of_its_metadata(web):
    path = "/apis/storage.k8s.io/v1/volumeattachments"
    source = {"persistentVolumeName": "p"}
    spec = {"attacher": "d.example.com", "nodeName": "n", "source": source}
    assert (await web.ask("POST", path, {"metadata": {"name": "x"}, "spec": spec})).code == 201
    answer = await web.ask("GET", f"{path}/x")
    body = {**answer.json, "status": {"attached": True}}
    body["metadata"]["labels"] = {"a": "b"}
    answer = await web.ask("PUT", f"{path}/x/status", body)
    entries = answer.json["metadata"]["managedFields"]
    owned = [each["fieldsV1"] for each in entries if each.get("subresource") == "status"]
    assert owned == [{"f:status": {"f:attached": {}}}]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_request_that_is_signed_with_sha1_is_verified(web):
    """Go accepts SHA-1 in requests, though not in certificates."""
    request = base64.b64encode(SIGNED_WITH_SHA1.encode()).decode()
    spec = {"request": request, "signerName": "example.com/signer", "usages": ["client auth"]}
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests?dryRun=All"
    assert (await made(web, path, spec))["request"] == request


async def refused(web, path, body, verb="POST"):
    """Return the fields and texts of the errors of a refused request."""
    answer = await web.ask(verb, path, body)
    assert answer.code == 422, answer.json
    return [(cause["field"], cause["message"]) for cause in answer.json["details"]["causes"]]


@pytest.mark.asyncio(loop_scope="module")
async def test_zero_and_an_empty_amount_of_a_budget_count_as_set(web):
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
    """Upstream checks the old template of a ReplicationController (rcStrategy.WarningsOnUpdate)."""
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
