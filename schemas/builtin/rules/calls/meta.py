"""What is irregular in types of apimachinery."""

from collections.abc import Iterable

from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import objectmeta


def labels(value: dict[str, str], path: str, _frame: Frame) -> Iterable[FieldError]:
    """Each key and its value, one label after the other (ValidateLabels)."""
    return list(objectmeta.label_errors(value, path))
