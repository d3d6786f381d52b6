"""Objects that were stored before their definition changed: what each kind of write does to them.

A value that its new type cannot hold makes every apply an error (500), and every other write, also
one that removes the value, drops the field managers. Anything else in the new schema leaves both
alone: a field that is gone, duplicates in what became a set or a map.
"""

import itertools
import re
from typing import Any

import boats
import pytest
import pytest_asyncio

CRDS = "apiextensions.k8s.io/v1/customresourcedefinitions"
pytestmark = pytest.mark.asyncio(loop_scope="module")
INTEGER, TEXT = {"type": "integer"}, {"type": "string"}
NUMBERS = {"type": "array", "items": INTEGER}
BOX = {"type": "object", "properties": {"a": INTEGER}}
NAMED = {"type": "array", "items": {"type": "object", "properties": {"n": TEXT}}}
KEYED = {
    "items": {**NAMED["items"], "required": ["n"]},
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["n"],
}
CAUSES = {
    "scalars": (INTEGER, 5, TEXT, "expected string, got &value.valueUnstructured{Value:5}"),
    "objects": (BOX, {"a": 1}, NUMBERS, "expected list, got &{map[]}"),
    "lists": (NUMBERS, [1], BOX, "expected map, got &{[1]}"),
    "sets": (NUMBERS, [1, 1], {**NUMBERS, "x-kubernetes-list-type": "set"}, ""),
    "keys": (NAMED, [{"n": "a"}] * 2, {**NAMED, **KEYED}, ""),
    "gone": (INTEGER, 5, None, ""),
}
"""Group of the kind: the schema of a field, its value, its next schema, and what does not fit."""
LABELED = {"metadata": {"labels": {"a": "b"}}}
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
WRITES: dict[str, tuple[str, str, str, Any]] = {
    "merge": ("PATCH", "", MERGE, LABELED),
    "json": ("PATCH", "", "application/json-patch+json", [{"op": "remove", "path": "/spec/label"}]),
    "update": ("PUT", "", "application/json", LABELED),
    "repair": ("PUT", "", "application/json", {"spec": {"label": "z"}}),
    "status": ("PATCH", "/status", MERGE, {"status": {"at": "x"}}),
    "apply": ("PATCH", "", APPLY, LABELED),
    "force": ("PATCH", "?force=true", APPLY, {"spec": {"label": "y"}}),
    "applied-status": ("PATCH", "/status", APPLY, {"status": {"at": "x"}}),
}  # fmt: skip


def definition(group, field):
    spec = {"type": "object", "properties": {"label": TEXT, **({"x": field} if field else {})}}
    status = {"type": "object", "properties": {"at": TEXT}}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    return boats.definition(schema, group=f"{group}.example.com", subresources={"status": {}})


def place(group):
    return f"/apis/{group}.example.com/v1/namespaces/default/boats"


def head(group):
    return {"apiVersion": f"{group}.example.com/v1", "kind": "Boat"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stored(server, web):
    """Objects of each cause for each write; the definitions have changed since."""
    for group, (field, *_) in CAUSES.items():
        await server.client.create(definition(group, field))
    await server.settled()
    for group, (_, value, _, _) in CAUSES.items():
        for name in WRITES:
            spec = {"label": "x", "x": value}
            body = {**head(group), "metadata": {"name": name}, "spec": spec}
            answer = await web.ask("POST", f"{place(group)}?fieldManager=one", body)
            assert answer.code == 201, answer.body
    for group, (_, _, field, _) in CAUSES.items():
        name = f"boats.{group}.example.com"
        versions = definition(group, field)["spec"]["versions"]
        await server.client.patch(CRDS, name, patch={"spec": {"versions": versions}})
    await server.settled()


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("group", CAUSES)
async def test_applies_fail_and_other_writes_drop_the_managers_where_a_value_does_not_fit(
    web, group
):
    misfit = CAUSES[group][3]
    for name, (method, at, media, change) in WRITES.items():
        path = f"{place(group)}/{name}"
        live = (await web.ask("GET", path)).json
        body = change
        if media == APPLY:
            body = {
                **head(group),
                **change,
                "metadata": {"name": name, **change.get("metadata", {})},
            }
        elif method == "PUT":
            body = {
                **live,
                **change,
                "metadata": {**live["metadata"], **change.get("metadata", {})},
            }
        joined = "&" if "?" in at else "?"
        answer = await web.ask(
            method, f"{path}{at}{joined}fieldManager=two", body, Content_Type=media
        )
        if misfit and media == APPLY:
            named = f"(default/{name}; {group}.example.com/v1, Kind=Boat)"
            message = f"failed to create typed live object {named}: .spec.x: {misfit}"
            assert (answer.code, answer.json["message"]) == (500, message), name
            assert (await web.ask("GET", path)).json == live
            continue
        assert answer.code == 200, answer.body
        owners = {each["manager"] for each in answer.json["metadata"].get("managedFields", ())}
        writers = {"one"} if name == "json" else {"one", "two"}  # a removal leaves no field to own
        assert owners == (set() if misfit else writers), name


MEMBERS = [
    f"{stored}{first}{second}"
    for stored, first, second in itertools.product(
        ("old", "new"), *[("No", "Plain", "Default")] * 2
    )
]
"""A member of each sort: whether objects have it, and its schema in v1 and in v2, later on."""


def two_versions(group, storage, *, later):
    """Return a definition with the versions v1 and v2. Before it changes, both have all members."""
    versions = []
    for number, name in enumerate(("v1", "v2")):
        properties = {}
        for member in MEMBERS:
            form = re.findall("[A-Z][a-z]+", member)[number] if later else "Plain"
            if form != "No":
                properties[member] = {**TEXT, **({"default": name} if form == "Default" else {})}
        spec = {"type": "object", "properties": properties}
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
        versions.append(
            {"name": name, "served": True, "storage": name == storage, "schema": schema}
        )
    made = boats.definition({"type": "object"}, group=f"{group}.example.com")
    return {**made, "spec": {**made["spec"], "versions": versions}}


@pytest.mark.parametrize("storage", ["v1", "v2"])
async def test_an_object_is_read_by_the_schema_of_its_version_and_shown_by_that_of_the_request(
    server, web, storage
):
    """The version in which it is stored prunes and defaults it; another one only prunes it."""
    group = f"renewed-{storage}"
    await server.client.create(two_versions(group, "v1", later=False))
    await server.settled()
    spec = {member: "x" for member in MEMBERS if member.startswith("old")}
    body = {**head(group), "metadata": {"name": "a"}, "spec": spec}
    assert (await web.ask("POST", place(group), body)).code == 201
    changed = {"spec": {"versions": two_versions(group, storage, later=True)["spec"]["versions"]}}
    await server.client.patch(CRDS, f"boats.{group}.example.com", patch=changed)
    await server.settled()

    read = {member: spec.get(member, "v1") for member in MEMBERS if "Default" in member[3:10]}
    read |= {member: "x" for member in spec if member.startswith("oldPlain")}
    assert (await web.ask("GET", f"{place(group)}/a")).json["spec"] == read
    shown = {member: value for member, value in read.items() if not member.endswith("No")}
    path = place(group).replace("/v1/", "/v2/")
    assert (await web.ask("GET", f"{path}/a")).json["spec"] == shown
    assert (await web.ask("GET", path)).json["items"][0]["spec"] == shown


REPLICAS = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
SCALED = {"status": {}, "scale": REPLICAS}


async def test_a_scale_that_the_storage_version_drops_is_written_all_the_same(server, web):
    """A write answers with the Scale of what was stored; only a read fails without replicas."""
    made = two_versions("dropped", "v2", later=False)
    for version, properties in zip(
        made["spec"]["versions"], ({"replicas": INTEGER}, {}), strict=True
    ):
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = properties
        version["subresources"] = SCALED if properties else {}
    await server.client.create(made)
    await server.settled()
    body = {**head("dropped"), "metadata": {"name": "a"}, "spec": {"replicas": 2}}
    assert (await web.ask("POST", place("dropped"), body)).code == 201
    path = f"{place('dropped')}/a/scale"
    scaled = await web.ask("PATCH", path, {"spec": {"replicas": 3}}, Content_Type=MERGE)
    assert (scaled.code, scaled.json["spec"]) == (200, {})
    assert (await web.ask("GET", path)).code == 500


async def test_a_write_of_a_part_stores_the_defaults_of_a_new_schema(server, web):
    """kube-apiserver sets them when it reads what was stored."""
    made = two_versions("parts", "v1", later=False)
    (first, second) = made["spec"]["versions"]
    for version in (first, second):
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = {
            "replicas": INTEGER
        }
    first["storage"], second["storage"], first["subresources"] = False, True, SCALED
    await server.client.create(made)
    await server.settled()
    body = {**head("parts"), "metadata": {"name": "a"}, "spec": {"replicas": 2}}
    assert (await web.ask("POST", place("parts"), body)).code == 201
    first["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["new"] = {
        **TEXT,
        "default": "v1",
    }
    first["storage"], second["storage"] = True, False
    changed = {"spec": {"versions": [first, second]}}
    await server.client.patch(CRDS, "boats.parts.example.com", patch=changed)
    await server.settled()
    path = f"{place('parts')}/a"
    assert (await web.ask("GET", path)).json["spec"] == {"replicas": 2}
    scale = {"spec": {"replicas": 3}}
    assert (await web.ask("PATCH", f"{path}/scale", scale, Content_Type=MERGE)).code == 200
    assert (await web.ask("GET", path)).json["spec"] == {"replicas": 3, "new": "v1"}


async def test_a_custom_resource_is_stored_with_the_defaults_of_its_storage_version(server, web):
    """A write through a version without a member does not remove what would be set again."""
    made = two_versions("stored", "v1", later=False)
    first, second = ({"a": TEXT, "b": {**TEXT, "default": "v1"}}, {"a": TEXT})
    for version, properties in zip(made["spec"]["versions"], (first, second), strict=True):
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = properties
    await server.client.create(made)
    await server.settled()
    body = {**head("stored"), "metadata": {"name": "a"}, "spec": {"a": "x"}}
    stored = (await web.ask("POST", place("stored"), body)).json
    assert stored["spec"] == {"a": "x", "b": "v1"}
    other = f"{place('stored').replace('/v1/', '/v2/')}/a"
    patched = await web.ask("PATCH", other, {"spec": {"a": "x"}}, Content_Type=MERGE)
    assert patched.json["spec"] == {"a": "x"}
    assert (await web.ask("GET", f"{place('stored')}/a")).json == stored


async def test_an_object_of_a_version_that_is_gone_is_read_by_the_storage_version(server, web):
    made = two_versions("removed", "v1", later=False)
    first, second = made["spec"]["versions"]
    await server.client.create(made)
    await server.settled()
    body = {**head("removed"), "metadata": {"name": "a"}, "spec": {MEMBERS[0]: "x"}}
    assert (await web.ask("POST", place("removed"), body)).code == 201
    first["storage"], second["storage"] = False, True
    name = "boats.removed.example.com"
    await server.client.patch(CRDS, name, patch={"spec": {"versions": [first, second]}})
    stored = {"status": {"storedVersions": ["v2"]}}
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}/status"
    assert (await web.ask("PATCH", path, stored, Content_Type=MERGE)).code == 200
    await server.client.patch(CRDS, name, patch={"spec": {"versions": [second]}})
    await server.settled()
    read = (await web.ask("GET", f"{place('removed').replace('/v1/', '/v2/')}/a")).json
    assert (read["apiVersion"], read["spec"]) == ("removed.example.com/v2", {MEMBERS[0]: "x"})


async def test_an_apply_that_changes_nothing_sets_no_defaults_of_the_other_version(server, web):
    """A patch of another type does. kube-apiserver keeps the live object then
    (structuredmerge.go, Apply)."""
    made = two_versions("unchanged", "v2", later=False)
    first, second = made["spec"]["versions"]
    for version, properties in ((first, {"a": {**TEXT, "default": "v1"}}), (second, {"a": TEXT})):
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = properties
    await server.client.create(made)
    await server.settled()
    other = place("unchanged").replace("/v1/", "/v2/")
    kind = {"kind": "Boat", "metadata": {"name": "a"}}
    body = {"apiVersion": "unchanged.example.com/v2", **kind, "spec": {}}
    assert (await web.ask("POST", other, body)).code == 201
    patch = {**head("unchanged"), **kind}
    for expected, content, query in (({}, APPLY, "?fieldManager=m"), ({"a": "v1"}, MERGE, "")):
        path = f"{place('unchanged')}/a{query}"
        answer = await web.ask("PATCH", path, patch, Content_Type=content)
        assert (answer.code, answer.json["spec"]) == (200, expected)


async def test_what_is_pruned_is_pruned_when_an_object_is_stored(server, web):
    """An apply sets an undeclared field of a struct in one that preserves unknown fields, and a
    Scale undeclared replicas. Both change the object, and its generation, before that."""
    made = two_versions("undeclared", "v1", later=False)
    first, second = made["spec"]["versions"]
    for version, properties in ((first, {"a": TEXT}), (second, {"a": TEXT, "n": INTEGER})):
        schema = version["schema"]["openAPIV3Schema"]
        schema["x-kubernetes-preserve-unknown-fields"] = True
        schema["properties"]["spec"]["properties"] = properties
        version["subresources"] = SCALED
    await server.client.create(made)
    await server.settled()
    body = {**head("undeclared"), "metadata": {"name": "a"}, "spec": {"a": "x"}}
    path = f"{place('undeclared')}/a"
    assert (await web.ask("POST", place("undeclared"), body)).json["metadata"]["generation"] == 1
    applied = {**body, "spec": {"n": 1}}
    answer = await web.ask("PATCH", f"{path}?fieldManager=m", applied, Content_Type=APPLY)
    assert (answer.json["metadata"]["generation"], answer.json["spec"]) == (2, {"a": "x"})
    meta = {"name": "a", "resourceVersion": answer.json["metadata"]["resourceVersion"]}
    scale = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": meta}
    scaled = await web.ask("PUT", f"{path}/scale", {**scale, "spec": {"replicas": 2}})
    assert (scaled.code, scaled.json["spec"]) == (200, {})
    read = await web.ask("GET", path)
    assert (read.json["metadata"]["generation"], read.json["spec"]) == (3, {"a": "x"})


async def test_a_write_of_a_scale_keeps_the_owners_of_versions_that_are_not_served(server, web):
    made = two_versions("unserved", "v2", later=False)
    for version in made["spec"]["versions"]:
        properties = {"replicas": INTEGER, "a": TEXT}
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = properties
    first, second = made["spec"]["versions"]
    first["subresources"] = SCALED
    await server.client.create(made)
    await server.settled()
    body = {"apiVersion": "unserved.example.com/v2", "kind": "Boat", "metadata": {"name": "a"}}
    body["spec"] = {"a": "x", "replicas": 1}
    made_in = place("unserved").replace("/v1/", "/v2/")
    owners = (await web.ask("POST", made_in, body)).json["metadata"]["managedFields"]
    first["storage"], second["storage"], second["served"] = True, False, False
    versions = {"spec": {"versions": [first, second]}}
    await server.client.patch(CRDS, "boats.unserved.example.com", patch=versions)
    await server.settled()
    path = f"{place('unserved')}/a"
    scale = {"spec": {"replicas": 2}}
    assert (await web.ask("PATCH", f"{path}/scale", scale, Content_Type=MERGE)).code == 200
    assert (await web.ask("GET", path)).json["metadata"]["managedFields"] == owners
