"""What is irregular in coordination.k8s.io."""

from typing import Any

from inkube.schemas import fielderrors
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names

_STRATEGIES = ("OldestEmulationVersion",)


def strategy(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """A name of Kubernetes' own, or a qualified one (ValidateCoordinatedLeaseStrategy), which says
    `strategy` twice."""
    place = f"{path}.strategy"
    if "/" in value:
        return [fielderrors.invalid(place, value, why) for why in names.label_key(value)]
    if value in _STRATEGIES:
        return []
    return [fielderrors.not_supported(place, value, _STRATEGIES)]


def has_holder(frame: Frame) -> bool:
    """Whether the preferred holder is no empty text."""
    holder: Any = frame.obj.get("preferredHolder")
    return bool(holder)
