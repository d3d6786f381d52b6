"""Whatever an expression does wrong when it runs is an error of CEL, wherever it is used.

A message falls back to its plain text, a policy and a match condition fail as failurePolicy says,
an audit annotation is left out or denies. No failure is an exception of Python. cel-go recovers
from a panic of a function in the same way (cel/program.go `Eval`: "internal error: …").

INKUBE_CEL_FUZZ sets the number of expressions in each test (default 150).
"""

import contextlib
import os
import random
from typing import Any

import orjson
import pytest

from inkube.schemas import cel
from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.environment import Environment
from inkube.schemas.cel.declarations.functions import Overload
from inkube.schemas.cel.declarations.types import Shape
from inkube.schemas.cel.rules.evaluation import RuleSet
from inkube.schemas.cel.running.libraries import FUNCTIONS
from inkube.schemas.cel.running.program import Program, checked
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.ownership import TypedSchema
from inkube.schemas.policies.expressions import ExpressionError
from inkube.schemas.policies.mutating import MutatingPolicy
from inkube.schemas.policies.validating import CompiledPolicy, Denial

EXAMPLES = int(os.environ.get("INKUBE_CEL_FUZZ", "150"))
PART = {
    "type": "object",
    "properties": {
        "i": {"type": "integer"},
        "n": {"type": "number"},
        "s": {"type": "string"},
        "t": {"type": "string", "format": "date-time"},
        "l": {"type": "array", "items": {"type": "string"}},
        "k": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "m": {"type": "object", "additionalProperties": {"type": "integer"}},
        "x": {"x-kubernetes-int-or-string": True},
    },
}
VALUES: list[Any] = [
    {},
    {"i": 1, "n": 1, "s": "a", "t": "2024-01-01T00:00:00Z", "l": ["a"], "m": {"a": 1}, "x": "a"},
    {"i": -(2**63), "n": 1e308, "s": "", "l": [], "k": ["a", "b"], "m": {}, "x": 2**31},
    {"s": "\ud800", "l": ["\udfff"], "m": {"\ud800": 1}},
]
LEAVES = [
    "self.i", "self.n", "self.s", "self.t", "self.l", "self.k", "self.m", "self.x", "self",
    "oldSelf.i", "oldSelf.s", "oldSelf.l", "oldSelf.k", "oldSelf.m", "oldSelf", "1", "-1", "'a'",
    "''", "0u", "1.5", "[1]", "['a']", "{'a': 1}", "b'a'", "dyn(1)", "dyn('a')", "dyn([])", "null",
    "duration('1h')", "timestamp(0)", "optional.none()", "self.?s", "true",
]  # fmt: skip
OPERATORS = ["+", "-", "*", "/", "%", "==", "!=", "<", "in", "&&"]
CALLS = sorted({name for name in FUNCTIONS if name[0].isalpha()})


def any_expression(source: random.Random, depth: int = 3) -> str:
    """Return an expression that may or may not have a type."""
    if depth == 0 or source.random() < 0.2:
        return source.choice(LEAVES)
    parts = [any_expression(source, depth - 1) for _ in range(source.randint(1, 3))]
    match source.randrange(6):
        case 0:
            return f"({source.choice(OPERATORS).join([f' {part} ' for part in parts])})"
        case 1:
            return f"{parts[0]}[{parts[-1]}]"
        case 2:
            return f"({parts[0]} == {parts[-1]} ? {parts[0]} : {parts[-1]})"
        case 3:
            macro = source.choice(["map", "filter", "all", "exists_one"])
            return f"{parts[0]}.{macro}(e, {source.choice(['e', 'true', 'e == e', parts[-1]])})"
    name = source.choice(CALLS)
    if "." in name or source.random() < 0.3:
        return f"{name}({', '.join(parts)})"
    return f"{parts[0]}.{name}({', '.join(parts[1:])})"


def texts(seed: int) -> list[str]:
    """Return expressions of a seed which have a string as their result, if they have a type at
    all."""
    source = random.Random(seed)
    return [f"string({any_expression(source)})", any_expression(source)]


def rules(*specs: dict[str, Any]) -> RuleSet:
    return RuleSet({**PART, "x-kubernetes-validations": list(specs)})


def details(found: list[FieldError]) -> list[str]:
    return [error.detail for error in found]


def check_rule(spec: dict[str, Any]) -> None:
    """Run a rule on every pair of values. Any exception fails the test."""
    ruled = rules(spec)
    for new in VALUES:
        for old in (None, *VALUES):
            found = details(ruled.validate(new, old)[0])
            if any("compile error" in detail for detail in found):
                return
            assert not any("internal error" in detail for detail in found), spec


@pytest.mark.parametrize("rule", ["self.?i.orValue(0) == 12345", "false && self == oldSelf"])
def test_a_message_that_fails_gives_way_to_the_plain_one(rule: str):
    for seed in range(EXAMPLES):
        for text in texts(seed):
            check_rule({"rule": rule, "message": "plain", "messageExpression": text})


def test_a_rule_that_fails_is_an_error_of_its_field():
    for seed in range(EXAMPLES):
        for text in texts(seed):
            check_rule({"rule": f"{text} == 'a'"})


def test_a_message_names_an_old_value_that_is_not_there():
    rule = {"rule": "self.i < 5", "message": "plain", "messageExpression": "oldSelf.s"}
    assert details(rules(rule).validate({"i": 7})[0]) == ["plain"]


def test_a_message_sees_the_old_value_only_beside_a_rule_that_uses_it():
    """`celActivationFactory` in apiextensions-apiserver schema/cel/validation.go."""
    rule = {"rule": "self.i < 5", "message": "plain", "messageExpression": "'was ' + oldSelf.s"}
    assert details(rules(rule).validate({"i": 7}, {"s": "a"})[0]) == ["plain"]
    beside = {"rule": "self.i < 9 || oldSelf.i < 9"}
    assert details(rules(rule, beside).validate({"i": 7}, {"s": "a"})[0]) == ["was a"]


def test_a_message_that_does_not_reach_the_missing_value_is_used():
    text = "self.i > 0 ? 'large' : oldSelf.s"
    rule = {"rule": "self.i < 5", "message": "plain", "messageExpression": text}
    assert details(rules(rule).validate({"i": 7})[0]) == ["large"]


def test_a_broken_function_is_an_internal_error(caplog: pytest.LogCaptureFixture):
    def broken(value: Any) -> Any:
        raise TypeError(f"no {value}")

    function = Overload("broke", "broke_int", (types.INT,), types.BOOL, broken)
    environment = Environment({**FUNCTIONS, "broke": (function,)}, {"self": Shape(types.INT)})
    program = Program(checked("true || broke(self)", environment), environment)
    assert program.evaluate({"self": 1}) is True
    program = Program(checked("broke(self)", environment), environment)
    with pytest.raises(cel.EvalError, match="internal error: TypeError: no 1") as raised:
        program.evaluate({"self": 1})
    cel.log_defect(raised.value, "broke(self)")
    assert "TypeError: no 1" in caplog.text


def policy(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"failurePolicy": "Fail", **spec}}


REQUEST: dict[str, Any] = {
    "operation": "CREATE",
    "name": "a",
    "dryRun": False,
    "userInfo": {"username": "u"},
}


def values(obj: Any, old: Any) -> dict[str, Any]:
    return {
        "object": obj, "oldObject": old, "request": REQUEST, "namespaceObject": None,
        "authorizer": None, "authorizer.requestResource": None, "params": None,
    }  # fmt: skip


def named(text: str) -> str:
    return text.replace("oldSelf", "oldObject").replace("self", "object")


def test_a_policy_answers_with_denials():
    for seed in range(EXAMPLES):
        for text in map(named, texts(seed)):
            for spec in (
                {"validations": [{"expression": f"{text} == 'a'"}]},
                {"validations": [{"expression": "false", "messageExpression": text}]},
                {"matchConditions": [{"name": "m", "expression": f"{text} == 'a'"}]},
                {"auditAnnotations": [{"key": "k", "valueExpression": text}]},
                {
                    "variables": [{"name": "v", "expression": text}],
                    "validations": [{"expression": "variables.v == 'a'"}],
                },
            ):
                check_policy(policy(**spec))


def check_policy(spec: dict[str, Any]) -> None:
    for obj in VALUES:
        for old in (None, VALUES[1]):
            try:
                denials = CompiledPolicy(spec).judge(values(obj, old), lambda key, value: None)
            except ExpressionError:
                return
            assert all(isinstance(denial, Denial) for denial in denials)
            assert not any("internal error" in denial.message for denial in denials), spec


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("timestamp(0)", "1970-01-01T00:00:00Z"),
        ("duration('1h')", "3600s"),
        ("b'a'", "YQ=="),
        ("9007199254740992", "9007199254740992"),
        ("[dyn(1u), dyn(1.0), dyn(optional.of('a'))]", [1, 1, "a"]),
    ],
)
def test_a_patch_contains_plain_json(text: str, value: Any):
    assert patched(text)["x"] == value


@pytest.mark.parametrize("text", ["optional.none()", "{1: 1}", "type(1)", "1.0 / 0.0"])
def test_a_patch_that_is_no_json_fails(text: str):
    with pytest.raises(ValueError, match="could not be converted to JSON"):
        patched(text)


def test_any_patch_is_json_or_an_error():
    for seed in range(EXAMPLES):
        for text in map(named, texts(seed)):
            with contextlib.suppress(ExpressionError, ValueError):
                orjson.dumps(patched(text))


def patched(text: str) -> dict[str, Any]:
    """Return the object after a JSON patch that adds the value of an expression. Raises ValueError
    if the mutation fails."""
    expression = f"[JSONPatch{{op: 'add', path: '/x', value: {text}}}]"
    mutations = [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}]
    schema = TypedSchema({})
    changing = MutatingPolicy(policy(mutations=mutations))
    changed, failures = changing.change(values(VALUES[1], None), schema, lambda obj: obj)
    if failures:
        raise ValueError(failures)
    return changed
