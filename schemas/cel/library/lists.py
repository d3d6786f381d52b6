"""Kubernetes' functions on lists: isSorted, sum, min, max, indexOf, lastIndexOf.

Upstream: apiserver pkg/cel/library/lists.go.
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from inkube.schemas.cel.declarations import values
from inkube.schemas.cel.declarations.functions import NO_OVERLOAD, EvalError, Impl, Overload
from inkube.schemas.cel.declarations.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    T,
    Type,
    list_of,
)
from inkube.schemas.cel.declarations.values import Duration, Uint
from inkube.schemas.cel.library import costs

COMPARABLE: Final[tuple[tuple[str, Type], ...]] = (
    ("int", INT),
    ("uint", UINT),
    ("double", DOUBLE),
    ("bool", BOOL),
    ("duration", DURATION),
    ("timestamp", TIMESTAMP),
    ("string", STRING),
    ("bytes", BYTES),
)


def guarded(function: Callable[..., Any]) -> Impl:
    """Return the function with the errors of CEL for items that cannot be compared or added."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (TypeError, AttributeError):
            raise EvalError(NO_OVERLOAD) from None

    return call


def is_sorted(items: Sequence[Any]) -> bool:
    """Return whether no item is less than the one before it."""
    return not any(after < before for before, after in itertools.pairwise(items))


def greatest(items: Sequence[Any]) -> Any:
    """Return the greatest item, the first of equal ones. Raises EvalError for an empty list."""
    if not items:
        raise EvalError("max called on empty list")
    return max(items)


def least(items: Sequence[Any]) -> Any:
    """Return the least item, the first of equal ones. Raises EvalError for an empty list."""
    if not items:
        raise EvalError("min called on empty list")
    return min(items)


def _int64_sum(numbers: Iterable[int], overflow: str) -> int:
    """Return the sum. Raises EvalError if a partial sum does not fit into an int64."""
    total = 0
    for total in itertools.accumulate(numbers):
        if not values.INT_MIN <= total <= values.INT_MAX:
            raise EvalError(overflow)
    return total


def sum_of_ints(items: Sequence[int]) -> int:
    """Return the sum. Raises EvalError if a partial sum does not fit into an int64."""
    return _int64_sum(items, "integer overflow")


def sum_of_uints(items: Sequence[int]) -> Uint:
    """Return the sum. Raises EvalError if it does not fit into a uint64."""
    total = sum(map(int, items))
    if total > values.UINT_MAX:
        raise EvalError("unsigned integer overflow")
    return Uint(total)


def sum_of_doubles(items: Sequence[float]) -> float:
    """Return the sum, added item by item."""
    total = 0.0
    for item in items:
        total += item
    return total


def sum_of_durations(items: Sequence[Duration]) -> Duration:
    """Return the sum. Raises EvalError if a partial sum does not fit into an int64."""
    return Duration(_int64_sum((item.ns for item in items), "duration overflow"))


def index_of(items: Sequence[Any], item: Any) -> int:
    """Return the first index of an equal item, or -1."""
    for index, candidate in enumerate(items):
        if values.equal(candidate, item):
            return index
    return -1


def last_index_of(items: Sequence[Any], item: Any) -> int:
    """Return the last index of an equal item, or -1."""
    for index in range(len(items) - 1, -1, -1):
        if values.equal(items[index], item):
            return index
    return -1


def _overload(
    function: str, id: str, params: tuple[Type, ...], result: Type, impl: Impl
) -> Overload:
    return Overload(
        function,
        id,
        params,
        result,
        guarded(impl),
        receiver=True,
        cost=costs.traversal,
        estimate=costs.estimate_traversal,
    )


_SUMS: Final[tuple[tuple[str, Type, Impl], ...]] = (
    ("int", INT, sum_of_ints),
    ("uint", UINT, sum_of_uints),
    ("double", DOUBLE, sum_of_doubles),
    ("duration", DURATION, sum_of_durations),
)

OVERLOADS: Final[tuple[Overload, ...]] = (
    *(
        _overload("isSorted", f"list_{name}_is_sorted_bool", (list_of(kind),), BOOL, is_sorted)
        for name, kind in COMPARABLE
    ),
    *(
        _overload("sum", f"list_{name}_sum_{name}", (list_of(kind),), kind, impl)
        for name, kind, impl in _SUMS
    ),
    *(
        _overload("max", f"list_{name}_max_{name}", (list_of(kind),), kind, greatest)
        for name, kind in COMPARABLE
    ),
    *(
        _overload("min", f"list_{name}_min_{name}", (list_of(kind),), kind, least)
        for name, kind in COMPARABLE
    ),
    _overload("indexOf", "list_a_index_of_int", (list_of(T), T), INT, index_of),
    _overload("lastIndexOf", "list_a_last_index_of_int", (list_of(T), T), INT, last_index_of),
)
