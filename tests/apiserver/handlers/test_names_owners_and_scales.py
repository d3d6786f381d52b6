"""Taken names with a prefix, repeated owners, finalizers and answers of a Scale, over several
kinds."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")
BOATS = "/apis/example.com/v1/namespaces/default/boats"
UID = "11111111-1111-1111-1111-111111111111"
KINDS = {
    "v1/ConfigMap": "/api/v1/namespaces/default/configmaps",
    "v1/Namespace": "/api/v1/namespaces",
    "rbac.authorization.k8s.io/v1/ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "example.com/v1/Boat": BOATS,
}
POD = {"containers": [{"name": "c", "image": "i"}]}
SCALED = {
    "Deployment": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD},
    },
    "StatefulSet": {
        "serviceName": "s",
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD},
    },
}


@pytest.fixture(params=sorted(KINDS))
def kind(request):
    """The path of a kind, and a function that makes an object with that metadata."""
    api_version, _, name = request.param.rpartition("/")
    return KINDS[request.param], lambda **meta: {
        "apiVersion": api_version,
        "kind": name,
        "metadata": meta,
    }


async def test_a_name_beside_a_prefix_that_is_taken_is_told_as_generated(web, kind):
    path, make = kind
    await web.ask("POST", path, make(name="taken"))
    refused = await web.ask("POST", path, make(name="taken", generateName="free-"))
    assert (refused.code, refused.headers["Retry-After"]) == (409, "1")
    assert refused.json["details"]["retryAfterSeconds"] == 1
    assert refused.json["message"].endswith(
        "already exists, the server was not able to generate a unique name for the object"
    )
    plain = await web.ask("POST", path, make(name="taken"))
    assert "Retry-After" not in plain.headers


async def test_repeated_owners_are_told_and_stored_once(web, kind):
    path, make = kind
    owner = {"apiVersion": "v1", "kind": "Namespace", "name": "o", "uid": UID}
    other = {**owner, "name": "p", "uid": UID.replace("1", "3")}
    twice = make(name="owned", ownerReferences=[owner, other, owner])
    created = await web.ask(
        "POST", f"{path}?dryRun=All", twice
    )  # owners that are missing collect it
    stored = (await web.ask("POST", path, make(name="owned"))).json
    twice["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"]
    for answer in (created, await web.ask("PUT", f"{path}/owned?dryRun=All", twice)):
        [warning] = answer.warnings
        assert f"duplicate UID(s) observed: {UID}" in warning
        assert answer.json["metadata"]["ownerReferences"] == [owner, other]


@pytest.mark.parametrize(
    ("name", "code"), [("kubernetes", 201), ("orphan", 201), ("a.b/c", 201), ("bad", 422)]
)
async def test_finalizers_are_standard_or_qualified(web, name, code):
    path = KINDS["v1/ConfigMap"]
    meta = {"name": f"f-{name.replace('/', '-')}", "finalizers": [name]}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
    assert (await web.ask("POST", path, body)).code == code


@pytest.mark.parametrize("kind_name", sorted(SCALED))
async def test_a_scale_has_the_replicas_and_no_managers(web, kind_name):
    path = f"/apis/apps/v1/namespaces/default/{kind_name.lower()}s"
    body = {"apiVersion": "apps/v1", "kind": kind_name, "metadata": {"name": "s"}}
    assert (await web.ask("POST", path, {**body, "spec": SCALED[kind_name]})).code == 201
    scale = f"{path}/s/scale"
    applied = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "s"}}
    answers = [
        await web.ask("GET", scale),
        await web.patch(scale, {"spec": {"replicas": 3}}),
        await web.patch(
            f"{scale}?fieldManager=m&force=true", {**applied, "spec": {"replicas": 4}}, "apply"
        ),
    ]
    assert [each.json["spec"]["replicas"] for each in answers] == [1, 3, 4]
    assert not any("managedFields" in each.json["metadata"] for each in answers)
    stored = (await web.ask("GET", f"{path}/s")).json
    assert stored["spec"]["replicas"] == 4
    owners = {each["manager"] for each in stored["metadata"]["managedFields"]}
    assert "m" in owners


async def test_a_scale_of_a_custom_resource_is_not_applied(web, boat):
    await web.ask("POST", BOATS, boat("scaled"))
    body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "scaled"}}
    body["spec"] = {"replicas": 2}
    refused = await web.patch(f"{BOATS}/scaled/scale?fieldManager=m", body, "apply")
    assert refused.code == 500
    assert "to proper version" in refused.json["message"]
