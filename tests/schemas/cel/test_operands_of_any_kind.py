"""Operators and functions with operands that are `dyn`, of every kind: what kube-apiserver 1.36.2
answered.

`test_operands_of_any_kind.json` has the kinds, the answers, and for each form of an expression the
answer to each kind, or to each pair of kinds (first the left one). An answer is `true`, `false`,
the text of an error, or `refused: ` and why the rule could not be prepared. Pairs that the server
did not evaluate, or for which it panicked, have none.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from inkube.schemas import cel
from inkube.schemas.cel.declarations import schema_shapes
from inkube.schemas.cel.declarations.functions import EvalError
from inkube.schemas.cel.running.program import ProgramError

RECORDED: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text())
KINDS: list[str] = RECORDED["kinds"]
ANSWERS: list[str] = RECORDED["answers"]
TEXT = {"type": "string", "maxLength": 30}
OBJECT = {"type": "object", "properties": {"x": {"type": "integer"}}}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "li": {"type": "array", "items": {"type": "integer"}},
        "st": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
        "k": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["x"],
            "items": OBJECT,
        },
        "ms": {"type": "object", "additionalProperties": TEXT},
        "o": OBJECT,
        "io": {"x-kubernetes-int-or-string": True},
    },
}
VALUE = {"li": [1], "st": ["a"], "k": [{"x": 1}], "ms": {"a": "b"}, "o": {"x": 1}, "io": 1}


def answer(rule: str) -> str:
    shape = schema_shapes.declare(SCHEMA)
    assert shape is not None
    try:
        value = cel.compile(rule, {"self": shape}).run(0, cel.CALL_LIMIT, VALUE)[0]
    except ProgramError as error:
        return f"refused: {error}"
    except EvalError as error:
        return str(error)
    return "true" if value else "false"


def rules(form: str) -> list[str]:
    operands = [f"dyn({kind})" for kind in KINDS]
    if "{1}" not in form:
        return [form.format(operand) for operand in operands]
    return [form.format(left, right) for left in operands for right in operands]


@pytest.mark.parametrize("form", RECORDED["forms"])
def test_operands_of_any_kind_are_answered_as_upstream(form: str):
    recorded = zip(rules(form), RECORDED["forms"][form], strict=True)
    expected = {rule: ANSWERS[place] for rule, place in recorded if place is not None}
    assert expected
    assert {rule: answer(rule) for rule in expected} == expected
