"""Pruning, nulls and defaults, and the names of pruned fields."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkube.schemas.golang.unmarshal import DecodeError
from inkube.schemas.structural.compiled import CompiledSchema

Schema = dict[str, Any]
INT: Schema = {"type": "integer"}
TEXT: Schema = {"type": "string"}
OPEN: Schema = {"x-kubernetes-preserve-unknown-fields": True}


def settled(spec_schema: Schema, spec: Any) -> tuple[Any, list[str]]:
    schema = CompiledSchema({"type": "object", "properties": {"spec": spec_schema}})
    obj, unknown = {"spec": copy.deepcopy(spec)}, list[str]()
    schema.prune_and_default(obj, unknown)
    return obj.get("spec"), unknown


def fields(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "value", "expected", "unknown"),
    [
        pytest.param(fields(a=INT), {"a": 1, "z": 1}, {"a": 1}, ["spec.z"], id="unknown field"),
        pytest.param(
            {"type": "array", "items": fields(a=INT)},
            [{"a": 1}, {"b": 2}],
            [{"a": 1}, {}],
            ["spec[1].b"],
            id="in a list",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": fields(a=INT)},
            {"k": {"z": 1}},
            {"k": {}},
            ["spec.k.z"],
            id="in a map",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": False},
            {"k": {"z": 1}, "n": None},
            {"k": {}, "n": None},
            ["spec.k.z"],
            id="in a map that allows no keys, which validation refuses",
        ),
        pytest.param(
            {**fields(a=fields(b=INT)), **OPEN},
            {"a": {"b": 1, "c": 1}, "z": {"y": 1}},
            {"a": {"b": 1}, "z": {"y": 1}},
            ["spec.a.c"],
            id="declared fields of an open object are closed",
        ),
        pytest.param(OPEN, [1, {"a": None}], [1, {"a": None}], [], id="anything goes"),
        pytest.param(
            {"type": "array", "items": fields(a=fields(b=INT)), **OPEN},
            [{"x": 1, "a": {"b": 1, "y": 1}}],
            [{"x": 1, "a": {"b": 1}}],
            ["spec[0].a.y"],
            id="items of an open list are open",
        ),
        pytest.param(TEXT, {"a": 1}, {}, ["spec.a"], id="an object where a text belongs"),
        pytest.param(
            {"type": "object", "additionalProperties": True},
            {"k": {"a": 1}, "n": 1},
            {"k": {}, "n": 1},
            ["spec.k.a"],
            id="additionalProperties true keeps scalars only",
        ),
        pytest.param(fields(a=TEXT), {"a": None}, {}, [], id="a null goes"),
        pytest.param(
            fields(a={**TEXT, "nullable": True}), {"a": None}, {"a": None}, [], id="a null stays"
        ),
        pytest.param(
            fields(a={**TEXT, "default": "x"}), {"a": None}, {"a": "x"}, [], id="null to default"
        ),
        pytest.param(
            fields(a={**fields(b={**INT, "default": 1}), "default": {}}),
            {},
            {"a": {"b": 1}},
            [],
            id="defaults within a default",
        ),
        pytest.param(
            {"type": "array", "items": {**INT, "default": 7}}, [1, None], [1, 7], [], id="null item"
        ),
        pytest.param({"type": "array", "items": INT}, [None], [None], [], id="a null item stays"),
        pytest.param(fields(a={**INT, "default": 3}), {"a": 0}, {"a": 0}, [], id="zero is a value"),
    ],
)
def test_a_value_is_settled(schema: Schema, value: Any, expected: Any, unknown: list[str]) -> None:
    assert settled(schema, value) == (expected, unknown)


def test_defaults_are_copied_and_never_shared() -> None:
    schema = fields(a={"type": "array", "items": TEXT, "default": ["x"]})
    first, _ = settled(schema, {})
    first["a"].append("y")

    assert settled(schema, {})[0] == {"a": ["x"]}


def test_unknown_fields_are_named_metadata_first_then_sorted_then_embedded() -> None:
    inner = {"type": "object", "x-kubernetes-embedded-resource": True, **OPEN}
    schema = CompiledSchema(fields(spec=fields(t=inner, a=INT)))
    obj = {
        "apiVersion": "g/v1",
        "kind": "K",
        "zz": 1,
        "metadata": {"name": "n", "mood": "good"},
        "spec": {"t": {"metadata": {"colour": 1}}, "b": 1},
    }
    unknown: list[str] = []

    schema.prune_and_default(obj, unknown)

    assert unknown == ["metadata.mood", "spec.b", "zz", "spec.t.metadata.colour"]
    assert obj["metadata"] == {"name": "n"}


def test_metadata_of_a_wrong_type_is_refused_or_dropped() -> None:
    schema = CompiledSchema({"type": "object"})

    with pytest.raises(DecodeError, match=r"number into Go struct field ObjectMeta\.labels of"):
        schema.prune_and_default({"metadata": {"labels": {"a": 1}}}, None)
    obj = {"metadata": {"name": "n", "labels": {"a": 1}}}
    schema.prune_and_default(obj, None, lenient=True)

    assert obj == {"metadata": {"name": "n"}}


def test_pruning_and_defaulting_can_be_done_separately() -> None:
    schema = CompiledSchema(fields(a={**INT, "default": 1}, b=TEXT), resource_root=False)
    pruned = {"z": 1, "b": None}
    schema.prune(pruned)
    defaulted = {"z": 1, "a": None}
    schema.default(defaulted)

    assert pruned == {"b": None}
    assert defaulted == {"z": 1, "a": 1}


LEAVES = st.sampled_from(
    [INT, TEXT, OPEN, {**INT, "default": 1}, {**TEXT, "nullable": True, "default": "d"}]
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda below: st.one_of(
        st.dictionaries(st.sampled_from("abcd"), below, max_size=3).map(lambda p: fields(**p)),
        below.map(lambda items: {"type": "array", "items": items}),
        below.map(lambda values: {"type": "object", "additionalProperties": values}),
        below.map(lambda schema: {**schema, **OPEN}),
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    st.sampled_from([None, True, 0, 1.5, "x"]),
    lambda below: st.one_of(
        st.lists(below, max_size=3), st.dictionaries(st.sampled_from("abcdxy"), below, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(SCHEMAS, VALUES)
def test_settling_twice_is_settling_once(schema: Schema, value: Any) -> None:
    once, _ = settled(schema, value)
    twice, unknown = settled(schema, once)

    assert (twice, unknown) == (once, [])


@settings(max_examples=100, deadline=None)
@given(SCHEMAS, VALUES)
def test_settling_is_pruning_and_then_defaulting(schema: Schema, value: Any) -> None:
    compiled = CompiledSchema(fields(spec=schema))
    whole, _ = settled(schema, value)
    obj = {"spec": copy.deepcopy(value)}
    compiled.prune(obj)
    compiled.default(obj)
    compiled.prune_and_default(obj, None)

    assert obj.get("spec") == whole
