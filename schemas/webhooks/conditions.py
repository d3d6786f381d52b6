"""matchConditions of a webhook: every one has to hold.

Follows plugin/webhook/matchconditions/matcher.go.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from inkube.schemas import cel
from inkube.schemas.cel import types
from inkube.schemas.cel.authorizer import AUTHORIZER

_VARIABLES = {
    "object": types.DYN,
    "oldObject": types.DYN,
    "request": types.DYN,
    "authorizer": AUTHORIZER,
}


class ConditionError(Exception):
    """Conditions that could not be decided; the text names every one."""


@lru_cache(maxsize=1024)
def _program(expression: str) -> cel.Program:
    return cel.compile(expression, _VARIABLES)


def hold(expressions: Sequence[str], variables: Mapping[str, Any], *, ignores: bool) -> bool:
    """Whether all hold. One that is false beats errors; `ignores` reads errors as false.

    Raises ConditionError.
    """
    errors: list[str] = []
    for expression in expressions:
        try:
            if _program(expression).evaluate(variables) is not True:
                return False
        except cel.CelError as error:
            errors.append(f"expression '{expression}' resulted in error: {error}")
    if not errors:
        return True
    if ignores:
        return False
    texts = list(dict.fromkeys(errors))
    raise ConditionError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
