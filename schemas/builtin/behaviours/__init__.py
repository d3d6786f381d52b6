"""What built-in kinds do that their data cannot say; `of` finds the behaviour of a resource."""

from functools import cache

from inkube.schemas.builtin import resources
from inkube.schemas.builtin.behaviours.base import Behaviour

__all__ = ["Behaviour", "of"]

_FAMILIES: dict[tuple[str, str], type[Behaviour]] = {}


@cache
def of(group: str, plural: str) -> Behaviour:
    """The behaviour of a built-in resource. Raises KeyError for an unknown one."""
    return _FAMILIES.get((group, plural), Behaviour)(resources.by_name()[group, plural])
