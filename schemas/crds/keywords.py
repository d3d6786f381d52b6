"""Validation of the keywords of an openAPIV3Schema and of their combinations.

The walk visits every node, including those under allOf, anyOf, oneOf and not. Follows validation.go
(ValidateCustomResourceDefinitionOpenAPISchema, specStandardValidatorV3).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from inkube.schemas.crds import rules, schemastructure, topology
from inkube.schemas.fielderrors import FieldError, forbidden, invalid, not_supported
from inkube.schemas.objects import Object

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_META_FIELDS = frozenset({"metadata", "kind", "apiVersion"})
_NO_DEFAULTS = "inside additionalProperties applying to object metadata"


@dataclass(frozen=True, slots=True)
class _Position:
    """The place of the walk. `no_defaults` is the reason why defaults are forbidden, or ""."""

    no_defaults: str = ""
    inside_metadata: bool = False


_ANYWHERE = _Position()


def validate(schema: Object, path: str) -> list[FieldError]:
    """Return all errors of the schema's keywords, without those of rules' expressions."""
    return list(_node(schema, path, _ANYWHERE, is_root=True))


def _node(
    node: Object, path: str, position: _Position, *, is_root: bool = False
) -> Iterator[FieldError]:
    if not node.keys() <= _HARMLESS:
        yield from _keywords(node, path, position)
    additional = node.get("additionalProperties")
    if additional is not None:
        yield from _additional(node, path, position)
    if "properties" in node:
        yield from _properties(node, path, position, is_root=is_root)
    items = node.get("items")
    if isinstance(items, dict):
        yield from _node(items, f"{path}.items", position)
    if not _BRANCHES.isdisjoint(node) or isinstance(items, list):
        yield from _branches(node, path, position)
    kind = node.get("type")
    if kind is not None and kind not in _TYPES:
        yield from _type(kind, f"{path}.type")
    if not topology.KEYS.isdisjoint(node):
        yield from topology.validate(node, path)
    if rules.KEY in node:
        yield from rules.validate(node, path)


def _type(kind: str, path: str) -> Iterator[FieldError]:
    yield not_supported(path, kind, _TYPES)
    if kind == "null":
        yield forbidden(path, "type cannot be set to null, use nullable as an alternative")


_HARMLESS = frozenset(
    {
        "description", "type", "format", "title", "maximum", "exclusiveMaximum", "minimum",
        "exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems",
        "multipleOf", "enum", "maxProperties", "minProperties", "required", "properties",
        "nullable", "x-kubernetes-int-or-string", "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-validations",
        "allOf", "anyOf", "oneOf", "not", "additionalProperties",
    }
)  # fmt: skip
_BRANCHES = frozenset({"allOf", "anyOf", "oneOf", "not", "definitions", "dependencies"})


def _keywords(node: Object, path: str, position: _Position) -> Iterator[FieldError]:
    """Yield the errors of the less common keywords."""
    if position.no_defaults and "default" in node:
        yield forbidden(f"{path}.default", f"must not be set {position.no_defaults}")
    for key in ("id", "patternProperties", "definitions"):
        if node.get(key):
            yield forbidden(f"{path}.{key}", f"{key} is not supported")
    for key in ("dependencies", "additionalItems", "$ref"):
        if node.get(key) is not None:
            yield forbidden(f"{path}.{key}", f"{key} is not supported")
    if isinstance(node.get("items"), list) and node["items"]:
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    if position.inside_metadata and node.get(schemastructure.EMBEDDED):
        yield forbidden(
            f"{path}.{schemastructure.EMBEDDED}", "must not be used inside of resource meta"
        )
    if node.get("uniqueItems"):
        yield forbidden(
            f"{path}.uniqueItems",
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        )
    if node.get(schemastructure.PRESERVE) is False:
        yield invalid(f"{path}.{schemastructure.PRESERVE}", False, "must be true or undefined")


def _additional(node: Object, path: str, position: _Position) -> Iterator[FieldError]:
    additional, path = node["additionalProperties"], f"{path}.additionalProperties"
    if node.get("properties") and additional is not True:
        yield forbidden(path, "additionalProperties and properties are mutual exclusive")
    if isinstance(additional, dict):
        if position.inside_metadata:
            position = replace(position, no_defaults=_NO_DEFAULTS)
        yield from _node(additional, path, position)


def _properties(
    node: Object, path: str, position: _Position, *, is_root: bool
) -> Iterator[FieldError]:
    has_metadata = is_root or node.get(schemastructure.EMBEDDED)
    for name, child in node["properties"].items():
        below = position
        if has_metadata and name in _META_FIELDS:
            reason = f"in top-level {name}" if is_root else position.no_defaults
            below = _Position(reason, inside_metadata=True)
        is_simple = schemastructure.is_simple(child) and rules.KEY not in child
        if not is_simple or (below.no_defaults and "default" in child):
            yield from _node(child, f"{path}.properties[{name}]", below)


def _branches(node: Object, path: str, position: _Position) -> Iterator[FieldError]:
    if "not" in node:
        yield from _node(node["not"], f"{path}.not", position)
    lists = [(key, node.get(key) or ()) for key in ("allOf", "oneOf", "anyOf")]
    if isinstance(node.get("items"), list):
        lists.append(("items", node["items"]))
    for key, branches in lists:
        for index, branch in enumerate(branches):
            yield from _node(branch, f"{path}.{key}[{index}]", position)
    for key in ("definitions", "dependencies"):
        for name, branch in (node.get(key) or {}).items():
            if isinstance(branch, dict):
                yield from _node(branch, f"{path}.{key}[{name}]", position)
