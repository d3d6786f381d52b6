"""Ranges of sizes and costs, as the static cost estimate adds them up.

Numbers saturate at the top of a uint64, as in cel-go checker/cost.go (SizeEstimate, CostEstimate).
"""

import math
from dataclasses import dataclass
from typing import Final

from inkube.schemas.cel.declarations.types import Type

TOP: Final = 2**64 - 1
STRING_FACTOR: Final = 0.1
"""Cost of one character traversed (common.StringTraversalCostFactor)."""
REGEX_FACTOR: Final = 0.25
"""Cost of one character of a pattern (common.RegexStringLengthCostFactor)."""


def scale(count: int, factor: float) -> int:
    """Return `count × factor` rounded up, saturating (multiplyByCostFactor). As upstream, a part of
    an unknown size is a number that further estimates can compare."""
    return min(math.ceil(count * factor), TOP)


@dataclass(frozen=True, slots=True)
class Range:
    """From `min` to `max`, both saturating: a SizeEstimate or a CostEstimate."""

    min: int
    max: int

    def __add__(self, other: "Range") -> "Range":
        return Range(min(self.min + other.min, TOP), min(self.max + other.max, TOP))

    def __mul__(self, other: "Range") -> "Range":
        return Range(min(self.min * other.min, TOP), min(self.max * other.max, TOP))

    def times(self, factor: float) -> "Range":
        """MultiplyByCostFactor: each bound scaled and rounded up."""
        return Range(scale(self.min, factor), scale(self.max, factor))

    def union(self, other: "Range") -> "Range":
        """Return the range that covers both."""
        return Range(min(self.min, other.min), max(self.max, other.max))


UNKNOWN: Final = Range(0, TOP)
"""The size of a value without a declared bound."""
ONE: Final = Range(1, 1)
ZERO: Final = Range(0, 0)


@dataclass(frozen=True, slots=True)
class Argument:
    """The estimator's data about one argument of a call (the receiver is the first).

    `size` is in characters, bytes, items or entries and UNKNOWN without bound; `element` describes
    a list's items or a map's values; `constant` is the value of a literal.
    """

    type: Type
    size: Range = UNKNOWN
    element: "Argument | None" = None
    constant: object = None


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """The cost of a call, and the size of its result if that is known."""

    cost: Range
    result_size: Range | None = None
