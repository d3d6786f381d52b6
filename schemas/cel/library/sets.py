"""The sets extension: sets.contains, sets.equivalent, sets.intersects of two lists.

Upstream: cel-go ext/sets.go.
"""

from collections.abc import Sequence
from typing import Any, Final

from inkube.schemas.cel.declarations import values
from inkube.schemas.cel.declarations.estimates import ONE, Argument, CallEstimate
from inkube.schemas.cel.declarations.functions import CostFunction, EstimateFunction, Impl, Overload
from inkube.schemas.cel.declarations.types import BOOL, LIST_T


def contains(items: Sequence[Any], part: Sequence[Any]) -> bool:
    """Return whether the first list contains each item of the second."""
    return all(values.contains(items, item) for item in part)


def equivalent(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Return whether each list contains the other."""
    return contains(left, right) and contains(right, left)


def intersects(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Return whether at least one item is in both lists."""
    return any(values.contains(right, item) for item in left)


def _cost(factor: int) -> CostFunction:
    def cost(arguments: tuple[Any, ...], _: Any) -> int:
        return 1 + len(arguments[0]) * len(arguments[1]) * factor

    return cost


def _estimate(factor: int) -> EstimateFunction:
    def estimate(arguments: tuple[Argument, ...]) -> CallEstimate:
        pairs = arguments[0].size * arguments[1].size
        return CallEstimate(pairs.times(factor) + ONE)

    return estimate


def _overload(name: str, impl: Impl, factor: int = 1) -> Overload:
    return Overload(
        f"sets.{name}",
        f"list_sets_{name}_list",
        (LIST_T, LIST_T),
        BOOL,
        impl,
        cost=_cost(factor),
        estimate=_estimate(factor),
        fails=False,
    )


OVERLOADS: Final[tuple[Overload, ...]] = (
    _overload("contains", contains),
    _overload("equivalent", equivalent, 2),
    _overload("intersects", intersects),
)
