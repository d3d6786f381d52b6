"""x-kubernetes-validations: the checks of a rule that do not compile it.

Follows validation.go (ValidateCustomResourceDefinitionOpenAPISchema).
"""

from collections.abc import Iterator

from inkube.schemas.fielderrors import (
    FieldError,
    Reworded,
    invalid,
    not_supported,
    required,
    reworded,
)
from inkube.schemas.objects import Object
from inkube.schemas.structural import schemapaths

KEY = "x-kubernetes-validations"
_REASONS = (
    "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired",
)  # fmt: skip
_NOT_EMPTY = "must be non-empty if specified"
_ONE_LINE = "must not contain line breaks"


def validate(node: Object, path: str) -> Iterator[FieldError]:
    """Yield the errors of the texts of the node's rules."""
    for index, rule in enumerate(node[KEY]):
        at = f"{path}.{KEY}[{index}]"
        yield from _texts(rule, at)
        reason = rule.get("reason")
        if reason is not None and reason not in _REASONS:
            yield not_supported(f"{at}.reason", reason, _REASONS)
        if rule.get("fieldPath"):
            yield from _field_path(rule["fieldPath"], node, f"{at}.fieldPath")


def _texts(rule: Object, path: str) -> Iterator[FieldError]:
    message, expression = rule.get("message", ""), rule.get("messageExpression", "")
    text, trimmed = rule["rule"].strip(), message.strip()
    if not text:
        yield required(f"{path}.rule", "rule is not specified")
    elif message and not trimmed:
        yield invalid(f"{path}.message", message, _about("message", _NOT_EMPTY))
    elif _has_line_breaks(trimmed):
        yield invalid(f"{path}.message", message, _about("message", _ONE_LINE))
    elif _has_line_breaks(text) and not trimmed:
        detail = "message must be specified if rule contains line breaks"
        yield required(f"{path}.message", detail)
    if expression and not expression.strip():
        yield required(f"{path}.messageExpression", f"messageExpression {_NOT_EMPTY}")


def _field_path(field_path: str, node: Object, path: str) -> Iterator[FieldError]:
    if not field_path.strip():
        yield invalid(path, field_path, _about("fieldPath", _NOT_EMPTY))
    if _has_line_breaks(field_path):
        yield invalid(path, field_path, _about("fieldPath", _ONE_LINE))
    try:
        schemapaths.resolve(field_path, node)
    except schemapaths.InvalidPath:
        yield invalid(path, field_path, _about("fieldPath", "must be a valid path"))


def _about(member: str, detail: str) -> Reworded:
    return reworded(detail, f"{member} {detail}")


def _has_line_breaks(text: str) -> bool:
    return "\n" in text or "\r" in text
