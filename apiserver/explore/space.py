"""The space of objects: other valid values for one field of an object at a time, as Acto does.

The schema of the kind tells which values a field can have: bounds, choices, items, fields that are
not set. Of a kind without a schema, only the fields that are set change. A server decides by a dry
run which of the candidates are valid, so rules in CEL, webhooks and policies count, too.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import orjson

from inkube.apiserver import manifests
from inkube.apiserver.explore.actions import Action
from inkube.apiserver.server import APIServer
from inkube.schemas.meta import split_api_version
from inkube.schemas.objects import Object
from inkube.schemas.status import StatusError

MAX_DEPTH = 6
"""The depth of fields that are changed."""
MAX_CANDIDATES = 200
"""The most candidates of an object: each is a dry run."""
MAX_CHANGED = 40
"""The most changed objects for each object."""
_NOT_CHANGED = frozenset({"apiVersion", "kind", "metadata", "status"})
_METADATA = ("labels", "annotations")
_ABSENT = object()
_TEXT = "changed"
_FORMATS = {
    "date-time": "2026-01-02T03:04:05Z",
    "date": "2026-01-02",
    "duration": "7m0s",
    "ipv4": "192.0.2.1",
    "uri": "https://example.com/changed",
    "byte": "Y2hhbmdlZA==",
}
Path = tuple[str | int, ...]
Schema = Mapping[str, Any]


class Changed(NamedTuple):
    """An object with another value of one field, and what that is: `spec.sails 3`."""

    title: str
    object: Object


async def of_steps(server: APIServer, steps: Sequence[Action]) -> dict[int, list[list[Changed]]]:
    """Return, for each step that applies objects, the valid changes of each of its objects."""
    return {
        index: [await _valid(server, obj) for obj in step.objects]
        for index, step in enumerate(steps)
        if step.objects
    }


async def _valid(server: APIServer, obj: Object) -> list[Changed]:
    found: list[Changed] = []
    candidates = changes(obj, _schema(server, obj))
    for candidate in itertools.islice(candidates, MAX_CANDIDATES):
        if len(found) == MAX_CHANGED:
            break
        placed = manifests.with_namespace(server.client, candidate.object)
        try:
            await server.client.create(placed, dry_run=True)
        except StatusError:
            continue
        found.append(candidate)
    return found


def _schema(server: APIServer, obj: Object) -> Schema:
    group, version = split_api_version(obj["apiVersion"])
    resource = server.resources.by_kind(group, obj["kind"])
    versions = resource.definition.versions if resource is not None else ()
    return next((each.schema for each in versions if each.name == version), {})


def changes(obj: Object, schema: Schema) -> Iterator[Changed]:
    """Yield candidates: the object with one other value, field by field, in a fixed order."""
    properties = schema.get("properties") or {}
    names = [*(name for name in obj if name not in properties), *properties]
    for name in names:
        if name in _NOT_CHANGED:
            continue
        required = name in (schema.get("required") or ())
        values = _others(obj.get(name, _ABSENT), properties.get(name) or {}, (name,), required)
        for path, value in values:
            yield Changed(_title(path, value), _with(obj, path, value))


def _others(value: Any, schema: Schema, path: Path, required: bool) -> Iterator[tuple[Path, Any]]:
    """Yield paths at or below this one, each with another value, or `_ABSENT`."""
    if len(path) > MAX_DEPTH:
        return
    if value is _ABSENT:
        yield from ((path, each) for each in _examples(schema))
        return
    if isinstance(value, dict):
        yield from _in_object(value, schema, path)
    elif isinstance(value, list):
        yield from _in_list(value, schema, path)
    else:
        yield from ((path, each) for each in _scalars(value, schema))
    if not required:
        yield path, _ABSENT


def _in_object(value: Object, schema: Schema, path: Path) -> Iterator[tuple[Path, Any]]:
    properties = schema.get("properties") or {}
    if path[-1] == "metadata":  # of a template: the other members are not for users
        properties = {name: properties[name] for name in _METADATA if name in properties}
    items = schema.get("additionalProperties")
    for name in [*(name for name in value if name not in properties), *properties]:
        member = properties.get(name) or (items if isinstance(items, dict) else {})
        required = name in (schema.get("required") or ())
        yield from _others(value.get(name, _ABSENT), member, (*path, name), required)
    if isinstance(items, dict) and (example := _example(items)) is not _ABSENT:
        yield (*path, _TEXT), example


def _in_list(value: list[Any], schema: Schema, path: Path) -> Iterator[tuple[Path, Any]]:
    items = schema.get("items") or {}
    if value:
        yield path, value[:-1]
        yield from _others(value[0], items, (*path, 0), required=True)
    if len(value) > 1:
        yield path, value[::-1]
    if (example := _example(items)) is not _ABSENT:
        yield path, [*value, example]


def _scalars(value: Any, schema: Schema) -> Iterator[Any]:
    """Yield at most two other values of the same type."""
    chosen = schema.get("enum")
    if chosen:
        yield from [each for each in chosen if each != value][:2]
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        low, high = schema.get("minimum"), schema.get("maximum")
        near = [value + 1, low, high, value - 1]
        fitting = [each for each in near if each is not None and each != value]
        within = [each for each in fitting if _within(each, low, high)]
        yield from list(dict.fromkeys(within))[:2]
    elif isinstance(value, str):
        example = _FORMATS.get(schema.get("format", ""), f"{value}-{_TEXT}" if value else _TEXT)
        yield from (each for each in (example, "") if each != value)


def _within(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)


def _examples(schema: Schema) -> Iterator[Any]:
    """Yield values for a member that is absent: with what is required, and with one member more."""
    example = _example(schema)
    if example is _ABSENT or example == schema.get("default", _ABSENT):
        return
    yield example
    for name, member in (schema.get("properties") or {}).items() if example == {} else ():
        inner = _example(member)
        if inner is not _ABSENT and inner != member.get("default", _ABSENT):
            yield {name: inner}


def _example(schema: Schema) -> Any:
    """Return a small value that fits a schema, or `_ABSENT` if none is known."""
    if schema.get("enum"):
        return schema["enum"][-1]
    if schema.get("x-kubernetes-int-or-string"):
        return 1
    match schema.get("type"):
        case "boolean":
            return not schema.get("default", False)
        case "integer" | "number":
            low, high = schema.get("minimum"), schema.get("maximum")
            return next((n for n in (2, low, high) if n is not None and _within(n, low, high)), 2)
        case "string":
            return _FORMATS.get(schema.get("format", ""), _TEXT)
        case "array":
            item = _example(schema.get("items") or {})
            return _ABSENT if item is _ABSENT else [item]
        case "object":
            return _example_object(schema)
    return _ABSENT


def _example_object(schema: Schema) -> Any:
    properties = schema.get("properties") or {}
    members = {name: _example(properties.get(name) or {}) for name in schema.get("required") or ()}
    return _ABSENT if _ABSENT in members.values() else members


def _with(obj: Object, path: Path, value: Any) -> Object:
    """Return a copy of the object with another value at a path."""
    copy: Any = deepcopy(obj)
    place = copy
    for part in path[:-1]:
        place = place[part]
    if value is _ABSENT:
        del place[path[-1]]
    else:
        place[path[-1]] = deepcopy(value)
    return dict(copy)


def _title(path: Path, value: Any, longest: int = 40) -> str:
    place = ".".join(map(str, path))
    if value is _ABSENT:
        return f"{place} removed"
    text = orjson.dumps(value).decode()
    return f"{place} {text if len(text) <= longest else f'{text[:longest]}…'}"
