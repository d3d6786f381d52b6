"""APIServices: their order, and the errors about their servers."""

import pytest

from inkube.schemas.aggregation import availability, discovery, registrations
from inkube.schemas.aggregation.registrations import Registration, Service
from inkube.schemas.objects import Object
from inkube.schemas.openapi import aggregated

API = Service("default", "api", 443)


def registered(name: str, group_priority: int, version_priority: int = 1) -> Registration:
    version, _, group = name.partition(".")
    return Registration(name, group, version, group_priority, version_priority)


def test_groups_are_sorted_by_their_highest_priority_and_versions_by_theirs() -> None:
    known = [
        registered("v1.b.example.com", 100, 5),
        registered("v2.b.example.com", 2000, 5),
        registered("v1beta1.b.example.com", 1, 9),
        registered("v1.c.example.com", 1000),
        registered("v1.a.example.com", 1000),
    ]
    names = [[one.name for one in group] for group in registrations.by_group(known)]
    assert names == [
        ["v1beta1.b.example.com", "v2.b.example.com", "v1.b.example.com"],
        ["v1.a.example.com"],
        ["v1.c.example.com"],
    ]


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    first = availability.next_status({}, availability.failed_check("a"), "then")
    assert first is not None
    obj = {"status": first}
    assert availability.next_status(obj, availability.failed_check("a"), "now") is None
    second = availability.next_status(obj, availability.failed_check("b"), "now")
    third = availability.next_status(obj, availability.PASSED, "now")
    assert second is not None
    assert third is not None
    assert second["conditions"][0]["lastTransitionTime"] == "then"
    assert third["conditions"][0]["lastTransitionTime"] == "now"


def test_a_service_outside_of_the_cluster_is_available() -> None:
    service = {"spec": {"type": "ExternalName", "externalName": "x"}}
    assert availability.of_service(API, service, []) is None


@pytest.mark.parametrize("ready", [None, True])
def test_an_endpoint_is_ready_by_default(ready: bool | None) -> None:
    service = {"spec": {"ports": [{"port": 443, "name": "https"}]}}
    conditions = {} if ready is None else {"ready": ready}
    endpoints = [{"addresses": ["10.0.0.9"], "conditions": conditions}]
    slices = [{"ports": [{"name": "https", "port": 8443}], "endpoints": endpoints}]
    assert availability.of_service(API, service, slices) is None
    assert list(availability.addresses(slices, "https")) == [(("10.0.0.9", 8443), {})]


@pytest.mark.parametrize(
    "document",
    [None, [], {"kind": "APIGroupDiscoveryList"}, {"kind": "APIGroupDiscoveryList", "items": 1}],
)
def test_discovery_that_makes_no_sense_is_of_nothing(document: object) -> None:
    assert discovery.version_in(document, "g", "v1") is None
    assert discovery.from_resource_list(document, "g", "v1") is None
    assert aggregated.paths_of(document, "/apis/g/v1") == {}


def test_each_resource_in_discovery_has_a_kind() -> None:
    kind = {"group": "g", "version": "v1", "kind": "Thing"}
    scale = {"subresource": "scale"}
    things = {"resource": "things", "responseKind": kind, "subresources": [scale]}
    version = {"version": "v1", "resources": [things, {"resource": "jobs", "responseKind": None}]}
    item = {"metadata": {"name": "g"}, "versions": [version]}
    document = {"kind": "APIGroupDiscoveryList", "items": [item]}
    found = discovery.version_in(document, "g", "v1")
    assert found is not None
    empty = {"group": "", "version": "", "kind": ""}
    kinds = [each["responseKind"] for each in found["resources"]]
    assert kinds == [kind, empty]
    assert found["resources"][0]["subresources"][0]["responseKind"] == empty


def test_joined_documents_keep_their_own_definitions() -> None:
    own = {"paths": {"/a": {}}, "definitions": {"A": {"type": "string"}, "B": {"type": "object"}}}
    path = {"get": {"schema": {"$ref": "#/definitions/A"}}}
    other = {
        "paths": {"/a": path, "/apis/g/v1/c": path},
        "definitions": {"A": {"type": "integer"}, "B": {"type": "object"}},
    }
    joined = aggregated.join(own, aggregated.of_group(other, "/apis/g/v1"))
    assert joined["definitions"] == {**own["definitions"], "A_v2": {"type": "integer"}}
    assert joined["paths"]["/a"] == {}
    assert joined["paths"]["/apis/g/v1/c"]["get"]["schema"] == {"$ref": "#/definitions/A_v2"}


def test_joined_definitions_have_the_kinds_of_both() -> None:
    def schema(group: str, **members: object) -> Object:
        mark = {"group": group, "kind": "Options", "version": "v1"}
        return {"type": "object", **members, "x-kubernetes-group-version-kind": [mark]}

    def reference(name: str) -> Object:
        return {"$ref": f"#/definitions/{name}"}

    own = {"paths": {}, "definitions": {"O": schema("a"), "A": schema("a")}}
    changed = schema("b", properties={"o": reference("O"), "a": reference("A")})
    other = {"paths": {"/b": reference("A")}, "definitions": {"O": schema("b"), "A": changed}}
    joined = aggregated.join(own, other)
    kinds = [
        each["group"] for each in joined["definitions"]["O"]["x-kubernetes-group-version-kind"]
    ]
    assert kinds == ["a", "b"]
    assert joined["definitions"]["A"] == own["definitions"]["A"]
    renamed = schema("b", properties={"o": reference("O"), "a": reference("A_v2")})
    assert joined["definitions"]["A_v2"] == renamed
    assert joined["paths"] == {"/b": reference("A_v2")}
    assert own["definitions"]["O"] == schema("a")


def test_names_of_joined_definitions_are_free_in_both_documents() -> None:
    own = {"paths": {}, "definitions": {"A": {"type": "string"}, "A_v2": {"type": "boolean"}}}
    other = {"paths": {}, "definitions": {"A": {"type": "integer"}, "A_v3": {"type": "number"}}}
    joined = aggregated.join(own, other)
    assert joined["definitions"] == {
        **own["definitions"], "A_v4": {"type": "integer"}, "A_v3": {"type": "number"},
    }  # fmt: skip
    assert aggregated.join(joined, other)["definitions"] == joined["definitions"]
