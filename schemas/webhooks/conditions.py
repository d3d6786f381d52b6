"""The matchConditions of a webhook: it is called only if all of them are true.

Follows plugin/webhook/matchconditions/matcher.go.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from inkube.schemas import caches, cel, fielderrors
from inkube.schemas.cel import AUTHORIZER, RESOURCE_CHECK, Shape, types
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.policies import NAMESPACE, REQUEST, Expression, all_hold

MAX_CONDITIONS: Final = 64
_VARIABLES: Final[dict[str, Shape]] = {
    "object": Shape.of(types.DYN),
    "oldObject": Shape.of(types.DYN),
    "request": REQUEST,
    "namespaceObject": NAMESPACE,
    "authorizer": Shape.of(AUTHORIZER),
    "authorizer.requestResource": Shape.of(RESOURCE_CHECK),
}


class ConditionError(Exception):
    """An evaluation of conditions failed. The text contains each error."""


@caches.of_texts(1024)
def _expression(text: str) -> Expression:
    return Expression(text, cel.compile(text, _VARIABLES))


def hold(expressions: Sequence[str], variables: Mapping[str, Any], *, ignores: bool) -> bool:
    """Return whether all conditions are true. See `expressions.all_hold`. Raises ConditionError."""
    conditions = [_expression(text) for text in expressions]
    try:
        return all_hold(conditions, variables, ignores=ignores)
    except cel.CelError as error:
        raise ConditionError(str(error)) from error


def validate(conditions: Sequence[dict[str, Any]], path: str) -> list[FieldError]:
    """Return the errors in the conditions of a configuration (validateMatchConditions)."""
    errors: list[FieldError] = []
    if len(conditions) > MAX_CONDITIONS:
        errors.append(fielderrors.too_many(path, len(conditions), MAX_CONDITIONS))
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        place, name = f"{path}[{index}]", condition.get("name") or ""
        errors += _expression_errors(condition.get("expression") or "", f"{place}.expression")
        if not name:
            errors.append(fielderrors.required(f"{place}.name"))
        else:
            why = names.label_key(name)
            errors += [fielderrors.invalid(f"{place}.name", name, text) for text in why]
        if name in seen:
            errors.append(fielderrors.duplicate(f"{place}.name", name))
        if name:
            seen.add(name)
    return errors


def _expression_errors(text: str, path: str) -> list[FieldError]:
    text = text.strip()
    if not text:
        return [fielderrors.required(path)]
    try:
        result = _expression(text).type
    except cel.CompileError as error:
        return [fielderrors.invalid(path, text, f"compilation failed: {error}")]
    except cel.ProgramError as error:
        return [fielderrors.invalid(path, text, f"program instantiation failed: {error}")]
    if result != types.BOOL:
        return [fielderrors.invalid(path, text, f"must evaluate to bool but got {result}")]
    return []
