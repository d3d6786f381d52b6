"""Irregular rules of apimachinery's types."""

import re
from collections.abc import Iterable

from inkube.schemas import fielderrors
from inkube.schemas.builtin.rules import compiler
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import objectmeta
from inkube.schemas.objects import Object

_PERCENT = re.compile("([0-9]+)%")


def labels(value: dict[str, str], path: str, _frame: Frame) -> Iterable[FieldError]:
    """Check each key and its value, label by label (ValidateLabels)."""
    return list(objectmeta.label_errors(value, path))


def is_readable(selector: Object | None) -> bool:
    """Return whether a label selector has no errors (LabelSelectorAsSelector). A missing selector
    has none."""
    return not selector or not compiler.errors("meta.v1.LabelSelector", selector)


def count_or_percent(value: int | str, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a value is a number that is not negative, or a percentage
    (ValidatePositiveIntOrPercent)."""
    if isinstance(value, str):
        if _PERCENT.fullmatch(value):
            return []
        why = (
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. "
            "'1%',  or '93%', regex used for validation is '[0-9]+%')"
        )
        return [fielderrors.invalid(path, value, why)]
    if isinstance(value, int) and value < 0:
        return [fielderrors.invalid(path, value, "must be greater than or equal to 0")]
    return []


def at_most_all(value: int | str, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a percentage is at most 100% (IsNotMoreThan100Percent)."""
    percent = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    # of many digits, which Python does not convert, some are enough
    if percent is not None and int(percent[1].lstrip("0")[:4] or 0) > 100:
        return [fielderrors.invalid(path, value, "must not be greater than 100%")]
    return []
