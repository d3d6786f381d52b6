"""Checks that a schema is structural.

Every node must have a type, outside of allOf, anyOf, oneOf and not. Follows
pkg/apiserver/schema/{convert,validation}.go. Schemas are decoded JSON.
"""

from collections.abc import Iterator
from typing import Any

from inkube.schemas.fielderrors import FieldError, forbidden, invalid, required
from inkube.schemas.golang import regexp
from inkube.schemas.objects import Object

_ROOT, _ITEM, _FIELD = (
    "must not be empty at the root",
    "must not be empty for specified array items",
    "must not be empty for specified object fields",
)
"""The text about a missing type also identifies the level."""
_UNSUPPORTED = (
    ("id", "id"),
    ("$schema", "schema"),
    ("$ref", "$ref"),
    ("patternProperties", "patternProperties"),
    ("dependencies", "dependencies"),
    ("additionalItems", "additionalItems"),
    ("definitions", "definitions"),
)
_UNSUPPORTED_KEYS = frozenset(key for key, _ in _UNSUPPORTED)
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_NOT_STRUCTURAL_METADATA = frozenset({"type", "default", "properties", "example", "externalDocs"})

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"


SIMPLE = frozenset(
    {
        "type", "description", "format", "title", "enum", "maxLength", "minLength", "maximum",
        "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf", "default", "nullable",
        "x-kubernetes-validations",
    }
)  # fmt: skip
"""Keywords that cannot cause structural errors, at their node or below."""
_SIMPLE_ITEM = SIMPLE - {"default", "x-kubernetes-validations"}
_SIMPLE_LIST = frozenset(
    {"type", "items", "description", "title", "maxItems", "minItems", "nullable"}
)
_SCALARS = frozenset({"boolean", "integer", "number", "string"})


def is_simple(node: Object) -> bool:
    """Return whether a node is a scalar with only simple keywords, or a list of such scalars
    without defaults and rules, as nine of ten nodes are."""
    kind = node.get("type")
    if kind == "array" and node.keys() <= _SIMPLE_LIST:
        items = node.get("items")
        return (
            isinstance(items, dict)
            and items.keys() <= _SIMPLE_ITEM
            and items.get("type") in _SCALARS
        )
    return kind in _SCALARS and node.keys() <= SIMPLE


class Unconvertible(Exception):
    """The schema has a keyword that is not structural; other checks report it more clearly."""


def validate(schema: Object, path: str) -> list[FieldError]:
    """Return every reason why the schema is not structural, sorted. Raises Unconvertible."""
    errors = [*_invariants(schema, _ROOT, path), *_completeness(schema, schema, path, path)]
    return sorted(errors, key=FieldError.text)


def _invariants(node: Object, level: str, path: str) -> Iterator[FieldError]:
    if not _UNSUPPORTED_KEYS.isdisjoint(node):
        _refuse_unsupported(node)
    kind = node.get("type", "")
    yield from _children(node, level, path)
    if not _VALUE_KEYS.isdisjoint(node):
        yield from _value_validation(node, path, _int_or_string_places(node))
    embedded = node.get(EMBEDDED, False)
    if embedded and kind != "object":
        detail = f"must be object if {EMBEDDED} is true"
        at = f"{path}.type"
        yield invalid(at, kind, detail) if kind else required(at, detail)
    elif not kind and not node.get(INT_OR_STRING) and not node.get(PRESERVE):
        yield required(f"{path}.type", level)
    if level is _ROOT and kind and kind != "object":
        yield invalid(f"{path}.type", kind, "must be object at the root")
    if embedded or node.get(INT_OR_STRING):
        yield from _extensions(node, path)
    if embedded or level is _ROOT:
        yield from _type_meta(node, level, path)
    if level is _ROOT:
        yield from _root_metadata(node, path)


def _children(node: Object, level: str, path: str) -> Iterator[FieldError]:
    items = node.get("items")
    if isinstance(items, list):
        raise Unconvertible("OpenAPIV3Schema 'items' must be a schema, but is an array")
    if items is not None:
        yield from _invariants(items, _ITEM, f"{path}.items")
    elif node.get("type") == "array":
        yield required(f"{path}.items", "must be specified")
    for name, child in node.get("properties", _NOTHING).items():
        if not is_simple(child):
            yield from _invariants(child, _FIELD, f"{path}.properties[{name}]")
    additional = node.get("additionalProperties")
    if additional is None:
        return
    if level is _ROOT:
        yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
    if isinstance(additional, dict):
        yield from _invariants(additional, _FIELD, f"{path}.additionalProperties")


_NOTHING: Object = {}
_VALUE_KEYS = frozenset({"anyOf", "allOf", "oneOf", "not", "pattern", PRESERVE})


def _refuse_unsupported(node: Object) -> None:
    for key, name in _UNSUPPORTED:
        if node.get(key) or (key == "additionalItems" and node.get(key) is not None):
            raise Unconvertible(f"OpenAPIV3Schema '{name}' is not supported")


def _extensions(node: Object, path: str) -> Iterator[FieldError]:
    if node.get(INT_OR_STRING):
        detail = f"must be false if {INT_OR_STRING} is true"
        for key in (PRESERVE, EMBEDDED):
            if node.get(key):
                yield invalid(f"{path}.{key}", True, detail)
    if not node.get(EMBEDDED):
        return
    if "additionalProperties" in node:
        detail = f"must not be used if {EMBEDDED} is set"
        yield forbidden(f"{path}.additionalProperties", detail)
    if not node.get(PRESERVE) and not node.get("properties"):
        detail = f"must not be empty if {EMBEDDED} is true without {PRESERVE}"
        yield required(f"{path}.properties", detail)


def _type_meta(node: Object, level: str, path: str) -> Iterator[FieldError]:
    properties = node.get("properties", _NOTHING)
    for name, expected in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        declared = properties.get(name)
        if declared is not None and declared.get("type", "") != expected:
            at = f"{path}.properties[{name}].type"
            yield invalid(at, declared.get("type", ""), f"must be {expected}")


def _root_metadata(node: Object, path: str) -> Iterator[FieldError]:
    metadata = node.get("properties", _NOTHING).get("metadata")
    if metadata is None:
        return
    plain = metadata.get("properties", _NOTHING).keys() <= {"name", "generateName"}
    if not plain or not metadata.keys() <= _NOT_STRUCTURAL_METADATA:
        yield forbidden(
            f"{path}.properties[metadata]",
            "must not specify anything other than name and generateName, "
            "but metadata is implicitly specified",
        )


def _int_or_string_places(node: Object) -> list[Any]:
    """Return the anyOf lists that can contain types: that of the node, and that of its first
    allOf."""
    places = [node.get("anyOf"), *(sub.get("anyOf") for sub in node.get("allOf", ())[:1])]
    return [place for place in places if place == _INT_OR_STRING]


def _value_validation(node: Object, path: str, spared: list[Any]) -> Iterator[FieldError]:
    """Yield the errors of combinators and pattern of a node, nested or not; ignores `spared`
    anyOfs."""
    if node.get(PRESERVE) is False:
        raise Unconvertible(f"internal error: '{PRESERVE}' must be true or undefined")
    for key in ("anyOf", "allOf", "oneOf"):
        branches = node.get(key, ())
        if any(branches is place for place in spared):
            continue
        for index, branch in enumerate(branches):
            yield from _nested(branch, f"{path}.{key}[{index}]", spared)
    if "not" in node:
        yield from _nested(node["not"], f"{path}.not", [])
    if "pattern" in node:
        problem = regexp.error(node["pattern"])
        if problem:
            detail = f"must be a valid regular expression, but isn't: {problem}"
            yield invalid(f"{path}.pattern", node["pattern"], detail)


_FORBIDDEN_NESTED = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (PRESERVE, "must be false to be structural"),
    (EMBEDDED, "must be false to be structural"),
    (INT_OR_STRING, "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)


def _nested(node: Object, path: str, spared: list[Any]) -> Iterator[FieldError]:
    """Yield the errors of a node under allOf, anyOf, oneOf or not."""
    if not _UNSUPPORTED_KEYS.isdisjoint(node):
        _refuse_unsupported(node)
    yield from _value_validation(node, path, spared)
    items = node.get("items")
    if isinstance(items, list):
        raise Unconvertible("OpenAPIV3Schema 'items' must be a schema, but is an array")
    if items is not None:
        yield from _nested(items, f"{path}.items", [])
    properties = node.get("properties", _NOTHING)
    for name, child in properties.items():
        yield from _nested(child, f"{path}.properties[{name}]", [])
    for key, detail in _FORBIDDEN_NESTED:
        # like undefined, false has no schema for the other members
        if key in node and not (key == "additionalProperties" and node[key] is False):
            yield forbidden(f"{path}.{key}", detail)
    if "metadata" in properties:
        at = f"{path}.properties[metadata]"
        yield forbidden(at, "must not be specified in a nested context")


def _completeness(value: Object, node: Object, value_path: str, path: str) -> Iterator[FieldError]:
    """Yield the errors of fields in combinators of the root that are not declared outside of them.

    Combinators of deeper nodes are not checked.
    """
    if "not" in value:
        yield from _nested_completeness(value["not"], node, f"{value_path}.not", path)
    for key in ("allOf", "anyOf", "oneOf"):
        for index, branch in enumerate(value.get(key, ())):
            yield from _nested_completeness(branch, node, f"{value_path}.{key}[{index}]", path)


def _nested_completeness(
    value: Object, node: Object | None, value_path: str, path: str
) -> Iterator[FieldError]:
    if node is None:
        yield required(path, f"because it is defined in {value_path}")
        return
    yield from _completeness(value, node, value_path, path)
    for name, child in value.get("properties", _NOTHING).items():
        below = f".properties[{name}]"
        counterpart = node.get("properties", _NOTHING).get(name)
        yield from _nested_completeness(child, counterpart, value_path + below, path + below)
    if "items" in value:
        items = node.get("items")
        yield from _nested_completeness(
            value["items"], items, f"{value_path}.items", f"{path}.items"
        )
