"""Claims with adminAccess to devices are allowed only in namespaces with the label for it."""

import pytest
import pytest_asyncio

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims"
TEMPLATES = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaimtemplates"
SPEC = {
    "devices": {
        "requests": [{"name": "r", "exactly": {"deviceClassName": "c", "adminAccess": True}}]
    }
}
RESULT = {"request": "r", "driver": "d.com", "pool": "p", "device": "d", "adminAccess": True}
STATUS = {"allocation": {"devices": {"results": [RESULT]}}}


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def namespaces(server):
    for name, label in (("plain", "false"), ("admins", "true")):
        meta = {"name": name, "labels": {"resource.kubernetes.io/admin-access": label}}
        await server.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})


@pytest.mark.parametrize(("path", "spec"), [(CLAIMS, SPEC), (TEMPLATES, {"spec": SPEC})])
@pytest.mark.asyncio(loop_scope="module")
async def test_access_of_administrators_needs_a_label_of_the_namespace(web, path, spec):
    body = {"metadata": {"name": "a"}, "spec": spec}
    refused = await web.ask("POST", path.format("plain"), body)
    (cause,) = refused.json["details"]["causes"]
    assert (refused.code, cause["field"]) == (422, "spec.devices.requests[0].adminAccess")
    assert cause["message"].startswith("Forbidden: admin access to devices requires the")
    made = await web.ask("POST", path.format("admins"), body)
    assert made.code == 201, made.json


@pytest.mark.asyncio(loop_scope="module")
async def test_a_status_gives_it_under_the_same_condition(web):
    requests = [{"name": "r", "exactly": {"deviceClassName": "c"}}]
    body = {"metadata": {"name": "b"}, "spec": {"devices": {"requests": requests}}}
    for namespace, code in (("plain", 422), ("admins", 200)):
        assert (await web.ask("POST", CLAIMS.format(namespace), body)).code == 201
        path = f"{CLAIMS.format(namespace)}/b/status"
        answer = await web.patch(path, {"status": STATUS})
        assert answer.code == code, answer.json
    refused = await web.patch(f"{CLAIMS.format('plain')}/b/status", {"status": STATUS})
    fields = [cause["field"] for cause in refused.json["details"]["causes"]]
    assert fields == ["status.allocation.devices.results[0].adminAccess"]
