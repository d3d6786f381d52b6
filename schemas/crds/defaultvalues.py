"""Validation of defaults in a schema: they must be valid, without fields that pruning removes.

Follows pkg/apiserver/schema/defaulting/validation.go (ValidateDefaults).
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from inkube.schemas import cel, releases
from inkube.schemas.caches import Memo
from inkube.schemas.crds import rules
from inkube.schemas.crds.schemastructure import EMBEDDED
from inkube.schemas.fielderrors import FieldError, Type, invalid, within_limits
from inkube.schemas.golang import DecodeError, gojson
from inkube.schemas.objects import Object, may_mention
from inkube.schemas.structural import CompiledSchema, embedded

_META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
_VALIDATION = {"apiVersion": "validation/v1", "kind": "Validation"}
_TYPES = {"string": str, "boolean": bool, "integer": int}
_PLAIN = frozenset(
    {
        "type", "default", "description", "title", "nullable", "example", "minimum", "maximum",
        "minLength", "maxLength", "enum",
    }
)  # fmt: skip
_INT64 = 2**63
_INT_OR_STRING = "x-kubernetes-int-or-string"
_BELOW = ("properties", "items", "default")


@dataclass(frozen=True, slots=True)
class _Position:
    """The place of the walk: the resource around it, the path in it, whether that is in metadata;
    and the minor with its texts and checks."""

    resource: Object
    way: tuple[str | int, ...] = ()
    inside_metadata: bool = False
    minor: int = releases.NEWEST.minor


def validate(schema: Object, path: str, minor: int) -> list[FieldError]:
    """Return all errors of the defaults of a structural schema in a minor."""
    root = schema if schema.get(EMBEDDED) else {**schema, EMBEDDED: True}
    return list(_node(root, path, _Position(root, minor=minor)))


def default_errors(node: Object, minor: int) -> list[FieldError]:
    """Return all errors of the defaults of a node and the nodes below it, with paths from the
    node."""
    return list(_node(node, "", _Position(node, minor=minor)))


def has_any(schema: Object) -> bool:
    """Return whether the schema or one below it has a default."""
    if "default" in schema:
        return True
    below = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("not")]
    below.append(schema.get("additionalProperties"))
    for key in ("allOf", "anyOf", "oneOf"):
        below += schema.get(key, ())
    return any(isinstance(node, dict) and has_any(node) for node in below)


def _node(node: Object, path: str, position: _Position) -> Iterator[FieldError]:
    """Yield the errors of a node and its children.

    Additional properties are not visited, because other checks forbid defaults in them.
    """
    is_embedded = node.get(EMBEDDED, False)
    if is_embedded:
        position = _Position(node, minor=position.minor)
    if "default" in node and not _is_plain(node):
        check = _inside_metadata if position.inside_metadata else _value
        yield from check(node, f"{path}.default", position)
    items = node.get("items")
    if items is not None and not _BELOW_NOTHING(items):
        below = replace(position, way=(*position.way, 0))
        yield from _node(items, f"{path}.items", below)
    for name, child in node.get("properties", {}).items():
        if _BELOW_NOTHING(child) or _is_leaf(child):
            continue
        below = _Position(
            position.resource,
            (*position.way, name),
            position.inside_metadata or (is_embedded and name in _META_FIELDS),
            position.minor,
        )
        yield from _node(child, f"{path}.properties[{name}]", below)


_BELOW_NOTHING = frozenset(_BELOW).isdisjoint


def _is_leaf(node: Object) -> bool:
    """Return whether no default is below a node, and its own is plain, as for most nodes."""
    if "properties" in node or ("default" in node and not _is_plain(node)):
        return False
    items = node.get("items")
    return items is None or _BELOW_NOTHING(items)


def _is_plain(node: Object) -> bool:
    """Return whether the default is a scalar that fits a schema with only a type and limits, as for
    most defaults."""
    value = node["default"]
    if _TYPES.get(node.get("type", "")) is not type(value) or not node.keys() <= _PLAIN:
        return False
    if type(value) is str:
        size = len(value)
        fits = node.get("minLength", 0) <= size <= node.get("maxLength", size)
        return fits and ("enum" not in node or value in node["enum"])
    return "enum" not in node and (
        type(value) is bool
        or (
            -_INT64 <= node["default"] < _INT64
            and node.get("minimum", value) <= value <= node.get("maximum", value)
        )
    )


def _value(node: Object, path: str, position: _Position) -> Iterator[FieldError]:
    """Yield the errors of a default. A node without errors is checked once for all versions and
    kinds."""
    key = _FINE.key(node, position.minor)
    if _FINE.get(key):
        return
    errors = list(_value_errors(node, path, position.minor))
    if not errors:
        _FINE.put(key, True)
    yield from errors


_FINE: Final[Memo[bool]] = Memo(__name__, "_FINE", 2048)


def _value_errors(node: Object, path: str, minor: int) -> Iterator[FieldError]:
    value = gojson.read_again(node["default"])
    schema = CompiledSchema(node, resource_root=False, minor=minor)
    if isinstance(value, dict | list) and _pruned(node, value) != value:
        yield invalid(path, value, "must not have unknown fields")
    errors = _in_resource(schema, value)
    if errors:
        yield from (_below(error, path) for error in errors)
    else:
        yield from _keywords(schema, value, path, minor)


def _pruned(node: Object, value: Any) -> Any:
    """Return the value without unknown fields; wrapped in an object, because the value can be a
    list."""
    obj = {"value": copy.deepcopy(value)}
    around = {"type": "object", "properties": {"value": node}}
    CompiledSchema(around, resource_root=False).prune(obj)
    return obj["value"]


def _keywords(schema: CompiledSchema, value: Any, path: str, minor: int) -> Iterator[FieldError]:
    judged = schema
    if may_mention(schema.schema, _INT_OR_STRING):
        untyped = _without_int_or_string(dict(schema.schema))
        judged = CompiledSchema(untyped, resource_root=False, minor=minor)
    errors = judged.schema_errors(value)
    if errors:
        yield from (_moved(error, path) for error in errors)
    elif may_mention(schema.schema, rules.KEY):
        yield from cel.run_on_default(dict(schema.schema), value, path, minor)


def _without_int_or_string(node: Object) -> Object:
    """Return the schema that checks a default: upstream's conversion of a structural schema keeps
    x-kubernetes-int-or-string, but gives it no type (Structural.ToKubeOpenAPI)."""
    made = {key: value for key, value in node.items() if key != _INT_OR_STRING}
    if isinstance(node.get("properties"), dict):
        properties = node["properties"].items()
        made["properties"] = {name: _without_int_or_string(child) for name, child in properties}
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            made[key] = _without_int_or_string(node[key])
    return made


def _inside_metadata(node: Object, path: str, position: _Position) -> Iterator[FieldError]:
    """Yield the errors of a default in metadata, checked in a resource with no other members."""
    value: Any = copy.deepcopy(node["default"])
    for step in reversed(position.way):
        value = [value] if step == 0 else {step: value}
    errors = _in_resource(
        CompiledSchema(position.resource, resource_root=False), {**_VALIDATION, **value}
    )
    if errors:
        texts = within_limits(errors)[1]
        joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        yield invalid(path, node["default"], f"must result in valid metadata: {joined}")
        return
    schema = CompiledSchema(node, resource_root=False, minor=position.minor)
    yield from _keywords(schema, node["default"], path, position.minor)


def _in_resource(schema: CompiledSchema, value: Any) -> list[FieldError]:
    """Return the errors of the type and metadata of the resources in a value."""
    try:
        embedded.coerce(schema.node, copy.deepcopy(value), [])
    except DecodeError as refused:
        field, _, detail = refused.text.partition(": Invalid value: ")
        return [FieldError(Type.INVALID, field, detail=detail)]
    return list(embedded.validate(schema.node, value))


def _below(error: FieldError, path: str) -> FieldError:
    """Return an error of a resource in a value, placed in its default. Brackets enclose keys."""
    bracketed = error.field.startswith("[")
    return error._replace(field=f"{path}{error.field}") if bracketed else _moved(error, path)


def _moved(error: FieldError, path: str) -> FieldError:
    """Return an error of a value with the path of its default."""
    if error.field in ("", "<nil>"):
        return error._replace(field=path)
    dot = "" if error.field.startswith(".") else "."
    return error._replace(field=f"{path}{dot}{error.field}")
