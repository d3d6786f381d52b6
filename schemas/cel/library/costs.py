"""The costs of library functions, at run time and as estimates.

Upstream: cel-go interpreter/runtimecost.go, checker/cost.go, ext/lists.go, ext/sets.go; apiserver
pkg/cel/library/cost.go. A cost is in units of a simple call.
"""

import math
from typing import Any, Final

from inkube.schemas.cel.declarations.estimates import (
    ONE,
    REGEX_FACTOR,
    STRING_FACTOR,
    TOP,
    UNKNOWN,
    Argument,
    CallEstimate,
    Range,
)
from inkube.schemas.cel.declarations.functions import CostFunction, EstimateFunction
from inkube.schemas.cel.declarations.types import Kind

LIST_CREATION: Final = 10
"""The cost of creating a list (common.ListCreateBaseCost)."""
_SIZED: Final = (str, bytes, list, tuple, dict)


def size_of(value: Any) -> int:
    """Return the number of characters, bytes, items or entries, the size of a CIDR or IP, or 1 for
    other values."""
    if isinstance(value, _SIZED):
        return len(value)
    size = getattr(value, "cel_size", 1)
    assert isinstance(size, int)
    return size


def per_size(factor: float = STRING_FACTOR, index: int = 0) -> CostFunction:
    """Return a cost function: the size of one argument times a factor, rounded up."""

    def cost(arguments: tuple[Any, ...], _: Any) -> int:
        return math.ceil(size_of(arguments[index]) * factor)

    return cost


def per_result(factor: float) -> CostFunction:
    """Return a cost function: the size of the result times a factor, rounded up."""

    def cost(_: tuple[Any, ...], result: Any) -> int:
        return math.ceil(size_of(result) * factor)

    return cost


def search(arguments: tuple[Any, ...], _: Any) -> int:
    """Return the cost of a regular expression on a string: the product of both lengths, scaled."""
    return pattern_search(size_of(arguments[0]), size_of(arguments[1]))


def pattern_search(characters: int, pattern: int) -> int:
    """Return the cost of a pattern with `pattern` characters on a string with `characters`
    characters."""
    return math.ceil((1.0 + characters) * STRING_FACTOR) * math.ceil(pattern * REGEX_FACTOR)


def product(arguments: tuple[Any, ...], _: Any) -> int:
    """Return the cost of searching one string in another."""
    return math.ceil(size_of(arguments[0]) * STRING_FACTOR) * math.ceil(
        size_of(arguments[1]) * STRING_FACTOR
    )


def traversal(arguments: tuple[Any, ...], _: Any) -> int:
    """Return the cost of traversing the first argument as a tree (traversalCost)."""
    return _traversal(arguments[0])


def _traversal(value: Any) -> int:
    if isinstance(value, str):
        return int(_utf8_length(value) * STRING_FACTOR)
    if isinstance(value, bytes):
        return int(len(value) * STRING_FACTOR)
    if isinstance(value, list | tuple):
        return sum(map(_traversal, value))
    if isinstance(value, dict):
        return sum(_traversal(key) + _traversal(item) for key, item in value.items())
    return 1


def _utf8_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def allocation(factor: float, size: int) -> int:
    """Return the cost of a call that creates a list of this size (trackAllocatingListCall)."""
    return min(int(size * factor) + 1 + LIST_CREATION, TOP)


def fixed(low: int, high: int | None = None) -> EstimateFunction:
    """Return an estimate that does not depend on the arguments."""
    estimate = CallEstimate(Range(low, low if high is None else high))
    return lambda _: estimate


def sized(
    factor: float = STRING_FACTOR, index: int = 0, *, keeps_size: bool = False
) -> EstimateFunction:
    """Return an estimate: the size of one argument times a factor. With `keeps_size`, the result
    has the size of the argument."""

    def estimate(arguments: tuple[Argument, ...]) -> CallEstimate:
        size = arguments[index].size
        return CallEstimate(size.times(factor), size if keeps_size else None)

    return estimate


def estimate_search(arguments: tuple[Argument, ...]) -> CallEstimate:
    """Return the estimate for `search`."""
    text = (arguments[0].size + ONE).times(STRING_FACTOR)
    return CallEstimate(text * arguments[1].size.times(REGEX_FACTOR))


def estimate_product(arguments: tuple[Argument, ...]) -> CallEstimate:
    """Return the estimate for `product`."""
    text, part = (argument.size.times(STRING_FACTOR) for argument in arguments)
    return CallEstimate(text * part)


def estimate_traversal(arguments: tuple[Argument, ...]) -> CallEstimate:
    """Return the estimate for `traversal`: 1 for each item, and the length of each string or
    bytes."""
    target = arguments[0]
    if not target.type.params:
        return CallEstimate(target.size.times(STRING_FACTOR))
    per_item = ONE
    if target.type.params[0].kind in (Kind.STRING, Kind.BYTES):
        per_item += element_size(target).times(STRING_FACTOR)
    return CallEstimate(target.size * per_item)


def element_size(target: Argument) -> Range:
    """Return the size of a list's items."""
    return UNKNOWN if target.element is None else target.element.size


def estimate_allocation(factor: float, size: Range) -> CallEstimate:
    """Return the estimate for `allocation`; the result has this size."""
    return CallEstimate(size.times(factor) + Range(1 + LIST_CREATION, 1 + LIST_CREATION), size)


def constant_uint(argument: Argument, default: int) -> int:
    """Return the value of a literal that is an int or uint and not negative, else the default."""
    value = argument.constant
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= TOP:
        return default
    return value
