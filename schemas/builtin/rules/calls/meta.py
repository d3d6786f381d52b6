"""What is irregular in types of apimachinery."""

from collections.abc import Iterable

from inkube.schemas.builtin import rules
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.builtin.strategies import checks
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import objectmeta
from inkube.schemas.objects import Object


def labels(value: dict[str, str], path: str, _frame: Frame) -> Iterable[FieldError]:
    """Each key and its value, one label after the other (ValidateLabels)."""
    return list(objectmeta.label_errors(value, path))


def is_readable(selector: Object | None) -> bool:
    """Whether a label selector has no errors (LabelSelectorAsSelector); none is readable."""
    return not selector or not rules.errors("meta.v1.LabelSelector", selector)


def count_or_percent(value: int | str, path: str, _frame: Frame) -> list[FieldError]:
    """ValidatePositiveIntOrPercent: not negative, or `25%`."""
    return checks.count_or_percent(value, path)


def at_most_all(value: int | str, path: str, _frame: Frame) -> list[FieldError]:
    """IsNotMoreThan100Percent."""
    return checks.at_most_all(value, path)
