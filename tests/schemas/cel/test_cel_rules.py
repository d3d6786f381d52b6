"""x-kubernetes-validations on objects: messages, reasons, transitions, ratcheting, budgets."""

from typing import Any

import pytest

from inkube.schemas.cel.declarations.escaping import escape
from inkube.schemas.cel.rules.evaluation import NOT_CHECKED, RuleSet
from inkube.schemas.fielderrors import required

Object = dict[str, Any]


def schema(properties: Object | None = None, *rules: Object, **more: Any) -> Object:
    """Return a resource's schema whose spec has the properties and rules."""
    spec = {"type": "object", "properties": properties or {}, **more}
    if rules:
        spec["x-kubernetes-validations"] = list(rules)
    return {"type": "object", "properties": {"spec": spec}}


def texts(schema: Object, spec: Any, old: Any = None) -> list[str]:
    """Return the messages of the rules for an object with that spec."""
    before = None if old is None else {"spec": old}
    return [error.text() for error in RuleSet(schema).validate({"spec": spec}, before)[0]]


NUMBER = {"n": {"type": "integer"}}


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ({"rule": "self.n > 3"}, "spec: Invalid value: failed rule: self.n > 3"),
        ({"rule": "self.n > 3", "message": " big "}, "spec: Invalid value: big"),
        (
            {"rule": "self.n > 3", "messageExpression": "'is %d'.format([self.n])"},
            "spec: Invalid value: is 1",
        ),
        (
            {"rule": "self.n > 3", "message": "m", "messageExpression": "self.n > 0 ? '' : 'x'"},
            "spec: Invalid value: m",
        ),
        (
            {"rule": "self.n > 3", "message": "m", "messageExpression": "'a\\nb'"},
            "spec: Invalid value: m",
        ),
        (
            {"rule": "self.n > 3", "message": "m", "messageExpression": "string(1 / (self.n - 1))"},
            "spec: Invalid value: m",
        ),
        (
            {"rule": "self.n > 3", "message": "m", "reason": "FieldValueForbidden"},
            "spec: Forbidden: m",
        ),
        (
            {"rule": "self.n > 3", "message": "m", "reason": "FieldValueRequired"},
            "spec: Required value: m",
        ),
        ({"rule": "self.n > 3", "reason": "FieldValueDuplicate"}, "spec: Duplicate value"),
        ({"rule": "self.n > 3", "reason": "Odd", "message": "m"}, "spec: Invalid value: m"),
        (
            {"rule": "self.n > 3", "message": "m", "fieldPath": ".n"},
            "spec.n: Invalid value: m",
        ),
        (
            {"rule": "1 / (self.n - 1) > 0", "message": "m"},
            'spec: Invalid value: "object": division by zero evaluating rule: m',
        ),
    ],
)
def test_a_failing_rule_has_its_message(rule: Object, text: str) -> None:
    assert texts(schema(NUMBER, rule), {"n": 1}) == [text]


def test_scalars_are_shown_and_containers_are_not() -> None:
    rule = {"rule": "false", "message": "m"}
    number = {"type": "integer", "x-kubernetes-validations": [rule]}
    many = {"type": "array", "items": {"type": "string"}, "x-kubernetes-validations": [rule]}
    found = texts(schema({"n": number, "l": many}), {"n": 1, "l": []})
    assert found == ["spec.n: Invalid value: 1: m", "spec.l: Invalid value: m"]


def test_rules_of_items_and_map_values_name_their_place() -> None:
    positive = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}
    properties = {
        "l": {"type": "array", "items": positive},
        "m": {"type": "object", "additionalProperties": positive},
    }
    found = texts(schema(properties), {"l": [1, 0], "m": {"a.b": 0}})
    assert found == [
        "spec.l[1]: Invalid value: 0: failed rule: self > 0",
        "spec.m[a.b]: Invalid value: 0: failed rule: self > 0",
    ]


def test_rules_of_the_root_have_no_path() -> None:
    root = {**schema(NUMBER), "x-kubernetes-validations": [
        {"rule": "self.metadata.name == self.kind", "message": "m"}
    ]}  # fmt: skip
    obj = {"kind": "K", "metadata": {"name": "n"}, "spec": {}}
    assert [error.text() for error in RuleSet(root).validate(obj)[0]] == ["<nil>: Invalid value: m"]


def test_null_is_absent_and_its_own_rules_do_not_run() -> None:
    nullable = {
        "type": "string",
        "nullable": True,
        "x-kubernetes-validations": [{"rule": "self != 'x'", "message": "m"}],
    }
    rule = {"rule": "has(self.a)", "message": "wanted"}
    assert texts(schema({"a": nullable}, rule), {"a": None}) == ["spec: Invalid value: wanted"]
    assert texts(schema({"a": nullable}, rule), {"a": "x"}) == ['spec.a: Invalid value: "x": m']


TYPED = {
    "when": ({"type": "string", "format": "date-time"}, "2024-05-06T07:08:09Z"),
    "day": ({"type": "string", "format": "date"}, "2024-05-06"),
    "span": ({"type": "string", "format": "duration"}, "2 days"),
    "raw": ({"type": "string", "format": "byte"}, "YWI="),
    "share": ({"type": "number"}, 3),
    "port": ({"x-kubernetes-int-or-string": True}, "5%"),
    "x-prop": ({"type": "integer"}, 4),
    "namespace": ({"type": "string"}, "ns"),
    "times": ({"type": "array", "items": {"type": "string", "format": "date"}}, ["2024-05-06"]),
}


@pytest.mark.parametrize(
    "rule",
    [
        "self.when.getHours() == 7 && self.when < timestamp('2025-01-01T00:00:00Z')",
        "self.day == timestamp('2024-05-06T00:00:00Z')",
        "self.span == duration('48h')",
        "self.raw == b'ab'",
        "type(self.share) == double && self.share / 2.0 == 1.5",
        "type(self.port) == string && self.port.endsWith('%')",
        "self.x__dash__prop == 4",
        "self.namespace == 'ns' && self.__namespace__ == 'ns'",
        "self.times.all(t, t.getMonth() == 4) && self.times[0] == self.day",
        "[self.day] == self.times && self.day in self.times",
        "self == oldSelf",
    ],
)
def test_values_have_the_type_their_schema_gives_them(rule: str) -> None:
    properties = {name: part for name, (part, _) in TYPED.items()}
    values = {name: value for name, (_, value) in TYPED.items()}
    assert texts(schema(properties, {"rule": rule}), values, values) == []


@pytest.mark.parametrize(
    ("format", "value", "rule", "text"),
    [
        ("date-time", "2024-05-06T07:08:09,5Z", "self.a.getHours() == 7", None),
        (
            "date-time", "2024-05-06t07:08:09z", "self.a.getHours() == 7",
            (
                "Invalid date-time formatted string 2024-05-06t07:08:09z: parsing time "
                '"2024-05-06t07:08:09z" as "2006-01-02T15:04:05": cannot parse "t07:08:09z" as "T"'
            ),
        ),
        (
            "date-time", "2024-05-06T07:08:09z", "self.a.getHours() == 7",
            (
                "Invalid date-time formatted string 2024-05-06T07:08:09z: parsing time "
                '"2024-05-06T07:08:09z": extra text: "z"'
            ),
        ),
        ("date-time", "2024-05-06T07:08:09+02:00", "string(self.a) == '2024-05-06T07:08:09+02:00'",
         None),
        (
            "byte", "/w==", "self.a == b'a'",
            "Invalid byte formatted string /w==: illegal base64 data at input byte 0",
        ),
        (
            "byte", "YWJj+/==", "size(self.a) > 0",
            "Invalid byte formatted string YWJj+/==: illegal base64 data at input byte 4",
        ),
    ],
)  # fmt: skip
def test_a_value_that_its_format_allows_can_be_an_error_in_rules(
    format: str, value: str, rule: str, text: str | None
) -> None:
    """As in kube-apiserver, where schemas and rules read formats with different parsers."""
    found = texts(schema({"a": {"type": "string", "format": format}}, {"rule": rule}), {"a": value})
    wanted = f'spec: Invalid value: "object": {text} evaluating rule: {rule}'
    assert found == ([] if text is None else [wanted])


@pytest.mark.parametrize(
    "rule",
    [
        "self.?b.orValue('') == 'x'",
        "self.?o.?n.orValue(0) == 1",
        "self.?missing.hasValue() == false",
        "has(self.?o.n)",
        "self.m.all(k, k == 'k')",
        "dyn(self).b == 'x'",
        "[self].exists(x, x.b == 'x')",
        "self.l.map(x, x).size() == 1",
        "self.l[?0].?n.orValue(0) == 1",
    ],
)
def test_a_value_with_a_wrong_format_is_an_error_only_where_a_rule_reads_it(rule: str) -> None:
    raw, whole = {"type": "string", "format": "byte"}, "/w=="
    inner = {"type": "object", "properties": {"raw": raw, "n": {"type": "integer"}}}
    properties = {
        "raw": raw,
        "o": inner,
        "l": {"type": "array", "items": inner},
        "m": {"type": "object", "additionalProperties": raw},
        "b": {"type": "string"},
        "missing": {"type": "string"},
    }
    value: Object = {"raw": whole, "b": "x", "m": {"k": whole}}
    value |= {"o": {"raw": whole, "n": 1}, "l": [{"raw": whole, "n": 1}]}
    assert texts(schema(properties, {"rule": rule}), value) == []


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("key", ["plain", "in", "a-b", "a.b", "a/b", "a__b"])
def test_a_missing_member_has_the_name_by_which_the_rule_reads_it(key: str, nullable: bool) -> None:
    name = escape(key)
    member = {"type": "integer", "nullable": nullable}
    [text] = texts(schema({key: member}, {"rule": f"self.{name} % 2 == 0"}), {})
    assert f"no such key: {name} evaluating rule" in text


def test_sets_and_keyed_lists_compare_and_add_by_their_kind() -> None:
    keyed = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "items": {
            "type": "object",
            "properties": {"k": {"type": "string"}, "v": {"type": "integer"}},
        },
    }
    members = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}}
    rules = [
        {"rule": "self.s == oldSelf.s && self.k == oldSelf.k && self == oldSelf"},
        {"rule": "(self.s + [2, 3]).size() == 3 && [1, 2] != [2, 1]"},
        {"rule": "(self.k + oldSelf.k).size() == 2"},
    ]
    new = {"s": [1, 2], "k": [{"k": "a", "v": 1}, {"k": "b", "v": 2}]}
    old = {"s": [2, 1], "k": [{"k": "b", "v": 2}, {"k": "a", "v": 1}]}
    assert texts(schema({"s": members, "k": keyed}, *rules), new, old) == []


def test_transition_rules_run_where_there_is_an_old_value() -> None:
    grows = {
        "type": "integer",
        "x-kubernetes-validations": [{"rule": "self > oldSelf", "message": "m"}],
    }
    shape = schema({"n": grows})
    assert texts(shape, {"n": 1}) == []
    assert texts(shape, {"n": 1}, {}) == []
    assert texts(shape, {"n": 1}, {"n": 1}) == ["spec.n: Invalid value: 1: m"]


def test_an_optional_old_value_is_seen_on_creation_too() -> None:
    rule = {"rule": "oldSelf.hasValue() || self == 1", "message": "m", "optionalOldSelf": True}
    shape = schema({"n": {"type": "integer", "x-kubernetes-validations": [rule]}})
    assert texts(shape, {"n": 2}) == ["spec.n: Invalid value: 2: m"]
    assert texts(shape, {"n": 2}, {"n": 3}) == []


def test_an_optional_old_value_has_the_types_of_the_schema() -> None:
    rule = {"rule": "oldSelf.orValue(self) == self", "message": "m", "optionalOldSelf": True}
    date = {"type": "string", "format": "date-time"}
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    part = {"type": "object", "properties": {"d": date, "f": free}}
    shape = schema({"p": {**part, "x-kubernetes-validations": [rule]}})
    value = {"p": {"d": "2020-01-01T00:00:00Z", "f": {"z": 1}}}
    assert texts(shape, value, value) == []
    assert len(texts(shape, value, {"p": {"f": {"z": 2}}})) == 1


def test_items_of_keyed_lists_correlate_and_others_do_not() -> None:
    item = {
        "type": "object",
        "properties": {
            "k": {"type": "string"},
            "v": {
                "type": "integer",
                "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "m"}],
            },
        },
    }
    keyed = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
    }
    old = {"l": [{"k": "a", "v": 5}, {"k": "b", "v": 1}]}
    new = {"l": [{"k": "b", "v": 1}, {"k": "a", "v": 4}]}
    assert texts(schema({"l": keyed}), new, old) == ["spec.l[1].v: Invalid value: 4: m"]
    assert texts(schema({"l": {"type": "array", "items": item}}), new, old) == []


def test_failures_of_what_did_not_change_are_warnings() -> None:
    small = {
        "type": "integer",
        "x-kubernetes-validations": [{"rule": "self < 5", "message": "m"}],
    }
    rules = RuleSet(schema({"n": small, "o": {"type": "string"}}))
    old = {"spec": {"n": 9, "o": "a"}}
    assert rules.validate({"spec": {"n": 9, "o": "b"}}, old) == (
        [],
        ["spec.n: Invalid value: 9: m"],
    )
    errors, warnings = rules.validate({"spec": {"n": 8, "o": "b"}}, old)
    assert ([error.text() for error in errors], warnings) == (["spec.n: Invalid value: 8: m"], [])


def test_failures_at_the_type_of_an_object_are_errors() -> None:
    """Both objects were converted to one version, so their types say nothing of a change."""
    small = {"type": "string", "x-kubernetes-validations": [{"rule": "self < 'A'", "message": "m"}]}
    typed = {"type": "object", "properties": {"kind": small}}
    errors, warnings = RuleSet(typed).validate({"kind": "B"}, {"kind": "B"})
    assert ([error.text() for error in errors], warnings) == (['kind: Invalid value: "B": m'], [])
    below = {"type": "object", "properties": {"spec": typed}}
    obj = {"spec": {"kind": "B"}}
    assert RuleSet(below).validate(obj, obj) == ([], ['spec.kind: Invalid value: "B": m'])


def test_an_unchanged_object_with_a_member_without_a_schema_has_changed() -> None:
    for embedded in (True, False):
        rule = {"x-kubernetes-validations": [{"rule": "false", "message": "m"}]}
        free = {"x-kubernetes-preserve-unknown-fields": True, **rule}
        if embedded:
            free["x-kubernetes-embedded-resource"] = True
        rules = RuleSet(schema({"e": {"type": "object", **free}, "n": {"type": "integer"}}))
        for value, is_warning in (({"apiVersion": "v1", "kind": "K"}, False), ({}, True)):
            old, new = ({"spec": {"e": value, "n": n}} for n in (1, 2))
            errors, warnings = rules.validate(new, old)
            assert (errors == [], warnings != []) == (is_warning, is_warning), value


def test_rules_do_not_run_behind_errors_that_hide_values() -> None:
    rules = RuleSet(schema(NUMBER, {"rule": "self.n > 0"}))
    assert rules.judge([required("spec.n")], {"spec": {}}) == ([NOT_CHECKED], [])
    assert RuleSet(schema(NUMBER)).judge([required("spec.n")], {"spec": {}}) == ([], [])


def test_a_rule_over_the_limit_ends_the_validation() -> None:
    costly = "self.l.all(a, self.l.all(b, self.l.all(c, self.l.all(d, a + b + c + d >= 0))))"
    properties = {"l": {"type": "array", "items": {"type": "integer"}}}
    shape = schema(properties, {"rule": costly, "message": "m"}, {"rule": "false"})
    assert texts(shape, {"l": list(range(40))}) == [
        (
            "spec: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no"
            " further validation rules will be run due to call cost exceeds limit for rule: m"
        )
    ]


def test_the_budget_of_an_object_ends_the_validation() -> None:
    item = {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= 0"}]}
    rules = RuleSet(schema({"l": {"type": "array", "items": item}}))
    errors, _ = rules.validate({"spec": {"l": [1] * 100}}, budget=20)
    assert [error.text() for error in errors] == [
        (
            'spec.l[10]: Invalid value: "integer": validation failed due to running out of cost'
            " budget, no further validation rules will be run"
        )
    ]


def test_embedded_resources_have_names_of_their_own() -> None:
    inner = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
        "x-kubernetes-validations": [{"rule": "self.metadata.name == 'a'", "message": "m"}],
    }
    shape = schema({"i": inner})
    assert texts(shape, {"i": {"kind": "K", "metadata": {"name": "b"}}}) == [
        "spec.i: Invalid value: m"
    ]


def test_a_schema_without_rules_is_false() -> None:
    assert not RuleSet(schema(NUMBER))
    assert RuleSet(schema(NUMBER, {"rule": "true"}))


def test_rules_of_items_of_what_is_no_array_have_no_type() -> None:
    """Follows TestCustomResourceValidatorsWithSchemaConversion: a list that was stored before."""
    number = {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 9"}]}
    inner = {"type": "array", "items": number}
    wrong = schema({"l": {"type": "object", "items": number}})
    text = 'Invalid value: "integer": rule compiler initialization error: failed to convert to'
    text += " declType for CEL validation rules"
    assert texts(wrong, {"l": [1]}) == [f"spec.l[0]: {text}"]
    assert texts(wrong, {"l": [1]}, {"l": [1]}) == [f"spec.l[0]: {text}"]
    assert texts(wrong, {"l": {}}) == []
    nested = schema({"l": {"type": "object", "items": inner}})
    assert texts(nested, {"l": [[1]]}) == [f"spec.l[0][0]: {text}"]
    right = schema({"l": {"type": "array", "items": number}})
    assert texts(right, {"l": [9]}) == ["spec.l[0]: Invalid value: 9: failed rule: self < 9"]


READS = {
    "string": [
        'self.a != "x"', 'self.a == "x"', "self.a.size() > 1", "size(self.a) > 1", 'self.a > "x"',
        'self.a in ["x"]', 'self.a + "x" == ""', 'self.a.startsWith("x")',
        '[self.a].exists(each, each == "x")', 'self.a.matches("x")', "int(self.a) == 1",
    ],
    "integer": ["self.a != 1", "self.a > 1", "self.a + 1 == 2", "string(self.a) == ''"],
    "boolean": ["self.a", "!self.a", "self.a ? true : true", "self.a && true", "self.a == true"],
}  # fmt: skip


@pytest.mark.parametrize("value", [{"b": 1}, {}, [1], [], 1.5])
@pytest.mark.parametrize("kind", READS)
def test_uses_of_values_of_other_types_are_errors(kind: str, value: Any) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": kind}},
        "x-kubernetes-validations": [
            *({"rule": rule} for rule in READS[kind]),
            {"rule": "true || self.a == self.a"},
            {"rule": "oldSelf == self"},
        ],
    }
    errors, _ = RuleSet(schema).validate({"a": value}, is_checked=False)
    assert len(errors) == len(READS[kind])
    for rule, error in zip(READS[kind], errors, strict=True):
        assert error.detail.startswith("invalid data, expected "), rule
        assert error.detail.endswith(f" evaluating rule: {rule}")
    errors, _ = RuleSet(schema).validate([value], is_checked=False)
    assert len(errors) == len(READS[kind]) + 1, "a transition rule needs an old value"
