"""Irregular rules of apimachinery's types."""

from collections.abc import Iterable

from inkube.schemas.builtin import rules
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.builtin.strategies import checks
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import objectmeta
from inkube.schemas.objects import Object


def labels(value: dict[str, str], path: str, _frame: Frame) -> Iterable[FieldError]:
    """Check each key and its value, label by label (ValidateLabels)."""
    return list(objectmeta.label_errors(value, path))


def is_readable(selector: Object | None) -> bool:
    """Return whether a label selector has no errors (LabelSelectorAsSelector). A missing selector
    has none."""
    return not selector or not rules.errors("meta.v1.LabelSelector", selector)


def count_or_percent(value: int | str, path: str, _frame: Frame) -> list[FieldError]:
    """ValidatePositiveIntOrPercent: check that a value is a number that is not negative, or a
    percentage."""
    return checks.count_or_percent(value, path)


def at_most_all(value: int | str, path: str, _frame: Frame) -> list[FieldError]:
    """IsNotMoreThan100Percent: check that a percentage is at most 100%."""
    return checks.at_most_all(value, path)
