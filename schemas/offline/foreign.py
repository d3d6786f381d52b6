"""Schemas in other notations than CRDs: JSON schemas of catalogues, OpenAPI v2 and v3 documents.

They are converted to structural schemas, as CRDs have them. What a structural schema cannot say is
left out, so that a converted schema accepts more, never less. Names of kinds in catalogues are in
lower case.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from inkube.schemas.objects import Object

_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_KINDS = "x-kubernetes-group-version-kind"
_EITHER = frozenset({"integer", "string"})
_KEPT = (
    "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength",
    "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "multipleOf", "format",
    "nullable", "x-kubernetes-int-or-string", "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-validations",
    "x-kubernetes-embedded-resource", _PRESERVE,
)  # fmt: skip
_TYPES = frozenset({"array", "boolean", "integer", "number", "object", "string"})
_CATALOGUE = re.compile(r"(?:.*/)?([^/]+)/([a-z0-9]+)[_-](v\d[a-z0-9]*)\.json")
_DEEPEST = 60


class ForeignKind(NamedTuple):
    """A version of a kind, with its structural schema."""

    group: str
    version: str
    kind: str
    """In lower case if the source does not say the name."""
    schema: Object

    @property
    def key(self) -> tuple[str, str, str]:
        """Group, version and the kind in lower case."""
        return self.group, self.version, self.kind.lower()


def kinds_in(path: str, value: Any) -> list[ForeignKind] | None:
    """Return the kinds that a JSON file defines, None if it is not a file of schemas."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("components"), dict):
        return list(_of_components(value["components"].get("schemas"), value))
    if isinstance(value.get("definitions"), dict) and "swagger" in value:
        return list(_of_components(value["definitions"], value))
    place = _CATALOGUE.fullmatch(path.replace("\\", "/"))
    if place is None or "apiVersion" in value or not isinstance(value.get("properties"), dict):
        return None
    group, kind, version = place.groups()
    return [ForeignKind(group, version, kind, _root(value, value))]


def _of_components(components: Any, document: Object) -> Iterator[ForeignKind]:
    for schema in components.values() if isinstance(components, dict) else ():
        named = schema.get(_KINDS) if isinstance(schema, dict) else None
        if not isinstance(named, list) or len(named) != 1 or "properties" not in schema:
            continue
        kind = named[0]
        if not str(kind["kind"]).endswith("List"):
            converted = _root(schema, document)
            yield ForeignKind(kind["group"], kind["version"], kind["kind"], converted)


def _root(schema: Mapping[str, Any], document: Object) -> Object:
    converted = _converted(schema, document, 0)
    properties = dict(converted.get("properties") or {})
    for envelope in ("apiVersion", "kind"):
        properties[envelope] = {"type": "string"}
    properties["metadata"] = {"type": "object"}
    return {**converted, "type": "object", "properties": properties}


def _converted(schema: Any, document: Object, depth: int) -> Object:
    """Return a structural schema that accepts whatever the given one accepts."""
    schema = _resolved(schema, document)
    if depth > _DEEPEST or not isinstance(schema, dict):
        return {_PRESERVE: True}
    found: Object = {name: schema[name] for name in _KEPT if name in schema}
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        found["enum"] = schema["enum"]
    kind = _type(schema, found)
    if kind is None:
        return found if "x-kubernetes-int-or-string" in found else {**found, _PRESERVE: True}
    found["type"] = kind
    if kind == "array":
        found["items"] = _converted(schema.get("items", {}), document, depth + 1)
    if kind == "object":
        found |= _members(schema, document, depth)
    return found


def _type(schema: Object, constraints: Object) -> str | None:
    """Return the one type of a schema, None without one. Null makes the schema nullable."""
    given = schema.get("type")
    types = set(given) if isinstance(given, list) else {given} - {None}
    for member in ("oneOf", "anyOf"):
        parts = schema.get(member)
        if not types and isinstance(parts, list):
            types = {part.get("type") for part in parts if isinstance(part, dict)}
    if "null" in types:
        constraints["nullable"] = True
        types.discard("null")
    if types == _EITHER or schema.get("format") == "int-or-string":
        constraints["x-kubernetes-int-or-string"] = True
        constraints.pop("format", None)
        return None
    only = types.pop() if len(types) == 1 else None
    return only if only in _TYPES else None


def _members(schema: Object, document: Object, depth: int) -> Object:
    properties, more = schema.get("properties"), schema.get("additionalProperties")
    found: Object = {}
    if isinstance(properties, dict):
        found["properties"] = {
            name: _converted(inner, document, depth + 1) for name, inner in properties.items()
        }
        if isinstance(schema.get("required"), list):
            found["required"] = [name for name in schema["required"] if name in properties]
    elif isinstance(more, dict):
        return {"additionalProperties": _converted(more, document, depth + 1)}
    if more is True or (more is None and not properties):
        found[_PRESERVE] = True
    return found


def _resolved(schema: Any, document: Object) -> Any:
    """Return the schema behind `$ref`, or behind an `allOf` of one reference."""
    for _ in range(_DEEPEST):
        if not isinstance(schema, dict):
            return schema
        parts = schema.get("allOf")
        if isinstance(parts, list) and len(parts) == 1:
            schema = parts[0]
        elif isinstance(schema.get("$ref"), str):
            schema = _at(schema["$ref"], document)
        else:
            return schema
    return None


def _at(reference: str, document: Object) -> Any:
    value: Any = document
    for part in reference.removeprefix("#/").split("/"):
        value = value.get(part) if isinstance(value, dict) else None
    return value
