"""Irregular rules of coordination.k8s.io."""

from inkube.schemas import fielderrors
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names

_STRATEGIES = ("OldestEmulationVersion",)


def strategy(value: str, path: str, _frame: Frame) -> list[FieldError]:
    """Check that a strategy is one of Kubernetes or a qualified name
    (ValidateCoordinatedLeaseStrategy). As upstream, the path of the error contains `strategy`
    twice."""
    place = f"{path}.strategy"
    if "/" in value:
        return [fielderrors.invalid(place, value, why) for why in names.label_key(value)]
    if value in _STRATEGIES:
        return []
    return [fielderrors.not_supported(place, value, _STRATEGIES)]
