"""A write changes the set of another manager only where it changes a value.

Random schemas of structs, maps, sets, keyed and atomic lists, with random values: the owner applied
or wrote any of them, empty containers included. Then another manager writes another value.
"""

import json
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from inkube.schemas.ownership import apply as rules
from inkube.schemas.ownership import fieldsets, managedfields
from inkube.schemas.ownership.managedfields import Writer
from inkube.schemas.ownership.typed import TypedSchema

V1 = "example.com/v1"
ABSENT = object()
Value = Any


class Shape(NamedTuple):
    """A schema, its values, and the shapes below it."""

    schema: dict[str, Any]
    values: st.SearchStrategy[Value]
    kind: str
    below: "dict[str, Shape]"


def _scalar() -> Shape:
    return Shape({"type": "integer"}, st.integers(0, 2), "leaf", {})


def _struct(fields: "dict[str, Shape]", *, atomic: bool) -> Shape:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: each.schema for name, each in fields.items()},
    }
    if atomic:
        schema["x-kubernetes-map-type"] = "atomic"
    optional = {name: each.values for name, each in fields.items()}
    values = st.fixed_dictionaries({}, optional=optional)
    return Shape(schema, values, "leaf" if atomic else "map", {} if atomic else fields)


def _entries(item: Shape) -> Shape:
    schema = {"type": "object", "additionalProperties": item.schema}
    values = st.dictionaries(st.sampled_from("xy"), item.values, max_size=2)
    return Shape(schema, values, "map", {"x": item, "y": item})


def _set() -> Shape:
    schema = {
        "type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"},
    }  # fmt: skip
    return Shape(schema, st.lists(st.sampled_from("pq"), unique=True), "set", {})


def _atomic_list(item: Shape) -> Shape:
    schema = {"type": "array", "x-kubernetes-list-type": "atomic", "items": item.schema}
    return Shape(schema, st.lists(item.values, max_size=2), "leaf", {})


def _keyed(fields: "dict[str, Shape]") -> Shape:
    item = _struct(fields, atomic=False)
    item.schema["properties"]["id"] = {"type": "string"}
    schema = {
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
        "items": item.schema,
    }  # fmt: skip
    values = st.dictionaries(st.sampled_from("mn"), item.values, max_size=2).map(
        lambda items: [{"id": key, **each} for key, each in items.items()]
    )
    id_shape = Shape({}, st.nothing(), "leaf", {})
    return Shape(schema, values, "keyed", {**fields, "id": id_shape})


def _fields(shapes: "st.SearchStrategy[Shape]") -> "st.SearchStrategy[dict[str, Shape]]":
    return st.dictionaries(st.sampled_from("abc"), shapes, min_size=1, max_size=3)


SHAPES = st.recursive(
    st.builds(_scalar),
    lambda below: st.one_of(
        st.builds(_struct, _fields(below), atomic=st.booleans()),
        st.builds(_entries, below),
        st.builds(_set),
        st.builds(_atomic_list, below),
        st.builds(_keyed, _fields(below)),
    ),
    max_leaves=8,
)


def _at(value: Value, path: tuple[str, ...]) -> Value:
    """Return the value at a path, ABSENT without one."""
    for element in path:
        kind, text = element[0], element[2:]
        if kind == "f":
            value = value.get(text, ABSENT) if isinstance(value, dict) else ABSENT
        elif kind == "k":
            key = json.loads(text)["id"]
            items = value if isinstance(value, list) else []
            value = next((item for item in items if item["id"] == key), ABSENT)
        else:
            value = json.loads(text) if json.loads(text) in (value or []) else ABSENT
        if value is ABSENT:
            return ABSENT
    return value


def _shape(shape: Shape, path: tuple[str, ...]) -> str:
    """Return what is at a path: a leaf, which is owned as a whole, or a container of owned
    fields."""
    inside_item = False
    for element in path:
        if element[0] == "v":
            return "leaf"
        if element[0] == "k":
            inside_item = True
            continue
        shape, inside_item = shape.below[element[2:]], False
    return "map" if inside_item else shape.kind


def _owned(obj: dict[str, Any], manager: str) -> set[tuple[str, ...]]:
    for entry in obj["metadata"].get("managedFields", ()):
        if entry["manager"] == manager:
            return set(fieldsets.paths(entry["fieldsV1"]))
    return set()


@settings(deadline=None, max_examples=300)
@given(data=st.data(), spec=_fields(SHAPES).map(lambda fields: _struct(fields, atomic=False)))
def test_a_write_changes_the_sets_of_others_only_where_a_value_changes(
    data: st.DataObject, spec: Shape
) -> None:
    typed = TypedSchema({"type": "object", "properties": {"spec": spec.schema}})
    first: dict[str, Any] = {"apiVersion": V1, "kind": "T", "metadata": {"name": "t"}}
    live = {**first, "metadata": {"name": "t"}, "spec": data.draw(spec.values, "created")}
    managedfields.track_update(None, live, typed=typed, writer=Writer("maker", V1))
    patch = {**first, "spec": data.draw(spec.values, "applied")}
    live = rules.apply(live, patch, typed=typed, writer=Writer("owner", V1), force=True)

    new = {**live, "metadata": dict(live["metadata"]), "spec": data.draw(spec.values, "written")}
    managedfields.track_update(live, new, typed=typed, writer=Writer("hand", V1))

    for manager in ("maker", "owner"):
        before, after = _owned(live, manager), _owned(new, manager)
        assert after <= before
        for path in before:
            old_value, new_value = _at(live, path), _at(new, path)
            kind = _shape(spec, path[1:])
            stays = new_value is not ABSENT and (kind != "leaf" or old_value == new_value)
            assert (path in after) is stays, path


@settings(deadline=None, max_examples=100)
@given(data=st.data(), spec=_fields(SHAPES).map(lambda fields: _struct(fields, atomic=False)))
def test_a_write_that_changes_nothing_changes_no_set(data: st.DataObject, spec: Shape) -> None:
    """Also if an owner has an empty struct to which others added fields."""
    typed = TypedSchema({"type": "object", "properties": {"spec": spec.schema}})
    patch = {"apiVersion": V1, "kind": "T", "metadata": {"name": "t"}, "spec": {}}
    live = rules.apply(None, patch, typed=typed, writer=Writer("empty", V1))
    more = {**patch, "spec": data.draw(spec.values)}
    live = rules.apply(live, more, typed=typed, writer=Writer("more", V1), force=True)
    new = {**live, "metadata": {**live["metadata"], "labels": {"a": "b"}}}
    managedfields.track_update(live, new, typed=typed, writer=Writer("hand", V1))
    assert _owned(new, "empty") == _owned(live, "empty") == {("f:spec",)}
    assert _owned(new, "more") == _owned(live, "more")
