"""Every keyword's error: type, path and text."""

from typing import Any

import pytest

from inkube.schemas.structural.compiled import CompiledSchema

Schema = dict[str, Any]


def texts(schema: Schema, value: Any) -> list[str]:
    """Return what a schema says of the field `spec`."""
    root = {"type": "object", "properties": {"spec": schema}}
    return [error.text() for error in CompiledSchema(root).validate({"spec": value})]


INT: Schema = {"type": "integer"}
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
IOS: Schema = {"x-kubernetes-int-or-string": True}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        pytest.param(TEXT, "a", id="text"),
        pytest.param(INT, 3.0, id="a whole float is an integer"),
        pytest.param(INT, 1.0000000001, id="as is one within the rounding of swag"),
        pytest.param(NUMBER, 3, id="an integer is a number"),
        pytest.param(IOS, "80%", id="int-or-string text"),
        pytest.param({**TEXT, "nullable": True}, None, id="null where allowed"),
        pytest.param({**TEXT, "maxLength": 2}, "éü", id="characters are counted, not bytes"),
        pytest.param({**INT, "enum": [3]}, 3.7, id="a float is cut before it meets the enum"),
        pytest.param({**TEXT, "pattern": "b"}, "abc", id="patterns are searched for"),
        pytest.param({**TEXT, "format": "no-such"}, "?", id="an unknown format is none"),
        pytest.param({**TEXT, "format": "date-time"}, [], id="a list passes a text's format"),
        pytest.param({**NUMBER, "minimum": 0.5}, 0, id="a bound is cut for integers"),
    ],
)
def test_a_good_value_passes(schema: Schema, value: Any) -> None:
    found = [text for text in texts(schema, value) if "must be of type integer" not in text]
    assert found == []


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (TEXT, 5, 'Invalid value: "integer": spec in body must be of type string: "integer"'),
        (TEXT, None, 'Invalid value: "null": spec in body must be of type string: "null"'),
        (
            IOS,
            1.5,
            'Invalid value: "number": spec in body must be of type integer,string: "number"',
        ),
        (
            {**TEXT, "format": "uuid"},
            7,
            'Invalid value: "int64": spec in body must be of type uuid: "int64"',
        ),
        (
            {**TEXT, "format": "uuid"},
            {},
            'Invalid value: "": spec in body must be of type uuid: ""',
        ),
        (
            {**INT, "maximum": 3},
            4,
            "Invalid value: 4: spec in body should be less than or equal to 3",
        ),
        (
            {**INT, "minimum": 3, "exclusiveMinimum": True},
            3,
            "Invalid value: 3: spec in body should be greater than 3",
        ),
        (
            {**NUMBER, "minimum": -2.5},
            -3,
            "Invalid value: -3: spec in body should be greater than or equal to -2",
        ),
        (
            {**NUMBER, "multipleOf": 0.5},
            0.7,
            "Invalid value: 0.7: spec in body should be a multiple of 0.5",
        ),
        (
            {**NUMBER, "multipleOf": 0.5},
            3,
            "Invalid value: 0: factor MultipleOf declared for spec must be positive: 0",
        ),
        (
            {**NUMBER, "multipleOf": -0.5},
            1.5,
            "Invalid value: -0.5: factor MultipleOf declared for spec must be positive: -0.5",
        ),
        ({**TEXT, "maxLength": 2}, "abc", "Too long: may not be more than 2 bytes"),
        (
            {**TEXT, "minLength": 2, "pattern": "x"},
            "a",
            'Invalid value: "a": spec in body should be at least 2 chars long',
        ),
        (
            {**TEXT, "pattern": "^b$"},
            "b\n",
            "Invalid value: \"b\\n\": spec in body should match '^b$'",
        ),
        ({**INT, "enum": [1, 2]}, 3, 'Unsupported value: 3: supported values: "1", "2"'),
        (
            {**TEXT, "nullable": True, "enum": ["a", None]},
            None,
            'Unsupported value: null: supported values: "a", "null"',
        ),
        (
            {"type": "array", "items": TEXT, "minItems": 2},
            ["a"],
            "Invalid value: 1: spec in body should have at least 2 items",
        ),
        (
            {"type": "array", "items": TEXT, "maxItems": 1},
            ["a", "b"],
            "Too many: 2: must have at most 1 item",
        ),
        (
            {"type": "object", "minProperties": 1},
            {},
            "Invalid value: 0: spec in body should have at least 1 properties",
        ),
    ],
)
def test_a_bad_value_has_its_text(schema: Schema, value: Any, expected: str) -> None:
    assert texts(schema, value) == [f"spec: {expected}"]


def test_paths_name_fields_keys_and_indices() -> None:
    entry = {"type": "object", "required": ["port"], "properties": {"port": INT}}
    schema = {
        "type": "object",
        "properties": {
            "rows": {"type": "array", "items": {"type": "array", "items": entry}},
            "by": {"type": "object", "additionalProperties": entry},
        },
    }
    value = {"rows": [[{"port": 1}, {"port": "x"}]], "by": {"example.com/a": {}}}

    assert [text.split(":")[0] for text in texts(schema, value)] == [
        "spec.rows[0][1].port",
        "spec.by.example.com/a.port",
    ]


def test_a_fraction_in_an_integer_gives_two_errors() -> None:
    assert texts(INT, 1.5) == [
        'spec: Invalid value: "number": spec in body must be of type integer: "number"',
        '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec',
    ]


def test_a_number_beyond_its_format_has_no_field() -> None:
    assert texts({**INT, "format": "int32"}, 2**31) == [
        '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec',
    ]


def test_a_bound_that_its_type_cannot_hold_is_an_error_of_its_own() -> None:
    found = texts({**INT, "minimum": 0.5}, 3)

    assert found == [
        (
            '<nil>: Invalid value: "": '
            "Minimum boundary value must be of type integer (default format) in spec"
        )
    ]


def test_too_few_properties_hide_nothing_of_the_object() -> None:
    schema = {
        "type": "object",
        "minProperties": 3,
        "required": ["b"],
        "properties": {"a": INT, "b": INT, "c": {"type": "string", "maxLength": 1}},
    }

    assert texts(schema, {"a": "x", "c": "long"}) == [
        "spec: Invalid value: 2: spec in body should have at least 3 properties",
        'spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"',
        "spec.c: Too long: may not be more than 1 byte",
        "spec.b: Required value",
    ]


def test_too_many_properties_hide_nothing_of_the_object() -> None:
    schema = {"type": "object", "maxProperties": 1, "additionalProperties": INT}

    found = texts(schema, {"a": "x", "b": 1})
    assert len(found) == 2
    assert "spec: Too many: 2: must have at most 1 item" in found


def test_a_map_that_allows_no_keys_refuses_each() -> None:
    schema = {"type": "object", "additionalProperties": False}

    assert texts(schema, {}) == []
    assert texts({"type": "object", "properties": {"a": schema}}, {"a": {"k": None, "": 1}}) == [
        'spec.a: Invalid value: "k": spec.a.k in body is a forbidden property',
        'spec.a: Invalid value: "": spec.a. in body is a forbidden property',
    ]
    declared = {"type": "object", "properties": {"a": INT}, "allOf": [{"properties": {"a": INT}}]}
    declared["allOf"][0]["additionalProperties"] = False
    assert texts(declared, {"a": 1}) == []
    assert 'spec: Invalid value: "b": spec.b in body is a forbidden property' in texts(
        declared, {"a": 1, "b": 1}
    )


def test_a_wrong_number_of_items_does_not() -> None:
    schema = {"type": "array", "maxItems": 1, "items": INT}

    assert len(texts(schema, ["x", 2])) == 2


def test_all_errors_come_at_once() -> None:
    schema = {
        "type": "object",
        "required": ["c"],
        "properties": {"a": TEXT, "b": {**TEXT, "enum": ["x"], "minLength": 3}},
    }

    assert len(texts(schema, {"a": 1, "b": "y"})) == 4


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (["a", "b", "a", "a"], ['spec[2]: Duplicate value: "a"']),
        ([1, 1.0, True], []),
        ([{"k": [1]}, {"k": [1]}], ['spec[1]: Duplicate value: {"k":[1]}']),
    ],
)
def test_members_of_a_set_stand_once(items: list[Any], expected: list[str]) -> None:
    schema = {
        "type": "array",
        "x-kubernetes-list-type": "set",
        "items": {"x-kubernetes-preserve-unknown-fields": True},
    }

    assert texts(schema, items) == expected


@pytest.mark.parametrize(
    ("keys", "items", "expected"),
    [
        (["a"], [{"a": 1}, {"a": 1, "b": 2}], ['spec[1]: Duplicate value: {"a":1}']),
        (["a"], [{}, {"b": 1}], ["spec[1]: Duplicate value: {}"]),
        (["a", "b"], [{"a": 1, "b": 1}, {"a": 1, "b": 2}], []),
        (["a", "b"], [{"b": 1}, {"b": 1}], ['spec[1]: Duplicate value: {"b":1}']),
    ],
)
def test_keys_of_a_map_list_stand_once(
    keys: list[str], items: list[Any], expected: list[str]
) -> None:
    schema = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": keys,
        "items": {"type": "object", "properties": {"a": INT, "b": INT}},
    }

    assert texts(schema, items) == expected


def test_repetitions_that_were_there_before_are_left_alone() -> None:
    hosts = {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT}
    schema = CompiledSchema({"type": "object", "properties": {"hosts": hosts, "n": INT}})
    old = {"hosts": ["a", "a"], "n": 1}

    assert schema.validate({"hosts": ["b", "b"], "n": 2}, old) == []
    assert len(schema.validate({"hosts": ["b", "b"]}, {"hosts": ["b"]})) == 1
