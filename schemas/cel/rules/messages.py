"""Messages of failed rules: apiextensions-apiserver schema/cel/validation.go."""

import logging
from typing import Any, Final, NamedTuple

from inkube.schemas.cel.declarations.functions import NO_OVERLOAD, CostExceededError, EvalError
from inkube.schemas.cel.rules.rule import Rule, RuleError
from inkube.schemas.cel.running.operators import MISSING
from inkube.schemas.cel.running.program import CALL_LIMIT
from inkube.schemas.fielderrors import OMITTED, FieldError, Type
from inkube.schemas.golang import gotext

logger = logging.getLogger("inkube.access.expressions")
"""A child of the logger of requests, so that `-v` also shows these messages."""
NO_TYPE: Final = (
    "rule compiler initialization error: failed to convert to declType for CEL validation rules"
)
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
"""The largest size of an evaluated message in bytes (MaxEvaluatedMessageExpressionSizeBytes)."""


def refusal(path: str, value: Any, message: str, reason: str | None) -> FieldError:
    """Return the error of a rule that is false; objects and lists are not shown."""
    reported_value = OMITTED if isinstance(value, dict | list) else value
    kind = _REASONS.get(reason or "", Type.INVALID)
    return FieldError(kind, path, reported_value, "" if kind is Type.DUPLICATE else message)


def failed(error: EvalError, name: str) -> str:
    """Return the error text for a rule whose evaluation failed."""
    text = str(error)
    if text.startswith(NO_OVERLOAD):
        return (
            f"'{text}': call arguments did not match a supported operator, function or macro"
            f" signature for rule: {name}"
        )
    return f"{text} evaluating rule: {name}"


def too_dear(error: CostExceededError, name: str) -> str:
    """Return the error text for a rule that exceeds the cost limit of one call."""
    return (
        f"'{error}': no further validation rules will be run due to call cost exceeds limit"
        f" for rule: {name}"
    )


class Message(NamedTuple):
    """The message of a failed rule, the cost of messageExpression, and why that was not used."""

    text: str
    cost: int = 0
    failure: str = ""


def evaluated(rule: Rule, new: Any, old: Any, budget: int) -> Message:
    """Return the message of a failed rule. The run ends if messageExpression costs more than
    `budget`.

    `old` is MISSING if there is no old value, or if no rule of the same schema uses it. A
    messageExpression gets the old value itself, not the optional that a rule can get, so a use of
    oldSelf always fails in combination with optionalOldSelf. `message` replaces a messageExpression
    that fails, or that returns an empty text or several lines.
    """
    expression = rule.message_expression
    if expression is None:
        return Message(rule.message)
    if rule.has_optional_old_self:
        old = MISSING
    try:
        text, cost = expression.program.run(0, CALL_LIMIT, new, old)
    except EvalError as error:
        return Message(rule.message, error.cost, str(error))
    except RuleError as error:
        return Message(rule.message, failure=str(error))
    except CostExceededError:
        return Message(_MESSAGE_TOO_DEAR.format(gotext.quote(expression.text)), budget + 1)
    if cost > budget:
        return Message(_MESSAGE_OUT_OF_BUDGET, cost)
    text = text.strip() if isinstance(text, str) else ""
    if failure := _unusable(text):
        return Message(rule.message, cost, failure)
    return Message(text, cost)


def _unusable(text: str) -> str:
    """Return the reason why an evaluated text cannot be a message; "" if it can."""
    if not text:
        return "it evaluated to an empty text"
    if "\n" in text or "\r" in text:
        return "it evaluated to several lines"
    length = len(text.encode("utf-8", "surrogatepass"))
    return f"it evaluated to {length} bytes, more than {_LONGEST}" if length > _LONGEST else ""


def log_failure(rule: Rule, failure: str) -> None:
    """Log the reason why messageExpression was not used."""
    assert rule.message_expression is not None, "only expressions fail"
    logger.info(
        "messageExpression %s of rule %s was not used: %s",
        gotext.quote(rule.message_expression.text),
        gotext.quote(rule.name),
        failure,
    )
