"""A policy that changes a Scale meets the schema of the object behind it, as a client would."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")
ADMISSION = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolic"
BOATS = "/apis/example.com/v1/namespaces/default/boats"
RULE = {
    "apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["boats/scale"],
    "operations": ["UPDATE"],
}  # fmt: skip
CHANGE = "Object{spec: Object.spec{replicas: object.spec.replicas * 2}}"


@pytest.mark.parametrize(("replicas", "code"), [(7, 200), (50, 200), (51, 422), (100, 422)])
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_replicas_of_a_policy_are_bounded_like_those_of_a_client(web, method, replicas, code):
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": CHANGE}}
    spec = {
        "matchConstraints": {"resourceRules": [RULE]}, "reinvocationPolicy": "Never",
        "mutations": [mutation],
    }  # fmt: skip
    await web.ask("POST", f"{ADMISSION}ies", {"metadata": {"name": "double"}, "spec": spec})
    binding = {"metadata": {"name": "double"}, "spec": {"policyName": "double"}}
    await web.ask("POST", f"{ADMISSION}ybindings", binding)
    boat = {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "b"}, "spec": {}}
    await web.ask("POST", BOATS, boat)
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "b"}}
    body = {**scale, "spec": {"replicas": replicas}}
    media = "application/json" if method == "PUT" else "application/merge-patch+json"
    path = f"{BOATS}/b/scale?dryRun=All"
    answer = await web.ask(method, path, body, Content_Type=media)
    assert answer.code == code, answer.json
    if code == 200:
        assert answer.json["spec"] == {"replicas": 2 * replicas}
        return
    [cause] = answer.json["details"]["causes"]
    assert cause["field"] == "spec.replicas"
    assert f"Invalid value: {2 * replicas}: " in cause["message"]
    assert answer.json["details"]["kind"] == "Boat"
