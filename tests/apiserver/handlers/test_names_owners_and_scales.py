"""Taken names with a prefix, repeated owners, finalizers and answers of a Scale, over several
kinds."""

import boats
import pytest
import pytest_asyncio
import samples

pytestmark = pytest.mark.asyncio(loop_scope="module")
BOATS = "/apis/example.com/v1/namespaces/default/boats"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
UID = "11111111-1111-1111-1111-111111111111"
KINDS = {
    "v1/ConfigMap": "/api/v1/namespaces/default/configmaps",
    "v1/Namespace": "/api/v1/namespaces",
    "rbac.authorization.k8s.io/v1/ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "example.com/v1/Boat": BOATS,
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


async def test_a_taken_name_beside_a_prefix_has_the_error_of_a_generated_name(web, kind):
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


async def test_repeated_owners_are_stored_once_with_a_warning(web, kind):
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


@pytest_asyncio.fixture(loop_scope="module")
async def scaled(web, boat):
    """The paths of an object of each kind with a Scale in discovery."""
    groups = (await web.ask("GET", "/apis")).json["groups"]
    versions = ["v1", *(each["preferredVersion"]["groupVersion"] for each in groups)]
    found = []
    for version in versions:
        root = "/api/v1" if version == "v1" else f"/apis/{version}"
        listed = (await web.ask("GET", root)).json["resources"]
        kinds = {each["name"]: each["kind"] for each in listed}
        for each in listed:
            plural, _, part = each["name"].partition("/")
            if part != "scale":
                continue
            is_boat = plural == "boats"
            obj = boat("scaled") if is_boat else samples.make(version, kinds[plural], "scaled")
            path = f"{root}/namespaces/default/{plural}"
            await web.ask("DELETE", f"{path}/scaled")
            assert (await web.ask("POST", path, obj)).code == 201
            found.append(f"{path}/scaled")
    assert len(found) > 4
    return found


def ways(path, body):
    """Yield the arguments of each sort of write of a Scale, as a dry run."""
    operations = [{"op": "add", "path": f"/{name}", "value": body[name]} for name in body]
    yield "PUT", f"{path}/scale?dryRun=All", body, "json"
    yield "PATCH", f"{path}/scale?dryRun=All", body, "merge-patch+json"
    yield "PATCH", f"{path}/scale?dryRun=All", operations, "json-patch+json"
    if "boats" not in path:
        yield "PATCH", f"{path}/scale?dryRun=All", body, "strategic-merge-patch+json"
        yield (
            "PATCH",
            f"{path}/scale?dryRun=All&fieldManager=m&force=true",
            body,
            "apply-patch+yaml",
        )


def scale_of(replicas, **metadata):
    head = {"apiVersion": "autoscaling/v1", "kind": "Scale"}
    return {**head, "metadata": {"name": "scaled", **metadata}, "spec": {"replicas": replicas}}


async def test_each_write_of_each_scale_sets_the_replicas_and_shows_no_managers(web, scaled):
    for path in scaled:
        for method, where, body, media in ways(path, scale_of(7)):
            answer = await web.ask(method, where, body, Content_Type=f"application/{media}")
            assert (answer.code, answer.json["spec"]) == (200, {"replicas": 7}), (where, media)
            assert "managedFields" not in answer.json["metadata"]
        stored = await web.patch(f"{path}/scale?fieldManager=m", {"spec": {"replicas": 3}})
        assert stored.json["spec"] == {"replicas": 3}
        whole = (await web.ask("GET", path)).json
        assert whole["spec"]["replicas"] == 3
        assert "m" in {each["manager"] for each in whole["metadata"]["managedFields"]}


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (scale_of(7, name="other"), (400, 400, 400)),
        (scale_of(7, namespace="other"), (400, 400, 400)),
        (scale_of(7) | {"apiVersion": "v1"}, (400, 422, 200)),
        (scale_of(7) | {"kind": "Odd"}, (400, 422, 200)),
        (scale_of(-1), (422, 422, 422)),
        (scale_of("x"), (400, 422, 422)),
    ],
)
async def test_each_write_of_each_scale_names_the_object_of_its_path(web, scaled, wrong, code):
    """The codes are those of PUT, of patches of the text, and of strategic patches, whose result is
    not decoded from a text with a type."""
    for path in scaled:
        for method, where, body, media in ways(path, wrong):
            if media.startswith("apply"):  # decodes and types the object itself
                continue
            answer = await web.ask(method, where, body, Content_Type=f"application/{media}")
            expected = code[(method == "PATCH") + media.startswith("strategic")]
            assert answer.code == expected, (where, media, answer.json)


async def test_the_uid_of_a_scale_is_a_precondition_of_puts_and_of_patches_of_built_in_kinds(
    web, scaled
):
    for path in scaled:
        for method, where, body, media in ways(path, scale_of(7, uid="odd")):
            answer = await web.ask(method, where, body, Content_Type=f"application/{media}")
            if "boats" in path and method == "PATCH":
                assert answer.json["metadata"]["uid"] not in ("", "odd")
                continue
            assert answer.code == 409, (where, media)
            text = "Precondition failed: UID in precondition: odd, UID in object meta: "
            said = answer.json["message"]
            plural = path.split("/")[-2]
            assert text in said
            assert said.startswith(f"Operation cannot be fulfilled on {plural}/scale") == (
                method == "PATCH"
            )


TO_VERSION = "to proper version: request to convert CR to an invalid group/version: autoscaling/v1"


@pytest.mark.parametrize(
    ("body", "force", "code", "said"),
    [
        ({"kind": "Scale"}, False, 400, "invalid object type: /, Kind=Scale"),
        (
            scale_of(1) | {"spec": 3},
            False,
            500,
            (
                "failed to create typed patch object (/scaled; autoscaling/v1, Kind=Scale): "
                ".spec: expected map, got &{3}"
            ),
        ),
        (
            scale_of(2),
            False,
            409,
            (
                'Apply failed with 1 conflict: conflict with "poster" using autoscaling/v1: '
                ".spec.replicas"
            ),
        ),
        (
            scale_of(2),
            True,
            500,
            "failed to convert new object (/scaled; autoscaling/v1, Kind=Scale) " + TO_VERSION,
        ),
        (scale_of(1), False, 200, None),
    ],
)
async def test_a_scale_of_a_custom_resource_is_applied_without_changes(
    web, boat, body, force, code, said
):
    await web.ask("DELETE", f"{BOATS}/scaled")
    made = boat("scaled")
    made["spec"]["replicas"] = 1
    await web.ask("POST", f"{BOATS}?fieldManager=poster", made)
    path = f"{BOATS}/scaled/scale?fieldManager=m&force={str(force).lower()}"
    answer = await web.patch(path, body, "apply")
    assert (answer.code, answer.json.get("message")) == (code, said)


async def test_a_scale_of_a_custom_resource_without_managers_is_not_applied(web, boat):
    await web.ask("DELETE", f"{BOATS}/scaled")
    await web.ask("POST", BOATS, boat("scaled"))
    await web.patch(f"{BOATS}/scaled", {"metadata": {"managedFields": [{}]}})
    answer = await web.patch(f"{BOATS}/scaled/scale?fieldManager=m", scale_of(1), "apply")
    lead = "failed to create manager for existing fields: failed to convert live object"
    said = f"{lead} (/; autoscaling/v1, Kind=Scale) {TO_VERSION}"
    assert (answer.code, answer.json["message"]) == (500, said)


async def test_a_scale_that_changes_nothing_of_an_object_without_owners_is_no_write(web):
    body = samples.make("apps/v1", "Deployment", "unowned")
    body["spec"]["replicas"] = 5
    await web.ask("POST", DEPLOYMENTS, body)
    before = (await web.patch(f"{DEPLOYMENTS}/unowned", {"metadata": {"managedFields": [{}]}})).json
    same = {"spec": {"replicas": 5}}
    scale = (await web.patch(f"{DEPLOYMENTS}/unowned/scale", same)).json
    assert scale["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert (await web.ask("GET", f"{DEPLOYMENTS}/unowned")).json == before


def _crates():
    """A kind with two versions of different types, whose structs drop what they do not declare."""

    def version(name, kind, *, storage):
        box = {"type": "object", "properties": {"a": {"type": "string"}}}
        spec = {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"size": {"type": kind}, "box": box},
        }
        schema = {"type": "object", "properties": {"spec": spec, "status": {"type": "object"}}}
        return {
            "name": name, "served": True, "storage": storage, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": schema},
        }  # fmt: skip

    versions = [version("v1", "string", storage=True), version("v2", "integer", storage=False)]
    names = {"plural": "crates", "singular": "crate", "kind": "Crate", "listKind": "CrateList"}
    spec = {"group": "own.example.com", "scope": "Cluster", "names": names, "versions": versions}
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**definition, "metadata": {"name": "crates.own.example.com"}, "spec": spec}


async def test_writes_of_objects_that_do_not_fit_a_version_are_those_of_upstream(web):
    await web.server.client.create(_crates())
    await web.server.settled()
    path = "/apis/own.example.com/{}/crates/c"
    crate = {"apiVersion": "own.example.com/v1", "kind": "Crate", "metadata": {"name": "c"}}
    # an apply claims what a struct below preserved fields drops
    configured = {**crate, "spec": {"size": "3", "box": {"a": "x", "b": 1}, "free": {"b": 1}}}
    made = await web.patch(f"{path.format('v1')}?fieldManager=m", configured, "apply")
    assert made.json["spec"] == {"size": "3", "box": {"a": "x"}, "free": {"b": 1}}
    [entry] = made.json["metadata"]["managedFields"]
    assert entry["fieldsV1"]["f:spec"]["f:box"] == {"f:a": {}, "f:b": {}}
    # through the other version the object cannot be typed, so even a write of nothing drops owners
    changed = await web.patch(f"{path.format('v2')}/status", {"metadata": {}})
    assert (changed.code, "managedFields" in changed.json["metadata"]) == (200, False)


def _level(*members):
    """A definition with a scale, whose spec has these members."""
    spec = {"type": "object", "properties": {each: {"type": "integer"} for each in members}}
    return boats.definition(
        {"type": "object", "properties": {"spec": spec}},
        "Level",
        scope="Cluster",
        subresources={
            "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
        },
    )


@pytest.mark.parametrize(
    ("media", "body", "code", "owned"),
    [
        ("merge-patch+json", {"spec": {"replicas": None}}, 200, [{".", "f:n"}]),
        ("json-patch+json", [{"op": "remove", "path": "/spec/replicas"}], 200, [{".", "f:n"}]),
        ("json", {**scale_of(0), "spec": {}}, 200, [{".", "f:n"}]),
        ("json", scale_of(1), 200, [{"f:size"}, {".", "f:n"}]),
        ("merge-patch+json", {}, 400, [{".", "f:n", "f:size"}]),
        ("apply-patch+yaml", {**scale_of(0), "spec": {}}, 400, [{".", "f:n", "f:size"}]),
    ],
)
async def test_a_write_of_a_scale_takes_replicas_that_are_gone_from_their_owners(
    web, media, body, code, owned
):
    """As a real server of 1.36 answers after its definition has lost the field."""
    path = "/apis/example.com/v1/levels"
    await web.server.client.create(_level("n", "size"))
    await web.server.settled()
    level = {"apiVersion": "example.com/v1", "kind": "Level", "metadata": {"name": "scaled"}}
    await web.ask("POST", path, {**level, "spec": {"n": 1, "size": 3}})
    definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/levels.example.com"
    await web.patch(definition, {"spec": {"versions": _level("n")["spec"]["versions"]}})
    await web.server.settled()
    method = "PUT" if media == "json" else "PATCH"
    scale = f"{path}/scaled/scale?fieldManager=m"
    answer = await web.ask(method, scale, body, **{"Content-Type": f"application/{media}"})
    assert answer.code == code
    found = (await web.ask("GET", f"{path}/scaled")).json["metadata"]["managedFields"]
    assert [set(each["fieldsV1"]["f:spec"]) for each in found] == owned
    await web.ask("DELETE", definition)
    await web.server.settled()


async def test_a_scale_has_the_table_and_the_type_of_its_server(web, scaled):
    """Those of custom resources are those of apiextensions-apiserver."""
    table = "application/json;as=Table;g=meta.k8s.io;v=v1"
    listed = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    for path in scaled:
        is_own = "example.com" in path
        shown = (await web.ask("GET", f"{path}/scale", Accept=table)).json["columnDefinitions"]
        assert [each["type"] for each in shown[1:]] == [
            "integer",
            "integer",
            "date" if is_own else "string",
        ]
        assert shown[0]["format"] == ("name" if is_own else "")
        assert shown[1]["description"].startswith("Number" if is_own else "replicas is the desired")
        refused = await web.ask("GET", f"{path}/scale", Accept=listed)
        assert refused.code == 406
        assert refused.json["message"].endswith("(*v1.Scale)" if is_own else "(*autoscaling.Scale)")
