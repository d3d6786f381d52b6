"""What stages ask of an object: jq queries and CEL expressions, compiled once.

Both may come from anybody who may write Stages, so both are bounded: jq by its steps, CEL by its
costs. An expression that fails has no outputs, as KWOK has it.
"""

from collections.abc import Callable
from typing import Any

from inkube.controllers.workloads.stages import jq
from inkube.schemas import caches

Object = dict[str, Any]
Outputs = Callable[[Object], list[Any]]
CEL_COST = 100_000
"""Cost units of one evaluation."""


class ExpressionError(ValueError):
    """An expression that cannot be compiled."""


def of_jq(text: str) -> Outputs:
    """The outputs of a jq query. Raises ExpressionError."""
    try:
        return jq.compile(text).outputs
    except jq.QueryError as error:
        raise ExpressionError(str(error)) from error


@caches.of_texts(256)
def of_cel(text: str) -> Outputs:
    """The one output of a CEL expression over `self`. Raises ExpressionError."""
    from inkube.schemas import cel  # the engine is loaded for whoever uses it

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
