"""Documents keep to OpenAPI 3.0 and 2.0, for each minor and each sort of kind.

What the specifications ask of every document, and what clients of Kubernetes read: the paths of a
kind have its verbs, and its schema names its group, version and kind.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from inkube.schemas import releases
from inkube.schemas.builtin import definitions
from inkube.schemas.crds import to_definition
from inkube.schemas.definitions import Definition
from inkube.schemas.models import Resource
from inkube.schemas.openapi import v3

MINORS = [release.minor for release in releases.RECORDED]
ACTIONS = {
    "create": "post", "delete": "delete", "deletecollection": "deletecollection", "get": "get",
    "list": "list", "patch": "patch", "update": "put",
}  # fmt: skip
"""Verb → x-kubernetes-action."""
OF_V2_ONLY = {"definitions", "swagger", "consumes", "produces"}
OF_V3_ONLY = {"components", "openapi", "requestBody", "content", "nullable", "oneOf", "anyOf"}
METHODS = {"get", "put", "post", "delete", "options", "head", "patch"}
Documents = dict[tuple[str, str], tuple[list[Definition], Any]]


def custom() -> Definition:
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "port": {"x-kubernetes-int-or-string": True},
                    "note": {"type": "string", "nullable": True},
                    "size": {"anyOf": [{"minimum": 1}, {"maximum": -1}], "type": "integer"},
                },
            }
        },
    }
    version = {
        "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema},
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
            },
        },
    }  # fmt: skip
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Boat", "plural": "boats"},
        "versions": [version],
    }
    return to_definition({"metadata": {"name": "boats.example.com"}, "spec": spec})


class Sloop(Resource, group="own.example", version="v1"):
    """A kind that is declared in Python."""


@pytest.fixture(scope="module", params=MINORS, ids=[f"1.{minor}" for minor in MINORS])
def documents(request) -> Documents:
    """The document of version 3 of each group and version."""
    served: dict[tuple[str, str], list[Definition]] = {}
    for each in (*definitions(request.param), custom(), Sloop.definition):
        for version in each.served():
            served.setdefault((each.group, version.name), []).append(each)
    return {place: (kinds, v3.document(kinds, place[1])) for place, kinds in served.items()}


@pytest.fixture(scope="module")
def version_2(documents: Documents) -> Any:
    return v3.merged(document for _, document in documents.values())


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a document."""
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from nodes(value)
    elif isinstance(node, list):
        for value in node:
            yield from nodes(value)


def operations(document: Any) -> Iterator[tuple[str, str, Any, list[Any]]]:
    """Yield path, method, operation, and the parameters that hold for it."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method in METHODS:
                shared = item.get("parameters", [])
                yield path, method, operation, [*shared, *operation.get("parameters", [])]


def follow(document: Any, reference: str) -> Any:
    found = document
    for part in reference.removeprefix("#/").split("/"):
        found = found[part.replace("~1", "/").replace("~0", "~")]
    return found


def every(documents: Documents, version_2: Any) -> Iterator[Any]:
    yield from (document for _, document in documents.values())
    yield version_2


def test_every_reference_leads_to_a_schema(documents, version_2):
    for document in every(documents, version_2):
        found = (node["$ref"] for node in nodes(document) if "$ref" in node)
        references = {each for each in found if isinstance(each, str)}  # a field has this name too
        for reference in references:
            assert isinstance(follow(document, reference), dict), reference


def test_the_parameters_of_a_path_are_those_in_its_template(documents, version_2):
    for document in every(documents, version_2):
        for path, method, _, parameters in operations(document):
            known = [
                follow(document, each["$ref"]) if "$ref" in each else each for each in parameters
            ]
            names = [each["name"] for each in known if each["in"] == "path"]
            assert sorted(names) == sorted(re.findall(r"{(\w+)}", path)), (method, path)
            places = Counter((each["name"], each["in"]) for each in known)
            assert max(places.values(), default=1) == 1, (method, path)


def test_every_operation_has_a_response_and_an_id_of_its_own(documents, version_2):
    for document in every(documents, version_2):
        found = list(operations(document))
        ids = Counter(operation["operationId"] for _, _, operation, _ in found)
        assert [name for name, times in ids.items() if times > 1] == []
        for path, method, operation, _ in found:
            assert operation["responses"], (method, path)
            assert all(answer["description"] for answer in operation["responses"].values())


def test_each_version_has_its_own_keywords_only(documents, version_2):
    for _, document in documents.values():
        assert OF_V2_ONLY.isdisjoint(document)
        for _, _, operation, _ in operations(document):
            assert OF_V2_ONLY.isdisjoint(operation)
    assert OF_V3_ONLY.isdisjoint(version_2)
    for _, _, operation, parameters in operations(version_2):
        assert OF_V3_ONLY.isdisjoint(operation)
        assert sum(each.get("in") == "body" for each in parameters) <= 1
    for name, schema in version_2["definitions"].items():
        for node in nodes(schema):
            assert not {"nullable", "oneOf", "anyOf"} & set(node) - properties(node), name


def properties(node: dict[str, Any]) -> set[str]:
    """Return the members of a node if it is a list of properties, whose names are free."""
    values = node.values()
    return set(node) if node and all(isinstance(value, dict) for value in values) else set()


def test_the_paths_of_a_kind_have_its_verbs_and_no_others(documents):
    for (group, version), (kinds, document) in documents.items():
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        for kind in kinds:
            inner = f"{root}/namespaces/{{namespace}}" if kind.namespaced else root
            collection = f"{inner}/{kind.names.plural}"
            paths = collection, f"{collection}/{{name}}"
            items = [document["paths"].get(path, {}) for path in paths]
            actions = {
                item[method]["x-kubernetes-action"]
                for item in items
                for method in METHODS & set(item)
            }
            wanted = {ACTIONS[verb] for verb in kind.verbs if verb in ACTIONS}
            assert actions == wanted, (group, version, kind.names.plural)


def test_every_kind_has_a_schema_that_names_it(documents):
    for (group, version), (kinds, document) in documents.items():
        named = [
            (each["group"], each["version"], each["kind"])
            for schema in document["components"]["schemas"].values()
            for each in schema.get("x-kubernetes-group-version-kind", ())
        ]
        for kind in kinds:
            assert named.count((group, version, kind.names.kind)) == 1, kind.names.kind


def test_operations_name_the_kind_of_their_path(documents):
    for (group, version), (kinds, document) in documents.items():
        known = {kind.names.plural: kind for kind in kinds}
        for path, method, operation, _ in operations(document):
            parts = [part for part in path.split("/") if part]
            if parts[-1] == "{name}":
                parts.pop()
            about = operation.get("x-kubernetes-group-version-kind")
            if parts[-1] in known:
                kind = known[parts[-1]].names.kind
                assert about == {"group": group, "version": version, "kind": kind}, (method, path)


def test_each_enumeration_is_described_alike_wherever_it_occurs(documents, version_2):
    """The list of values after a description names the values of the schema, in their order, and a
    value means the same in all versions of a field and in both documents."""
    described: dict[tuple[str, ...], dict[str, str]] = {}
    lists = 0
    for document in every(documents, version_2):
        schemas = document.get("definitions") or document["components"]["schemas"]
        for name, schema in schemas.items():
            for field, node in schema.get("properties", {}).items():
                values, text = node.get("enum"), node.get("description", "")
                _, found, tail = text.partition("\n\nPossible enum values:\n")
                own = values is not None and name.startswith("io.k8s.")
                assert bool(found) is own, (name, field)
                if own:
                    lists += 1
                    parts = re.split(r'(?:^|\n) - `"(.*?)"`', tail)
                    texts = dict(zip(parts[1::2], parts[2::2], strict=True))
                    assert list(texts) == values == sorted(values), (name, field)
                    key = (name.rpartition(".")[2], field, *values)
                    assert described.setdefault(key, texts) == texts, (name, field)
    assert lists > 100
