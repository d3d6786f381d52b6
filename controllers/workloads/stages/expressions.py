"""The expressions of stages about an object: jq queries and CEL expressions, compiled once.

Every user with access to Stages can write them, so both have limits: jq has a limit of steps, CEL a
limit of cost. An expression that fails has no outputs, like in KWOK.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from inkube.client import Object
from inkube.controllers.workloads.stages import jq
from inkube.formats import caches, cel

Outputs = Callable[[Object], list[Any]]
CEL_COST = 100_000
"""Cost units of one evaluation, at most."""


class ExpressionError(ValueError):
    """An expression that cannot be compiled."""


def of_jq(text: str) -> Outputs:
    """Return the outputs of a jq query. Raises ExpressionError."""
    try:
        return jq.compile(text).outputs
    except jq.QueryError as error:
        raise ExpressionError(str(error)) from error


@caches.of_texts(256)
def of_cel(text: str) -> Outputs:
    """Return the one output of a CEL expression over `self`. Raises ExpressionError."""
    try:
        program = cel.compile(text)
    except cel.CelError as error:
        raise ExpressionError(str(error)) from error

    def outputs(obj: Object) -> list[Any]:
        try:
            return [program.evaluate({"self": obj}, CEL_COST)]
        except cel.CelError:
            return []

    return outputs


# KWOK's names in usage expressions, and their replacements for this implementation of CEL.
_NAMES = (
    (re.compile(r"\bQuantity\("), "quantity("),
    (re.compile(r"\bRand\(\)"), "rand"),
    (re.compile(r"\bpod\.SinceSecond\(\)"), "since"),
)


@caches.of_texts(256)
def of_usage(text: str) -> Callable[[Mapping[str, Any]], float | None]:
    """Return an amount computed from `pod`, `node`, `container`, `rand` and `since`, or None if it
    fails.

    KWOK's `Quantity(text)`, `Rand()` and `pod.SinceSecond()` are supported. Quantities cannot be
    multiplied: `quantity("1Mi").asApproximateFloat()` is a number. Raises ExpressionError.
    """
    known = dict.fromkeys(("pod", "node", "container"), cel.types.DYN)
    known |= dict.fromkeys(("rand", "since"), cel.types.DOUBLE)
    for pattern, ours in _NAMES:
        text = pattern.sub(ours, text)
    try:
        program = cel.compile(text, known)
    except cel.CelError as error:
        raise ExpressionError(str(error)) from error

    def amount(variables: Mapping[str, Any]) -> float | None:
        try:
            found = program.evaluate(variables, CEL_COST)
        except cel.CelError:
            return None
        if isinstance(found, cel.QuantityValue):
            return found.amount.as_float()
        if isinstance(found, (int, float)) and not isinstance(found, bool):
            return float(found)
        return None

    return amount
