"""Sets of field paths behave as mathematical sets, and are read and printed as FieldsV1."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkube.schemas.ownership import fieldsets, pathelements

Path = tuple[str, ...]

_ELEMENTS = st.sampled_from(
    ["f:a", "f:b", "f:spec", 'k:{"id":1}', 'k:{"id":12}', 'k:{"id":2}', 'v:"x"', "v:10", "v:9"]
)
_PATHS = st.frozensets(st.lists(_ELEMENTS, min_size=1, max_size=4).map(tuple), max_size=8)


def _set(paths: frozenset[Path]) -> fieldsets.FieldSet:
    return fieldsets.of(*paths)


def _paths(fields: fieldsets.FieldSet) -> set[Path]:
    return set(fieldsets.paths(fields))


@settings(max_examples=150)
@given(_PATHS, _PATHS)
def test_sets_behave_like_sets_of_paths(left: frozenset[Path], right: frozenset[Path]) -> None:
    a, b = _set(left), _set(right)
    assert _paths(a) == left
    assert _paths(fieldsets.union(a, b)) == left | right
    assert _paths(fieldsets.intersection(a, b)) == left & right
    assert _paths(fieldsets.difference(a, b)) == left - right
    below = {p for p in left if any(p[: len(q)] == q for q in right)}
    assert _paths(fieldsets.recursive_difference(a, b)) == left - below
    assert all(fieldsets.has(a, path) == (path in left) for path in left | right)


@settings(max_examples=150)
@given(_PATHS, _PATHS)
def test_equal_sets_are_equal_dicts(left: frozenset[Path], right: frozenset[Path]) -> None:
    both = fieldsets.union(_set(left), _set(right))
    assert both == _set(left | right)
    assert fieldsets.difference(both, _set(right)) == _set(left - right)
    assert fieldsets.intersection(both, _set(left)) == _set(left)


@settings(max_examples=100)
@given(_PATHS)
def test_what_is_written_can_be_read(paths: frozenset[Path]) -> None:
    fields = _set(paths)
    assert fieldsets.parse(fieldsets.ordered(fields)) == fields


@settings(max_examples=100)
@given(_PATHS)
def test_leaves_are_the_members_without_members_below(paths: frozenset[Path]) -> None:
    expected = {p for p in paths if not any(q[: len(p)] == p and q != p for q in paths)}
    assert _paths(fieldsets.leaves(_set(paths))) == expected


def test_numbers_in_keys_and_members_are_ordered_by_value() -> None:
    fields = fieldsets.of(("v:10",), ("v:9",), ('k:{"id":12}',), ('k:{"id":2}',), ("f:z",))
    assert list(fieldsets.ordered(fields)) == ["f:z", 'k:{"id":2}', 'k:{"id":12}', "v:9", "v:10"]


def test_members_come_before_what_lies_below_siblings() -> None:
    fields = fieldsets.of(("f:a", "f:x"), ("f:b",), ("f:c",), ("f:c", "f:y"))
    shown = [fieldsets.show(path) for path in fieldsets.paths(fields)]
    assert shown == [".b", ".c", ".a.x", ".c.y"]


def test_a_member_with_children_carries_a_dot() -> None:
    assert fieldsets.of(("f:a",), ("f:a", "f:b")) == {"f:a": {".": {}, "f:b": {}}}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({'k:{ "b": 1, "a": "x" }': {}}, {'k:{"a":"x","b":1}': {}}),
        ({"v:1.0": {}}, {"v:1": {}}),
        ({"f:a": {".": {}}}, {"f:a": {}}),
        ({"f:a": {".": None, "f:b": {}}}, {"f:a": {".": {}, "f:b": {}}}),
        ({"x:new": {}, "f:a": {}}, {"f:a": {}}),
        ({"f:a": None, "f:b": {"f:c": None}}, {"f:a": {}, "f:b": {"f:c": {}}}),
        (None, {}),
    ],
    ids=[
        "spaces and order in keys",
        "floats",
        "lone dot",
        "dot",
        "unknown kinds",
        "null below",
        "null",
    ],
)
def test_fields_of_clients_become_canonical(written: Any, read: Any) -> None:
    assert fieldsets.parse(written) == read


@pytest.mark.parametrize("broken", [[], {"a": {}}, {"k:[1]": {}}, {"v:{": {}}, {"f:a": 1}])
def test_what_cannot_be_read_is_refused(broken: Any) -> None:
    with pytest.raises(ValueError):
        fieldsets.parse(broken)


@pytest.mark.parametrize(
    ("element", "text"),
    [
        ("f:name", ".name"),
        (pathelements.key(("number", "protocol"), 53, "UDP"), '[number=53,protocol="UDP"]'),
        (pathelements.key(("on",), True), "[on=true]"),
        (pathelements.value('a"b'), '[="a\\"b"]'),
        ("i:3", "[3]"),
    ],
)
def test_elements_print_as_in_messages(element: str, text: str) -> None:
    assert pathelements.show(element) == text


def test_true_and_one_are_different_members() -> None:
    assert pathelements.value(True) == "v:true"
    assert pathelements.value(1) == "v:1"
    assert pathelements.key(("a",), True) != pathelements.key(("a",), 1)
