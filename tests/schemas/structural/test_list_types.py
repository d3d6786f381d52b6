"""Checks of list types alone find the same errors as a walk over the whole object."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from inkube.schemas.structural import listtypes
from inkube.schemas.structural.nodes import Node

TEXT = {"type": "string"}
ITEM = {"type": "object", "properties": {"k": TEXT, "n": TEXT, "inner": {
    "type": "array", "x-kubernetes-list-type": "set", "items": TEXT}}}  # fmt: skip
LISTS: dict[str, dict[str, Any]] = {
    "plain": {"items": ITEM},
    "atomic": {"x-kubernetes-list-type": "atomic", "items": TEXT},
    "set": {"x-kubernetes-list-type": "set", "items": TEXT},
    "map": {
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": {**ITEM, "properties": {"k": TEXT}},
    },
    "deep": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": ITEM},
    "two": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "n"],
            "items": ITEM},
}  # fmt: skip
FIELDS = {name: {"type": "array", **keywords} for name, keywords in LISTS.items()}
SCHEMA = {
    "type": "object",
    "properties": {**FIELDS, "by": {"type": "object", "additionalProperties": FIELDS["set"]}},
}
SCALARS = st.one_of(st.sampled_from(["a", "b", ""]), st.integers(0, 1), st.booleans(), st.none())
INNER = st.lists(SCALARS, max_size=2)
ITEMS = st.one_of(
    SCALARS,
    st.fixed_dictionaries({}, optional={"k": SCALARS, "n": SCALARS, "inner": INNER}),
    st.lists(SCALARS, max_size=1),
)
VALUES = st.one_of(st.lists(ITEMS, max_size=3), SCALARS)
OBJECTS = st.dictionaries(
    st.sampled_from([*FIELDS, "by", "unknown"]),
    st.one_of(VALUES, st.dictionaries(st.sampled_from("xy"), VALUES, max_size=2)),
    max_size=3,
)
NODE = Node(SCHEMA)


@given(OBJECTS)
def test_nothing_is_overlooked(value: dict[str, Any]):
    walked: list[Any] = []
    listtypes._visit_map(NODE, value, "", walked)
    assert listtypes.validate(NODE, value) == walked


def test_texts_that_differ_are_not_walked_over():
    assert listtypes._is_plain(NODE, {"set": ["a", "b"], "map": [{"k": "a"}, {"k": "b"}]})
    assert not listtypes._is_plain(NODE, {"set": ["a", "a"]})
