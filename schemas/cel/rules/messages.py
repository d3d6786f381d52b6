"""What a failing rule says: apiextensions-apiserver schema/cel/validation.go."""

from typing import Any, Final

from inkube.schemas.cel.declarations.functions import CostExceededError, EvalError
from inkube.schemas.cel.rules.rule import Rule, RuleError
from inkube.schemas.cel.running.operators import NO_OVERLOAD
from inkube.schemas.cel.running.program import CALL_LIMIT
from inkube.schemas.fielderrors import OMITTED, FieldError, Type
from inkube.schemas.golang import gotext

OUT_OF_BUDGET: Final = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
_MESSAGE_OUT_OF_BUDGET: Final = (
    "messageExpression evaluation failed due to running out of cost budget, no further validation"
    " rules will be run"
)
_MESSAGE_TOO_DEAR: Final = (
    "no further validation rules will be run due to call cost exceeds limit for"
    " messageExpression: {}"
)
_REASONS: Final = {
    "FieldValueForbidden": Type.FORBIDDEN,
    "FieldValueRequired": Type.REQUIRED,
    "FieldValueDuplicate": Type.DUPLICATE,
}
_LONGEST: Final = 5 * 1024
"""Bytes of an evaluated message (MaxEvaluatedMessageExpressionSizeBytes)."""


def refusal(path: str, value: Any, message: str, reason: str | None) -> FieldError:
    """The error of a rule that does not hold; objects and lists are not shown."""
    shown = OMITTED if isinstance(value, dict | list) else value
    kind = _REASONS.get(reason or "", Type.INVALID)
    return FieldError(kind, path, shown, "" if kind is Type.DUPLICATE else message)


def failed(error: EvalError, name: str) -> str:
    """The detail of a rule that could not be evaluated."""
    text = str(error)
    if text.startswith(NO_OVERLOAD):
        return (
            f"'{text}': call arguments did not match a supported operator, function or macro"
            f" signature for rule: {name}"
        )
    return f"{text} evaluating rule: {name}"


def too_dear(error: CostExceededError, name: str) -> str:
    """The detail of a rule that cost more than one call may."""
    return (
        f"'{error}': no further validation rules will be run due to call cost exceeds limit"
        f" for rule: {name}"
    )


def evaluated(rule: Rule, new: Any, old: Any, budget: int) -> tuple[str, int]:
    """The message of a failing rule, and what messageExpression cost; over `budget` all ends.

    A messageExpression sees the old value itself, never the optional a rule may see: naming oldSelf
    beside optionalOldSelf always fails. One that fails, or yields nothing or several lines, gives
    way to `message`.
    """
    expression = rule.message_expression
    if expression is None or (rule.has_optional_old_self and rule.message_uses_old_self):
        return rule.message, 0
    try:
        text, cost = expression.program.run(0, CALL_LIMIT, new, old)
    except EvalError as error:
        return rule.message, error.cost
    except RuleError:
        return rule.message, 0
    except CostExceededError:
        return _MESSAGE_TOO_DEAR.format(gotext.quote(expression.text)), budget + 1
    if cost > budget:
        return _MESSAGE_OUT_OF_BUDGET, cost
    text = text.strip() if isinstance(text, str) else ""
    if not text or "\n" in text or "\r" in text or len(text.encode()) > _LONGEST:
        return rule.message, cost
    return text, cost
