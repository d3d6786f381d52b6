"""Ratcheting: on update, errors of unchanged values are ignored."""

from typing import Any

import pytest

from inkube.schemas.structural.compiled import CompiledSchema

SHORT = {"type": "string", "maxLength": 3}
PART = {"type": "object", "properties": {"id": {"type": "string"}, "v": SHORT}}
KEYED = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"]}
SCHEMA = CompiledSchema(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["owner"],
                "anyOf": [{"properties": {"a": {"enum": ["ok"]}}}, {"required": ["never"]}],
                "properties": {
                    "owner": {"type": "string"},
                    "a": {"type": "string"},
                    "b": SHORT,
                    "n": {"type": "integer"},
                    "plain": {"type": "array", "items": SHORT},
                    "atomic": {"type": "array", "x-kubernetes-list-type": "atomic", "items": SHORT},
                    "parts": {"type": "array", **KEYED, "items": PART},
                    "by": {"type": "object", "additionalProperties": SHORT},
                    "free": {
                        "type": "object",
                        "additionalProperties": True,
                        "minProperties": 2,
                    },
                    "open": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                        "minProperties": 2,
                    },
                },
            }
        },
    }
)


def fields(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return the fields of the errors of an update; the rest of both objects is valid."""
    fine = {"owner": "me", "a": "ok"}
    errors = SCHEMA.validate({"spec": {**fine, **new}}, {"spec": {**fine, **old}})
    return [error.field for error in errors]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param({"b": "long"}, {"b": "long", "n": 1}, [], id="an untouched field"),
        pytest.param({"b": "long"}, {"b": "longer"}, ["spec.b"], id="one wrong value for another"),
        pytest.param({}, {"b": "long"}, ["spec.b"], id="a new field"),
        pytest.param({"by": {"k": "long"}}, {"by": {"k": "long", "l": "x"}}, [], id="a map key"),
        pytest.param(
            {"by": {"k": "long"}}, {"by": {"l": "long"}}, ["spec.by.l"], id="under another key"
        ),
        pytest.param(
            {"plain": ["long", "x"]},
            {"plain": ["long", "y"]},
            ["spec.plain[0]"],
            id="an item in its place, in a list that changed",
        ),
        pytest.param(
            {"plain": ["long"]}, {"plain": ["long"], "n": 1}, [], id="a list without a type"
        ),
        pytest.param(
            {"plain": ["x", "long"]},
            {"plain": ["long", "x"]},
            ["spec.plain[0]"],
            id="an item that moved",
        ),
        pytest.param(
            {"atomic": ["long", "x"]},
            {"atomic": ["long", "y"]},
            ["spec.atomic[0]"],
            id="an item of an atomic list that changed",
        ),
        pytest.param(
            {"atomic": ["long"]}, {"atomic": ["long"], "n": 1}, [], id="an atomic list that did not"
        ),
        pytest.param(
            {"parts": [{"id": "p", "v": "long"}, {"id": "q"}]},
            {"parts": [{"id": "q"}, {"id": "p", "v": "long"}]},
            [],
            id="an item with a key may move",
        ),
        pytest.param(
            {"parts": [{"id": "p", "v": "long"}]},
            {"parts": [{"id": "r", "v": "long"}]},
            ["spec.parts[0].v"],
            id="an item under a new key",
        ),
        *(
            pytest.param(
                {"parts": [{"id": "p", "v": "long"}, odd]},
                {"parts": [{"id": "p", "v": "long"}, odd], "n": 1},
                wrong,
                id=f"a list with an item without a key has changed: {odd}",
            )
            for odd, wrong in (
                ("text", ["spec.parts[1]"]),
                ({"id": ["x"]}, ["spec.parts[1].id"]),
                ({"id": None, "v": "long"}, ["spec.parts[1].id", "spec.parts[1].v"]),
            )
        ),
        pytest.param({"owner": None}, {"owner": 1, "a": "ok"}, ["spec.owner"], id="a new type"),
        pytest.param(
            {"open": {"x": 1}},
            {"open": {"x": 1}, "n": 1},
            ["spec.open"],
            id="unknown fields count as changed",
        ),
        pytest.param(
            {"free": {"x": 1}},
            {"free": {"x": 1}, "n": 1},
            ["spec.free"],
            id="map values without a schema, too",
        ),
    ],
)
def test_what_did_not_change_is_forgiven(
    old: dict[str, Any], new: dict[str, Any], expected: list[str]
) -> None:
    assert fields(old, new) == expected


def test_required_belongs_to_the_object_that_changed() -> None:
    old = {"spec": {"a": "ok", "n": 1}}

    assert SCHEMA.validate({"spec": {"a": "ok", "n": 1}}, old) == []
    assert [e.field for e in SCHEMA.validate({"spec": {"a": "ok", "n": 2}}, old)] == ["spec.owner"]


def test_a_forgiven_field_makes_its_branch_valid() -> None:
    assert fields({"a": "odd"}, {"a": "odd", "n": 1}) == []
    assert fields({"a": "odd"}, {"a": "even"}) == ["<nil>", "spec.a"]


def test_a_number_written_otherwise_is_a_change() -> None:
    schema = CompiledSchema(
        {"type": "object", "properties": {"n": {"type": "number", "maximum": 1}}}
    )

    assert schema.validate({"n": 2}, {"n": 2}) == []
    assert len(schema.validate({"n": 2.0}, {"n": 2})) == 1
