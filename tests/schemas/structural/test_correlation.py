"""Which parts of a new object have a counterpart in the old one, and which are unchanged.

The laws compare with a model that gives each part a place: fields and keys of maps by name, items
of map lists by the values of their keys. Parts of sets and of atomic lists have no place.
"""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkube.schemas.structural.correlation import Correlation
from inkube.schemas.structural.nodes import Node

Object = dict[str, Any]
KEYED = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
SCALARS = st.sampled_from([0, 1, 1.0, True, "1", None])


def schemas(below: Any) -> Any:
    lists = below.map(lambda node: {"type": "array", "items": node})
    return st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("object")},
            optional={
                "properties": st.dictionaries(st.sampled_from("kab"), below, max_size=3),
                "x-kubernetes-embedded-resource": st.just(True),
            },
        ),
        (below | st.just(True)).map(lambda node: {"type": "object", "additionalProperties": node}),
        lists,
        lists.map(lambda node: node | {"x-kubernetes-list-type": "set"}),
        lists.map(lambda node: node | {"x-kubernetes-list-type": "atomic"}),
        below.map(
            lambda node: {
                "type": "array",
                "items": {"type": "object", "properties": {"k": {}, "a": node}},
                **KEYED,
            }
        ),
    )


def values(schema: Any) -> Any:
    """Return values of a schema, with and without members that it does not describe. No two items
    of a map list have the same keys."""
    if schema is True or "type" not in schema or schema["type"] == "integer":
        return SCALARS
    if schema["type"] == "array":
        unique_by = key_of if schema.get("x-kubernetes-list-type") == "map" else None
        items = st.lists(values(schema["items"]), max_size=3, unique_by=unique_by)
        return items | st.none()
    own, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    fields = {name: values(own.get(name, others)) for name in "kab"}
    return st.fixed_dictionaries({}, optional=fields)


def key_of(item: Any) -> str:
    """Return the text of the key of an item, or a text that differs for each item without one."""
    key = item.get("k") if isinstance(item, dict) else None
    return f"{id(item)}" if key is None else json.dumps({"k": key})


def described(schema: Object, name: str) -> Any:
    below = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
    return below if isinstance(below, dict) else None


def steps(schema: Object, value: Any) -> Iterator[tuple[str | int, str, Object, Any]]:
    """Yield the segment, the name in places, the schema and the value of each part with a place
    that is directly below."""
    if isinstance(value, dict):
        for name, member in value.items():
            if (below := described(schema, name)) is not None:
                yield name, name, below, member
    elif isinstance(value, list) and schema.get("x-kubernetes-list-type") == "map":
        for index, item in enumerate(value):
            if isinstance(item, dict) and item.get("k") is not None:
                yield index, key_of(item), schema["items"], item


def placed(schema: Object, value: Any, place: tuple[str, ...] = ()) -> Object:
    """Return the parts of a value by their places."""
    parts: Any = {place: value}
    for _, name, below, part in steps(schema, value):
        parts |= placed(below, part, (*place, name))
    return parts


def contents(schema: Object, value: Any) -> Any:
    """Return what two equal values have in common: a part that should have a place but has none is
    equal to nothing."""
    parts = {name: contents(below, part) for _, name, below, part in steps(schema, value)}
    is_map_list = schema.get("x-kubernetes-list-type") == "map"
    if isinstance(value, dict) or (isinstance(value, list) and is_map_list):
        return type(value), parts if len(parts) == len(value) else object()
    return json.dumps(value, sort_keys=True)


def drawn(schema: Object) -> Any:
    return st.tuples(st.just(schema), values(schema), values(schema))


PAIRS = st.recursive(st.just({"type": "integer"}), schemas, max_leaves=5).flatmap(drawn)


def correlated(found: Correlation | None, place: tuple[str, ...] = ()) -> Object:
    """Return the old values of all parts with counterparts by their places."""
    if found is None:
        return {}
    olds: Any = {place: found.old}
    for segment, name, _, part in steps(found.node.raw, found.value):  # type: ignore[arg-type] # a Mapping
        child = found.child(segment)
        assert child is None or child.value is part
        olds |= correlated(child, (*place, name))
    return olds


@settings(deadline=None, max_examples=150)
@given(PAIRS)
def test_parts_at_the_same_place_are_counterparts(pair: tuple[Object, Any, Any]) -> None:
    schema, new, other = pair
    for old in (new, other):
        before, after = placed(schema, old), placed(schema, new)
        expected = {place: before[place] for place in before.keys() & after.keys()}
        assert correlated(Correlation(Node(schema), new, old)) == expected


@settings(deadline=None, max_examples=150)
@given(PAIRS, st.randoms(use_true_random=False))
def test_values_with_the_same_contents_are_equal(
    pair: tuple[Object, Any, Any], random: Any
) -> None:
    schema, new, other = pair
    for old in (copy.deepcopy(new), shuffled(new, random), other):
        is_equal = contents(schema, new) == contents(schema, old)
        assert Correlation(Node(schema), new, old).equal == is_equal


def shuffled(value: Any, random: Any) -> Any:
    """Return a copy with the items of all lists and the members of all maps in another order."""
    if isinstance(value, dict):
        names = random.sample([*value], len(value))
        return {name: shuffled(value[name], random) for name in names}
    if isinstance(value, list):
        return [shuffled(item, random) for item in random.sample(value, len(value))]
    return value


ITEMS = {"type": "object", "properties": {"k": {}, "n": {}, "a": {}}}


@pytest.mark.parametrize(
    ("keys", "new", "old", "found"),
    [
        (["k"], {"k": 1, "a": 0}, [{"k": 1, "a": 1}, {"k": 1, "a": 2}], 0),
        (["k"], {"k": 1}, [{"k": 1.0}, {"k": True}, {"k": "1"}, {"k": 1}], 3),
        (["k"], {"k": [1]}, [{"k": [1]}], None),
        (["k"], {}, [{}], None),
        (["k"], 1, [1], None),
        (["k", "n"], {"k": 1, "n": 2}, [{"k": 1}, {"k": 2, "n": 1}, {"n": 2, "k": 1}], 2),
        (["k", "n"], {"k": 1}, [{"k": 1}], None),
        ([], {"k": 1}, [{"k": 1}], None),
    ],
)
def test_items_are_found_by_scalar_keys(
    keys: list[str], new: Any, old: list[Any], found: int | None
) -> None:
    """The first of several items with the same keys is found: apiserver/pkg/cel/common/
    maplist.go."""
    schema = {"type": "array", "items": ITEMS, **KEYED, "x-kubernetes-list-map-keys": keys}
    child = Correlation(Node(schema), [new], old).child(0)
    assert (child and child.old) is (None if found is None else old[found])
