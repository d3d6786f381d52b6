"""The document of custom kinds, joined from the texts of its parts."""

import itertools

import orjson

from inkube.schemas import builtin, definitions
from inkube.schemas.openapi import paths, v3


def definition(plural, kind, *, namespaced, status, scale):
    version = definitions.Version(
        "v1",
        {"type": "object", "properties": {"spec": {"type": "object"}}},
        status=status,
        scale=definitions.Scale(".spec.replicas", ".status.replicas") if scale else None,
    )
    names = definitions.Names(plural, kind, list_kind=f"{kind}List")
    return definitions.Definition("example.com", names, (version,), namespaced=namespaced)


def test_a_document_that_is_written_from_parts_has_all_that_is_made_at_once():
    kinds = ("Kind", "Apple", "Plural", "Unit", "Item")
    flags = list(itertools.product((True, False), repeat=3))
    found = [
        definition(f"{kind.lower()}s{n}", f"{kind}{n}", namespaced=a, status=b, scale=c)
        for n, (a, b, c) in enumerate(flags)
        for kind in kinds
    ]
    whole, parts = v3.document(found, "v1"), v3.PerVersion[v3.Part]()
    for each in found:
        made = paths.paths(each, "v1")
        assert made
        assert {path: whole["paths"][path] for path in made} == made
    assert len(whole["paths"]) == sum(len(paths.paths(each, "v1")) for each in found)
    for _ in range(2):  # the second time from kept parts
        made = orjson.loads(v3.text(found, "v1", parts))
        assert made == whole
        assert list(made["components"]["schemas"]) == list(whole["components"]["schemas"])


def test_keywords_that_are_published_otherwise_are_found_at_any_depth():
    leaf = {"x-kubernetes-int-or-string": True}
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": leaf}}}
    made = definition("things", "Thing", namespaced=True, status=False, scale=False)
    made = definitions.Definition(
        "example.com", made.names, (definitions.Version("v1", schema),), namespaced=True
    )
    shown = v3.document([made], "v1")["components"]["schemas"]["com.example.v1.Thing"]
    assert shown["properties"]["a"]["items"]["anyOf"] == [{"type": "integer"}, {"type": "string"}]


def test_a_custom_kind_with_the_name_of_a_built_in_definition_gets_another_name():
    secret = next(each for each in builtin.definitions(36) if each.names.kind == "Secret")
    custom = definitions.Definition(
        "core.api.k8s.io",  # in its definition's name: io.k8s.api.core
        definitions.Names("secrets", "Secret", list_kind="SecretList"),
        (definitions.Version("v1", {"type": "object", "properties": {"probe": {}}}),),
        namespaced=True,
    )
    documents = [v3.document([each], "v1") for each in (custom, secret)]
    name = "io.k8s.api.core.v1.Secret"
    found = v3.merged(documents)
    assert "probe" not in found["definitions"][name]["properties"]
    assert "probe" in found["definitions"][f"{name}_v2"]["properties"]
    path = "/apis/core.api.k8s.io/v1/namespaces/{namespace}/secrets/{name}"
    answer = found["paths"][path]["get"]["responses"]["200"]["schema"]
    assert answer == {"$ref": f"#/definitions/{name}_v2"}
    items = found["definitions"][f"{name}List_v2"]["properties"]["items"]["items"]
    assert items == {"$ref": f"#/definitions/{name}_v2"}
    assert "Secret_v2" not in str(documents)
