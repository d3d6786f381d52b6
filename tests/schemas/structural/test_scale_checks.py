"""Custom resources with a scale: required values, and the size of their status."""

import pytest

from inkube.schemas.definitions import Scale
from inkube.schemas.structural import scale
from inkube.schemas.structural.compiled import CompiledSchema

PATHS = Scale(".spec.sails", ".status.sails", ".status.selector")


def texts(errors):
    return [(error.field, error.message()) for error in errors]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({}, None),
        ({"sails": 3}, None),
        ({"sails": -1}, "Invalid value: -1: should be a non-negative integer"),
        ({"sails": 2**31}, f"Invalid value: {2**31}: should be less than or equal to 2147483647"),
        (
            {"sails": "many"},
            (
                "Invalid value: 0: .spec.sails accessor error: many is of the type string, "
                "expected int64"
            ),
        ),
        (
            ["x"],
            (
                "Invalid value: 0: .spec.sails accessor error: [x] is of the type []interface {}, "
                "expected map[string]interface{}"
            ),
        ),
    ],
)
def test_wanted_replicas_are_a_number_from_zero_up(spec, text):
    found = texts(scale.spec({"spec": spec}, PATHS))
    assert found == ([] if text is None else [(".spec.sails", text)])


def test_counted_replicas_and_the_selector_have_their_types():
    found = texts(scale.status({"status": {"sails": 1.5, "selector": 7}}, PATHS))
    assert found == [
        (
            ".status.sails",
            (
                "Invalid value: 0: .status.sails accessor error: 1.5 is of the type float64, "
                "expected int64"
            ),
        ),
        (
            ".status.selector",
            (
                'Invalid value: "": .status.selector accessor error: 7 is of the type int64, '
                "expected string"
            ),
        ),
    ]
    assert scale.status({}, PATHS) == []


def test_a_status_meets_its_own_schema_only():
    schema = CompiledSchema(
        {
            "type": "object",
            "properties": {
                "spec": {"type": "object", "required": ["size"]},
                "status": {
                    "type": "object",
                    "required": ["phase"],
                    "properties": {"ready": {"type": "boolean"}, "phase": {"type": "string"}},
                },
            },
        }
    )
    found = schema.validate_status({"spec": {}, "status": {"ready": "yes"}}, {"spec": {}})
    assert sorted(texts(found)) == [
        ("status.phase", "Required value"),
        (
            "status.ready",
            'Invalid value: "string": ready in body must be of type boolean: "string"',
        ),
    ]
    assert schema.validate_status({"spec": {}}, {"spec": {}}) == []
