"""Errors of CEL rules when a CRD is created."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkube.schemas.cel.rules.validation import run_on_default, validate_rules
from inkube.schemas.fielderrors import invalid

Object = dict[str, Any]
DEAR = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays,"
    " maps, and strings are declared)"
)


def schema(properties: Object, *rules: Object) -> Object:
    """Return a schema whose spec has the properties and rules."""
    spec: Object = {"type": "object", "properties": properties}
    if rules:
        spec["x-kubernetes-validations"] = list(rules)
    return {"type": "object", "properties": {"spec": spec}}


def found(schema: Object, **given: Any) -> list[tuple[str, str]]:
    """Field (below the spec) and message of every error."""
    errors = validate_rules(schema, "at", **given)
    return [(error.field.removeprefix("at.properties[spec]."), error.message()) for error in errors]


NUMBER = {"n": {"type": "integer"}}


@pytest.mark.parametrize(
    ("rule", "field", "detail"),
    [
        ({"rule": "self.n"}, "rule", "cel expression must evaluate to a bool"),
        (
            {"rule": "self.m > 0"},
            "rule",
            "compilation failed: ERROR: <input>:1:5: undefined field 'm'\n | self.m > 0\n | ....^",
        ),
        (
            {"rule": "self.n > 0", "messageExpression": "self.n"},
            "messageExpression",
            "messageExpression must evaluate to a string",
        ),
        (
            {"rule": "self.n > 0", "messageExpression": "self.m"},
            "messageExpression",
            (
                "messageExpression compilation failed: ERROR: <input>:1:5: undefined field 'm'\n"
                " | self.m\n | ....^"
            ),
        ),
    ],
)
def test_what_does_not_compile_is_shown_with_its_rule(
    rule: Object, field: str, detail: str
) -> None:
    shown = (
        '{{"Rule":"{}","Message":"","MessageExpression":"{}","Reason":null,"FieldPath":"",'
        '"OptionalOldSelf":null}}'
    ).format(rule["rule"].replace(">", "\\u003e"), rule.get("messageExpression", ""))
    assert found(schema(NUMBER, rule)) == [
        (f"x-kubernetes-validations[0].{field}", f"Invalid value: {shown}: {detail}")
    ]


def test_fields_of_equal_schemas_have_different_types() -> None:
    part = {"type": "object", "properties": {"x": {"type": "integer"}}}
    (error,) = found(schema({"a": part, "b": part}, {"rule": "self.a == self.b"}))
    assert "found no matching overload for '_==_'" in error[1]


ANYTHING: Object = {"x-kubernetes-preserve-unknown-fields": True}
UNTYPED = [
    {},
    ANYTHING,
    {"nullable": True, **ANYTHING},
    {"type": "array"},
    {"type": "array", "items": ANYTHING},
    {"type": "object", "additionalProperties": {}},
    {"type": "object", "additionalProperties": ANYTHING},
    {"type": "array", "items": {"type": "object", "additionalProperties": ANYTHING}},
]
"""Nodes for which SchemaDeclType of apiserver/pkg/cel/common makes no type."""
TYPED = [
    {"x-kubernetes-int-or-string": True},
    {"type": "object"},
    {"type": "object", **ANYTHING},
    {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}},
    {"type": "array", "items": {"type": "string"}},
    {"type": "object", "properties": {"any": ANYTHING}},
]


@pytest.mark.parametrize("part", UNTYPED)
def test_what_has_no_type_is_out_of_reach(part: Object) -> None:
    (error,) = found(schema({"any": part}, {"rule": "has(self.any)"}))
    assert "undefined field 'any'" in error[1]


@pytest.mark.parametrize("part", UNTYPED)
def test_a_rule_on_a_node_without_a_type_is_an_internal_error(part: Object) -> None:
    assert found(schema({"any": {**part, "x-kubernetes-validations": [{"rule": "true"}]}})) == [
        (
            "properties[any].x-kubernetes-validations",
            (
                "Internal error: internal error: failed to construct type information for"
                " x-kubernetes-validations rules: unable to convert structural schema to CEL"
                " declarations"
            ),
        )
    ]


@pytest.mark.parametrize("part", TYPED)
def test_a_rule_on_a_node_with_a_type_is_compiled(part: Object) -> None:
    assert found(schema({"any": {**part, "x-kubernetes-validations": [{"rule": "true"}]}})) == []
    assert found(schema({"any": part}, {"rule": "has(self.any)"})) == []


def pairs(items: int | None = None, length: int | None = None) -> Object:
    """Return a list with a rule that compares each pair of items."""
    part: Object = {
        "type": "array",
        "items": {"type": "string"},
        "x-kubernetes-validations": [{"rule": "self.all(a, self.exists_one(b, a == b))"}],
    }
    if items is not None:
        part["maxItems"] = items
    if length is not None:
        part["items"]["maxLength"] = length
    return part


def test_bounds_bring_the_estimate_down() -> None:
    rule = "properties[l].x-kubernetes-validations[0].rule"
    over = f"Forbidden: estimated rule cost exceeds budget by factor of more than 100x {DEAR}"
    for part in (pairs(), pairs(64)):
        assert (rule, over) in found(schema({"l": part}))
    assert found(schema({"l": pairs(64, 63)})) == []


def test_the_total_names_the_four_dearest() -> None:
    large, small = pairs(340, 200), pairs(320, 200)
    properties = {**dict.fromkeys("abcd", large), **dict.fromkeys("efghijklmnop", small)}
    errors = found(schema(properties))
    contributed = (
        "Forbidden: contributed to estimated rule cost total exceeding cost limit for entire"
        " OpenAPIv3 schema"
    )
    assert errors[:4] == [
        (f"properties[{name}].x-kubernetes-validations[0].rule", contributed) for name in "abcd"
    ]
    assert errors[4:] == [
        (
            "at",
            (
                "Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3"
                f" schema exceeds budget by factor of 1.420920x {DEAR}"
            ),
        )
    ]


def test_rules_without_bounds_have_an_order() -> None:
    """As upstream, a tenth of an unknown number is less than the number."""
    unknown = {"a": "'a' + string(self)", "b": "('a' + string(self)).upperAscii()"}
    rules = {
        name: {"type": "integer", "x-kubernetes-validations": [{"rule": f"{text} != ''"}]}
        for name, text in unknown.items()
    }
    dearest = [field for field, why in found(schema(rules)) if "contributed" in why]
    assert dearest == [f"properties[{name}].x-kubernetes-validations[0].rule" for name in "ba"]


def test_a_cheap_rule_is_multiplied_by_how_often_it_may_run() -> None:
    word = {
        "type": "string",
        "maxLength": 500,
        "x-kubernetes-validations": [{"rule": "self.matches('^[a-z]+(-[a-z]+)*$')"}],
    }
    errors = found(schema({"m": {"type": "object", "additionalProperties": word}}))
    assert "entire OpenAPIv3 schema exceeds budget by factor of 10.5x" in errors[-1][1]


def test_equal_nodes_have_an_error_at_each_position() -> None:
    broken = {**NUMBER["n"], "x-kubernetes-validations": [{"rule": "self.m"}]}
    fields = [field for field, _ in found(schema({"a": broken, "b": broken}))]
    assert fields == [f"properties[{name}].x-kubernetes-validations[0].rule" for name in "ab"]


def test_an_equal_node_costs_more_where_it_may_occur_more_often() -> None:
    word = {
        "type": "string",
        "maxLength": 500,
        "x-kubernetes-validations": [{"rule": "self.contains('a')"}],
    }
    many = {"type": "array", "items": {"type": "array", "items": word}}
    assert found(schema({"w": word})) == []
    assert found(schema({"w": word, "m": many})) != []


def test_an_accepted_schema_is_not_held_against_its_single_rules() -> None:
    errors = found(schema({"l": pairs(900, 30)}), unchanged=True)
    assert errors == []
    assert found(schema({"l": pairs(900, 30)})) != []


def test_rules_above_other_errors_are_not_compiled() -> None:
    shape = schema(NUMBER, {"rule": "self.gone"})
    below = invalid("at.properties[spec].properties[n].pattern", "(", "no pattern")
    assert found(shape, errors=[below]) == []


def test_old_values_cannot_be_used_where_they_do_not_correlate() -> None:
    rule = {"rule": "self > oldSelf"}
    plain = {
        "type": "array",
        "maxItems": 5,
        "items": {"type": "integer", "x-kubernetes-validations": [rule]},
    }
    assert found(schema({"l": plain})) == [
        (
            "properties[l].items.x-kubernetes-validations[0].rule",
            (
                'Invalid value: "self > oldSelf":'
                " oldSelf cannot be used on the uncorrelatable portion"
                " of the schema within at.properties[spec].properties[l]"
            ),
        )
    ]


@pytest.mark.parametrize("value", [True, False])
def test_optional_old_self_belongs_to_rules_that_use_it(value: bool) -> None:
    rule = {"rule": "self.n > 0", "optionalOldSelf": value}
    assert found(schema(NUMBER, rule)) == [
        (
            "x-kubernetes-validations[0].optionalOldSelf",
            f"Invalid value: {str(value).lower()}: may not be set if oldSelf is not used in rule",
        )
    ]


def test_optional_old_self_of_a_rule_that_does_not_compile_is_refused_too() -> None:
    rule = {"rule": "oldSelf.hasValue() ==", "optionalOldSelf": True}
    fields = [field for field, _ in found(schema(NUMBER, rule))]
    rule_at = "x-kubernetes-validations[0]"
    assert fields == [f"{rule_at}.rule", f"{rule_at}.optionalOldSelf"]


def test_defaults_are_judged_by_the_rules() -> None:
    part = {
        "type": "integer",
        "x-kubernetes-validations": [{"rule": "self > 80", "message": "port is above 80"}],
    }
    errors = run_on_default(part, 80, "at.default")
    assert [error.text() for error in errors] == ["at.default: Invalid value: 80: port is above 80"]


def test_a_constant_that_cannot_be_converted_refuses_the_rule() -> None:
    errors = found(schema(NUMBER, {"rule": "self.n > int('many')"}))
    assert len(errors) == 1
    assert "program instantiation failed" in errors[0][1]


def contained(part: Object, kind: str, most: int) -> Object:
    """Return the schema of a list, map or struct of values of a schema."""
    if kind == "list":
        return {"type": "array", "maxItems": most, "items": part}
    if kind == "map":
        return {"type": "object", "maxProperties": most, "additionalProperties": part}
    return {"type": "object", "properties": {"in": part}}


@settings(max_examples=60)
@given(
    length=st.one_of(st.none(), st.integers(0, 5000)),
    containers=st.lists(
        st.tuples(st.sampled_from(["list", "map", "struct"]), st.sampled_from([1, 100, 10_000])),
        max_size=3,
    ),
    more=st.sampled_from([{}, {"pattern": "^x"}, {"anyOf": [{"type": "integer"}]}]),
    rule=st.sampled_from(["isQuantity(self)", "self == 'x'", "type(self) == string"]),
)
def test_an_int_or_string_costs_as_much_as_a_string_wherever_it_is(
    length: int | None, containers: list[tuple[str, int]], more: Object, rule: str
) -> None:
    """Lists, maps and structs around it multiply the same estimate, with or without maxLength."""
    bound = {} if length is None else {"maxLength": length}
    told = []
    for kind in ({"x-kubernetes-int-or-string": True, **more}, {"type": "string"}):
        part: Object = {**kind, **bound, "x-kubernetes-validations": [{"rule": rule}]}
        for each, most in containers:
            part = contained(part, each, most)
        told.append(found(schema({"q": part})))
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("length", "most"), [(None, 1), (0, 1_000_000), (20, 1_000_000), (4000, 100)]
)
def test_the_longest_text_of_an_int_or_string_bounds_its_number(
    length: int | None, most: int
) -> None:
    bound = {} if length is None else {"maxLength": length}
    rules = {"x-kubernetes-validations": [{"rule": "isQuantity(self)"}]}
    part = {"x-kubernetes-int-or-string": True, **bound, **rules}
    accepted = [
        count
        for count in (1, 100, 10_000, 1_000_000)
        if not found(schema({"q": contained(part, "list", count)}))
    ]
    assert max(accepted) == most
