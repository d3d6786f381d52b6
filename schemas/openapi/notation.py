"""The schemas in OpenAPI documents: of custom kinds, of lists, and in the notation of version 2.

Follows apiextensions-apiserver/pkg/controller/openapi/builder (builder.go) and v2 (conversion.go).
"""

from typing import Any

import orjson

from inkube.schemas.definitions import Definition
from inkube.schemas.gotypes import table

Schema = dict[str, Any]
META = "io.k8s.apimachinery.pkg.apis.meta.v1"
SCHEMAS = "#/components/schemas/"
GVK_MARK = "x-kubernetes-group-version-kind"
PRESERVE = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_METADATA = f"Standard object's metadata. More info: {_CONVENTIONS}#metadata"
_LIST_METADATA = f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds"
_SOURCE_OF_TEXTS = "io.k8s.api.core.v1.ConfigMap"
PATCH: Schema = {
    "description": "Patch is provided to give a concrete name and type to the Kubernetes PATCH "
    "request body.",
    "type": "object",
}
_DROPPED = frozenset({"example", "externalDocs", "id", "$schema"})
"""Keywords that a structural schema does not keep."""
_PUBLISHED_OTHERWISE = tuple(
    f'"{keyword}":'.encode()
    for keyword in (*_DROPPED, _INT_OR_STRING, "x-kubernetes-embedded-resource")
)
_NOT_IN_V2 = frozenset({"oneOf", "anyOf", "allOf", "not", "nullable", "default"})
_DIFFERENT_IN_V2 = frozenset(
    {
        *_NOT_IN_V2, "$ref", "properties", "items", "additionalProperties", _INT_OR_STRING,
        PRESERVE,
    }
)  # fmt: skip


def reference(name: str, description: str = "") -> Schema:
    """Return a reference to a schema, inside `allOf` if it has a description."""
    if not description:
        return {"$ref": SCHEMAS + name}
    return {"allOf": [{"$ref": SCHEMAS + name}], "description": description}


def custom(definition: Definition, version: str) -> bytes:
    """Return the schema of a kind that is not built in as JSON, with apiVersion, kind and
    metadata."""
    served = definition.version(version)
    declared = served.schema if served is not None else {}
    text = orjson.dumps(_complete(declared, definition, version))
    # to search the text takes a tenth of the time of a walk, and few schemas have such a keyword
    if any(keyword in text for keyword in _PUBLISHED_OTHERWISE):
        text = orjson.dumps(_complete(_published(declared), definition, version))
    return text


def _complete(schema: Schema, definition: Definition, version: str) -> Schema:
    """Return a schema with the members of every kind."""
    served = definition.version(version)
    completed: Schema = {"type": "object", PRESERVE: True}
    if schema:
        completed = {**schema}
    completed["properties"] = {**completed.get("properties", {}), **_type_meta()}
    completed[GVK_MARK] = [gvk_of(definition, version)]
    fields = served.selectable_fields if served is not None else ()
    own = [field.label for field in fields if not field.label.startswith("metadata.")]
    if own:
        completed["x-kubernetes-selectable-fields"] = [{"fieldPath": path} for path in own]
    return completed


def list_of(definition: Definition, version: str, name: str) -> Schema:
    """Return the schema of a kind's list. `name` is that of the kind's own schema."""
    kind = definition.names.kind
    list_kind = definition.names.list_kind or f"{kind}List"
    items = f"List of {definition.names.plural}. More info: {_CONVENTIONS}"
    properties = _type_meta()
    properties["metadata"] = reference(f"{META}.ListMeta", _LIST_METADATA)
    properties["items"] = {"description": items, "items": reference(name), "type": "array"}
    mark = {**gvk_of(definition, version), "kind": list_kind}
    return {
        "description": f"{list_kind} is a list of {kind}",
        "properties": properties,
        "required": ["items"],
        "type": "object",
        GVK_MARK: [mark],
    }


def gvk_of(definition: Definition, version: str) -> Schema:
    """Return group, version and kind in the form of the extension."""
    return {"group": definition.group, "kind": definition.names.kind, "version": version}


def _type_meta() -> Schema:
    texts = table.descriptions()[_SOURCE_OF_TEXTS]
    return {
        "apiVersion": {"description": texts["apiVersion"], "type": "string"},
        "kind": {"description": texts["kind"], "type": "string"},
        "metadata": reference(f"{META}.ObjectMeta", _METADATA),
    }


def _published(node: Schema) -> Schema:
    """Return a structural schema as it is published: references for the metadata of embedded
    objects."""
    published = {key: value for key, value in node.items() if key not in _DROPPED}
    if node.get("properties"):
        published["properties"] = {k: _published(v) for k, v in node["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            published[key] = _published(node[key])
    if node.get(_INT_OR_STRING) and not node.get("anyOf") and not node.get("allOf"):
        published["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    if node.get("x-kubernetes-embedded-resource"):
        published["properties"] = {**published.get("properties", {}), **_type_meta()}
        needed = published.get("required", [])
        published["required"] = [*needed, *(k for k in ("kind", "apiVersion") if k not in needed)]
    return published


def type_to_v2(name: str, node: Schema) -> Schema:
    """Return a type in the notation of version 2, which does not have alternatives."""
    schema = to_v2(node)
    return {**schema, "type": "string"} if name in (INT_OR_STRING, QUANTITY) else schema


def to_v2(node: Schema) -> Schema:
    """Return a schema in the notation of version 2, without keywords of version 3 only. A schema
    without differences is returned itself."""
    if _DIFFERENT_IN_V2.isdisjoint(node):
        return node
    if "$ref" in node:
        return {"$ref": _moved(node["$ref"])}
    schema = {key: value for key, value in node.items() if key not in _NOT_IN_V2}
    branches = node.get("allOf")
    if branches and len(branches) == 1 and "$ref" in branches[0]:
        schema["$ref"] = _moved(branches[0]["$ref"])
    if node.get("nullable") or node.get(_INT_OR_STRING):
        schema.pop("type", None)
    if node.get(PRESERVE):
        for key in ("properties", "items", "type"):
            schema.pop(key, None)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            schema[key] = to_v2(schema[key])
    if schema.get("properties"):
        schema["properties"] = {key: to_v2(child) for key, child in schema["properties"].items()}
    return schema


def _moved(target: str) -> str:
    return target.replace(SCHEMAS, "#/definitions/")
