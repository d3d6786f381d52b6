"""OpenAPI lacks no path of Kubernetes, no property of its types and no enumeration.

The expected content comes from other sources: discovery lists every kind with its verbs, and the
table of messages, generated from 1.36.2, contains every field of every type.
"""

from collections.abc import Iterator
from typing import Any

import boats
import pytest
import pytest_asyncio

from inkube import APIServer
from inkube.schemas.builtin.protobuf import messages
from inkube.schemas.openapi import enums

pytestmark = pytest.mark.asyncio(loop_scope="module")
PATHS = 408
"""The number of paths in version 2 of a kube-apiserver 1.36.2."""
GROUPS = 20
TYPE = {"apiVersion", "kind"}
WRITE_THEMSELVES = {
    f"io.k8s.{name}"
    for name in (
        "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
        "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
        "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
        "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
        "apimachinery.pkg.api.resource.Quantity",
        "apimachinery.pkg.apis.meta.v1.FieldsV1",
        "apimachinery.pkg.apis.meta.v1.MicroTime",
        "apimachinery.pkg.apis.meta.v1.Time",
        "apimachinery.pkg.runtime.RawExtension",
        "apimachinery.pkg.util.intstr.IntOrString",
    )
}
"""Go types with their own JSON form: they have fields that documents do not show."""
OF_JSON_ONLY = {
    "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
    "io.k8s.apimachinery.pkg.version.Info",
}
"""Definitions without a message."""
METHODS = {
    "create": ("post", ""),
    "delete": ("delete", "/{name}"),
    "deletecollection": ("delete", ""),
    "get": ("get", "/{name}"),
    "list": ("get", ""),
    "patch": ("patch", "/{name}"),
    "update": ("put", "/{name}"),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> Any:
    """A server with only the kinds of Kubernetes."""
    async with APIServer(modules="none") as started:
        yield started


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def document(web: Any) -> Any:
    return (await web.ask("GET", "/openapi/v2")).json


def fields(name: str) -> Iterator[str]:
    """Yield the JSON names of a type's fields, including those of embedded structs."""
    for row in messages.rows(name):
        if row.member:
            yield row.member
        else:
            yield from fields(row.target)


async def test_every_path_is_there_and_every_document_of_a_group(web: Any, document: Any) -> None:
    assert len(document["paths"]) == PATHS
    index = (await web.ask("GET", "/openapi/v3")).json["paths"]
    groups = [path for path in index if path.startswith("apis/") and path.count("/") == 1]
    assert len(groups) == GROUPS
    parts = [(await web.ask("GET", f"/openapi/v3/{path}")).json for path in index]
    assert {path for part in parts for path in part["paths"]} == set(document["paths"])


async def test_every_verb_that_discovery_lists_has_its_operation(web: Any, document: Any) -> None:
    paths, missing = document["paths"], []
    groups = (await web.ask("GET", "/apis")).json["groups"]
    places = ["/api/v1", *(f"/apis/{v['groupVersion']}" for g in groups for v in g["versions"])]
    for place in places:
        for kind in (await web.ask("GET", place)).json["resources"]:
            plural, _, subresource = kind["name"].partition("/")
            base = f"{place}{'/namespaces/{namespace}' * kind['namespaced']}/{plural}"
            end = f"/{{name}}/{subresource}" if subresource else None
            for verb in kind["verbs"]:
                if verb == "watch":
                    found = base.replace(place, f"{place}/watch", 1) in paths
                else:
                    method, item = METHODS[verb]
                    found = method in paths.get(base + (item if end is None else end), {})
                if not found:
                    missing.append(f"{verb} {place}/{kind['name']}")
    assert missing == []


async def test_every_definition_has_the_properties_of_its_type(document: Any) -> None:
    definitions = document["definitions"]
    assert definitions.keys() - messages.every().keys() == OF_JSON_ONLY
    differing = {
        name
        for name, schema in definitions.items()
        if name not in OF_JSON_ONLY
        and set(schema.get("properties", {})) - TYPE != set(fields(name)) - TYPE
    }
    assert differing == WRITE_THEMSELVES


async def test_every_enumeration_lists_its_values(document: Any) -> None:
    told = 0
    for name, schema in document["definitions"].items():
        for field, texts in enums.of_type(name).items():
            node = schema["properties"][field]
            inner = node.get("items") or node.get("additionalProperties") or node
            assert inner["enum"] == sorted(texts), (name, field)
            told += 1
            if inner is node:
                assert node["description"].count("\n - `") == len(texts), (name, field)
    assert told == 98


async def test_documents_of_definitions_have_selectable_fields_and_zero_defaults(web: Any) -> None:
    size = {"type": "integer", "default": 0}
    spec = {"type": "object", "properties": {"size": size}}
    crd = boats.definition(
        {"type": "object", "properties": {"spec": spec}},
        "Jug",
        scope="Cluster",
        selectableFields=[{"jsonPath": ".spec.size"}],
    )
    await web.server.client.create(crd)
    await web.server.settled()
    found = (await web.ask("GET", "/openapi/v3/apis/example.com/v1")).json
    jug = found["components"]["schemas"]["com.example.v1.Jug"]
    assert jug["x-kubernetes-selectable-fields"] == [{"fieldPath": "spec.size"}]
    assert jug["properties"]["spec"]["properties"]["size"]["default"] == 0
