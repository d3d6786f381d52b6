"""allOf, anyOf, oneOf, not: their own errors have no field, those of the best branch have one."""

from typing import Any

import pytest

from inkube.schemas.structural.compiled import CompiledSchema

Schema = dict[str, Any]
A_OR_B: list[Schema] = [{"required": ["a"]}, {"required": ["b"]}]


def texts(rules: Schema, value: Any) -> list[str]:
    spec = {"type": "object", "properties": {"a": {}, "b": {}, "n": {"type": "integer"}}, **rules}
    schema = CompiledSchema({"type": "object", "properties": {"spec": spec}})
    return [error.text() for error in schema.validate({"spec": value})]


def complaint(text: str) -> str:
    return f'<nil>: Invalid value: "": "spec" {text}'


@pytest.mark.parametrize(
    ("rules", "value", "expected"),
    [
        ({"anyOf": A_OR_B}, {"a": 1, "b": 1}, []),
        ({"oneOf": A_OR_B}, {"b": 1}, []),
        ({"not": {"required": ["a"]}}, {"b": 1}, []),
        (
            {"anyOf": A_OR_B},
            {},
            [complaint("must validate at least one schema (anyOf)"), "spec.a: Required value"],
        ),
        (
            {"oneOf": A_OR_B},
            {},
            [
                complaint("must validate one and only one schema (oneOf). Found none valid"),
                "spec.a: Required value",
            ],
        ),
        (
            {"oneOf": A_OR_B},
            {"a": 1, "b": 1},
            [
                complaint(
                    "must validate one and only one schema (oneOf). Found 2 valid alternatives"
                )
            ],
        ),
        (
            {"allOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"a": 1},
            ["spec.b: Required value", complaint("must validate all the schemas (allOf)")],
        ),
        (
            {"allOf": [{"required": ["a"]}]},
            {},
            [
                "spec.a: Required value",
                complaint("must validate all the schemas (allOf). None validated"),
            ],
        ),
        (
            {"not": {"required": ["a"]}},
            {"a": 1},
            [complaint("must not validate the schema (not)")],
        ),
    ],
)
def test_combinators_report_their_failures(rules: Schema, value: Any, expected: list[str]) -> None:
    assert texts(rules, value) == expected


def test_the_branch_that_passed_most_is_the_one_shown() -> None:
    near = {"required": ["b"], "properties": {"n": {"minimum": 1}}}
    branches = [{"required": ["a"]}, near]

    assert texts({"anyOf": branches}, {"n": 5})[1:] == ["spec.b: Required value"]


def test_the_same_error_of_two_branches_is_reported_once() -> None:
    branch = {"properties": {"n": {"minimum": 3}}}

    found = texts({"allOf": [branch, branch]}, {"n": 1})

    assert [text for text in found if text.startswith("spec.n")] == [
        "spec.n: Invalid value: 1: spec.n in body should be greater than or equal to 3"
    ]


def test_nested_branches_report_errors_of_the_best_branch() -> None:
    rules = {"anyOf": [{"oneOf": A_OR_B}, {"properties": {"n": {"minimum": 9}}, "required": ["n"]}]}

    assert texts(rules, {"n": 10}) == []
    assert texts(rules, {"a": 1}) == []
    assert texts(rules, {"a": 1, "b": 1, "n": 1}) != []
