"""The lists extension, version 3: slice, flatten, sort, distinct, reverse, lists.range.

`sortBy` is a macro of the parser over `@sortByAssociatedKeys`. Upstream: cel-go ext/lists.go.
"""

from collections.abc import Sequence
from typing import Any, Final

from inkube.schemas.cel.declarations import values
from inkube.schemas.cel.declarations.estimates import (
    STRING_FACTOR,
    TOP,
    Argument,
    CallEstimate,
    Range,
)
from inkube.schemas.cel.declarations.functions import (
    CostExceededError,
    EstimateFunction,
    EvalError,
    Overload,
)
from inkube.schemas.cel.declarations.types import (
    BYTES,
    INT,
    LIST_DYN,
    LIST_T,
    STRING,
    Type,
    list_of,
)
from inkube.schemas.cel.library import costs
from inkube.schemas.cel.library.lists import COMPARABLE

RANGE_MAX: Final = 1_000_000
"""The longest range: a longer one would exceed PerCallLimit, so it is not created."""
_SELF_COMPARISON: Final = 2.0


def part(items: Sequence[Any], start: int, end: int) -> list[Any]:
    """Return the items from one index up to another, which is excluded."""
    call = f"cannot slice({start}, {end})"
    if start < 0 or end < 0:
        raise EvalError(f"{call}, negative indexes not supported")
    if start > end:
        raise EvalError(f"{call}, start index must be less than or equal to end index")
    if len(items) < end:
        raise EvalError(f"{call}, list is length {len(items)}")
    return list(items[start:end])


def flatten(items: Sequence[Any], depth: int = 1) -> list[Any]:
    """Return the list with nested lists replaced by their items, down to `depth` levels."""
    if depth < 0:
        raise EvalError("level must be non-negative")
    flattened: list[Any] = []
    for item in items:
        if depth and isinstance(item, list | tuple):
            flattened += flatten(item, depth - 1)
        else:
            flattened.append(item)
    return flattened


def sort(items: Sequence[Any]) -> list[Any]:
    """Return the items in ascending order."""
    return sort_by_keys(items, items)


def sort_by_keys(items: Sequence[Any], keys: Sequence[Any]) -> list[Any]:
    """Return the items in the order of a list of keys, which must have one comparable type."""
    if len(items) != len(keys):
        raise EvalError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys "
            f"list, but got {len(items)} and {len(keys)} elements respectively"
        )
    if not keys:
        return list(items)
    kinds = [values.type_of(key) for key in keys]
    if kinds[0] not in _COMPARABLE_TYPES:
        raise EvalError("list elements must be comparable")
    if any(kind != kinds[0] for kind in kinds):
        raise EvalError("list elements must have the same type")
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return [items[index] for index in order]


_COMPARABLE_TYPES: Final = frozenset(kind for _, kind in COMPARABLE)


def reverse(items: Sequence[Any]) -> list[Any]:
    """Return the items in reverse order."""
    return list(items[::-1])


def distinct(items: Sequence[Any]) -> list[Any]:
    """Return the items without later equal ones."""
    if all(type(item) is str for item in items):
        return list(dict.fromkeys(items))
    unique: list[Any] = []
    for item in items:
        if not any(values.equal(item, other) for other in unique):
            unique.append(item)
    return unique


def numbers(count: int) -> list[int]:
    """Return the integers from 0 up to `count`, which is excluded. Empty for negative numbers."""
    if count > RANGE_MAX:
        raise CostExceededError
    return list(range(count))


def _output_cost(_: tuple[Any, ...], result: Any) -> int:
    return costs.allocation(1, costs.size_of(result))


def _flatten_cost(arguments: tuple[Any, ...], _: Any) -> int:
    depth = float(arguments[1]) if len(arguments) > 1 else 1.0
    return costs.allocation(depth, costs.size_of(arguments[0]))


def _comparison_cost(arguments: tuple[Any, ...], _: Any) -> int:
    """Return the cost of comparing each key with each other, independent of the algorithm."""
    keys = arguments[-1]
    factor = _SELF_COMPARISON
    if keys and isinstance(keys[0], str | bytes):
        factor += STRING_FACTOR
    return costs.allocation(factor, len(keys) ** 2)


def _estimate_slice(arguments: tuple[Argument, ...]) -> CallEstimate:
    start = costs.constant_uint(arguments[1], 0)
    end = costs.constant_uint(arguments[2], arguments[0].size.max)
    size = (end - start) % (TOP + 1)
    return costs.estimate_allocation(1, Range(size, size))


def _estimate_flatten(arguments: tuple[Argument, ...]) -> CallEstimate:
    depth = costs.constant_uint(arguments[1], TOP) if len(arguments) > 1 else 1
    return costs.estimate_allocation(float(depth), arguments[0].size)


def _estimate_range(arguments: tuple[Argument, ...]) -> CallEstimate:
    size = costs.constant_uint(arguments[0], TOP)
    return costs.estimate_allocation(1, Range(size, size))


def _estimate_reverse(arguments: tuple[Argument, ...]) -> CallEstimate:
    return costs.estimate_allocation(1, arguments[0].size)


def _estimate_comparison(factor: float) -> EstimateFunction:
    def estimate(arguments: tuple[Argument, ...]) -> CallEstimate:
        size = arguments[-1].size
        return costs.estimate_allocation(factor, size * size)

    return estimate


def _factor(type: Type) -> float:
    return _SELF_COMPARISON + (STRING_FACTOR if type in (STRING, BYTES) else 0)


OVERLOADS: Final[tuple[Overload, ...]] = (
    Overload(
        "slice",
        "list_slice",
        (LIST_T, INT, INT),
        LIST_T,
        part,
        receiver=True,
        cost=_output_cost,
        estimate=_estimate_slice,
    ),
    Overload(
        "flatten",
        "list_flatten",
        (list_of(LIST_T),),
        LIST_T,
        flatten,
        receiver=True,
        cost=_flatten_cost,
        estimate=_estimate_flatten,
        fails=False,
    ),
    Overload(
        "flatten",
        "list_flatten_int",
        (LIST_DYN, INT),
        LIST_DYN,
        flatten,
        receiver=True,
        cost=_flatten_cost,
        estimate=_estimate_flatten,
    ),
    *(
        Overload(
            "sort",
            f"list_{kind.name}_sort",
            (list_of(kind),),
            list_of(kind),
            sort,
            receiver=True,
            cost=_comparison_cost,
            estimate=_estimate_comparison(_factor(kind)),
        )
        for _, kind in COMPARABLE
    ),
    *(
        Overload(
            "@sortByAssociatedKeys",
            f"list_{kind.name}_sortByAssociatedKeys",
            (LIST_T, list_of(kind)),
            LIST_T,
            sort_by_keys,
            receiver=True,
            cost=_comparison_cost,
            estimate=_estimate_comparison(_factor(kind)),
        )
        for _, kind in COMPARABLE
    ),
    Overload(
        "lists.range",
        "lists_range",
        (INT,),
        list_of(INT),
        numbers,
        cost=_output_cost,
        estimate=_estimate_range,
    ),
    Overload(
        "reverse",
        "list_reverse",
        (LIST_T,),
        LIST_T,
        reverse,
        receiver=True,
        cost=_output_cost,
        estimate=_estimate_reverse,
        fails=False,
    ),
    Overload(
        "distinct",
        "list_distinct",
        (LIST_T,),
        LIST_T,
        distinct,
        receiver=True,
        cost=_comparison_cost,
        estimate=_estimate_comparison(_SELF_COMPARISON),
        fails=False,
    ),
)
