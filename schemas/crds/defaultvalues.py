"""Defaults in a schema must be valid and must not hold fields that would be pruned.

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
from inkube.schemas.fielderrors import FieldError, Type, invalid, told
from inkube.schemas.golang import DecodeError
from inkube.schemas.objects import Object, may_mention
from inkube.schemas.structural import CompiledSchema, embedded

_META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
_VALIDATION = {"apiVersion": "validation/v1", "kind": "Validation"}
_TYPES = {"string": str, "boolean": bool, "integer": int}
_SAYS_NOTHING = frozenset({"type", "default", "description", "title", "nullable", "example"})
_BELOW = ("properties", "items", "default")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the walk is: the resource around it, the way there, and whether that is metadata; and
    the minor whose words and checks these are."""

    resource: Object
    way: tuple[str | int, ...] = ()
    inside_metadata: bool = False
    minor: int = releases.NEWEST.minor


def validate(schema: Object, path: str, minor: int) -> list[FieldError]:
    """Everything wrong with the defaults of a structural schema in a minor."""
    root = schema if schema.get(EMBEDDED) else {**schema, EMBEDDED: True}
    return list(_node(root, path, _Place(root, minor=minor)))


def has_any(schema: Object) -> bool:
    """Whether the schema or one below it has a default."""
    if "default" in schema:
        return True
    below = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("not")]
    below.append(schema.get("additionalProperties"))
    for key in ("allOf", "anyOf", "oneOf"):
        below += schema.get(key, ())
    return any(isinstance(node, dict) and has_any(node) for node in below)


def _node(node: Object, path: str, place: _Place) -> Iterator[FieldError]:
    """Additional properties are not visited: upstream forbids defaults there in other ways."""
    is_embedded = node.get(EMBEDDED, False)
    if is_embedded:
        place = _Place(node, minor=place.minor)
    if "default" in node and not _is_plain(node):
        check = _inside_metadata if place.inside_metadata else _value
        yield from check(node, f"{path}.default", place)
    items = node.get("items")
    if items is not None and not _BELOW_NOTHING(items):
        below = replace(place, way=(*place.way, 0))
        yield from _node(items, f"{path}.items", below)
    for name, child in node.get("properties", {}).items():
        if _BELOW_NOTHING(child):
            continue
        below = _Place(
            place.resource,
            (*place.way, name),
            place.inside_metadata or (is_embedded and name in _META_FIELDS),
            place.minor,
        )
        yield from _node(child, f"{path}.properties[{name}]", below)


_BELOW_NOTHING = frozenset(_BELOW).isdisjoint


def _is_plain(node: Object) -> bool:
    """A scalar default of the only thing its schema says, a type. Most defaults are such."""
    wanted = _TYPES.get(node.get("type", ""))
    return wanted is type(node["default"]) and node.keys() <= _SAYS_NOTHING


def _value(node: Object, path: str, place: _Place) -> Iterator[FieldError]:
    """Nodes whose default is fine are looked at once: other versions and kinds have them too."""
    key = _FINE.key(node, place.minor)
    if _FINE.get(key):
        return
    errors = list(_value_errors(node, path, place.minor))
    if not errors:
        _FINE.put(key, True)
    yield from errors


_FINE: Final[Memo[bool]] = Memo(__name__, "_FINE", 2048)


def _value_errors(node: Object, path: str, minor: int) -> Iterator[FieldError]:
    value = node["default"]
    schema = CompiledSchema(node, resource_root=False, minor=minor)
    if isinstance(value, dict | list) and _pruned(node, value) != value:
        yield invalid(path, value, "must not have unknown fields")
    found = _in_resource(schema, value)
    if found:
        yield from (_moved(error, path) for error in found)
    else:
        yield from _keywords(schema, value, path, minor)


def _pruned(node: Object, value: Any) -> Any:
    """The value without unknown fields; a field of a larger object, for lists are no objects."""
    obj = {"value": copy.deepcopy(value)}
    around = {"type": "object", "properties": {"value": node}}
    CompiledSchema(around, resource_root=False).prune(obj)
    return obj["value"]


def _keywords(schema: CompiledSchema, value: Any, path: str, minor: int) -> Iterator[FieldError]:
    found = schema.schema_errors(value)
    if found:
        yield from (_moved(error, path) for error in found)
    elif may_mention(schema.schema, rules.KEY):
        yield from cel.run_on_default(dict(schema.schema), value, path, minor)


def _inside_metadata(node: Object, path: str, place: _Place) -> Iterator[FieldError]:
    """A default of a resource's metadata is looked at in a resource that has nothing else."""
    value: Any = copy.deepcopy(node["default"])
    for step in reversed(place.way):
        value = [value] if step == 0 else {step: value}
    found = _in_resource(
        CompiledSchema(place.resource, resource_root=False), {**_VALIDATION, **value}
    )
    if found:
        texts = told(found)[1]
        joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        yield invalid(path, node["default"], f"must result in valid metadata: {joined}")
        return
    schema = CompiledSchema(node, resource_root=False, minor=place.minor)
    yield from _keywords(schema, node["default"], path, place.minor)


def _in_resource(schema: CompiledSchema, value: Any) -> list[FieldError]:
    """What is wrong with the type and metadata of the resources in a value."""
    try:
        embedded.coerce(schema.node, copy.deepcopy(value), [])
    except DecodeError as refused:
        field, _, detail = refused.text.partition(": Invalid value: ")
        return [FieldError(Type.INVALID, field, detail=detail)]
    return list(embedded.validate(schema.node, value))


def _moved(error: FieldError, path: str) -> FieldError:
    """The error of a value as one of the default that it is."""
    if error.field in ("", "<nil>"):
        return error._replace(field=path)
    dot = "" if error.field.startswith(".") else "."
    return error._replace(field=f"{path}{dot}{error.field}")
