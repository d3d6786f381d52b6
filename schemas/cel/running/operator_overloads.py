"""Operators, declared: cel-go common/stdlib/standard.go.

Compiled code evaluates most of them itself (`calls`); named functions are in `library`.
"""

from collections.abc import Iterator
from typing import Any

from inkube.schemas.cel.declarations import values
from inkube.schemas.cel.declarations.estimates import (  # fmt: skip
    ONE,
    STRING_FACTOR,
    Argument,
    CallEstimate,
    Range,
    scale,
)
from inkube.schemas.cel.declarations.functions import NO_OVERLOAD, EvalError, Impl, Overload
from inkube.schemas.cel.declarations.types import (  # fmt: skip
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    FORMAT,
    INT,
    LIST_T,
    MAP_KV,
    STRING,
    TIMESTAMP,
    UINT,
    K,
    T,
    Type,
    V,
)
from inkube.schemas.cel.language.ast import Call
from inkube.schemas.cel.library import standard
from inkube.schemas.cel.library.costs import size_of
from inkube.schemas.cel.running import operators


def traversal(size: int) -> int:
    """Return the cost of traversing `size` characters."""
    return scale(size, STRING_FACTOR)


def comparison_cost(args: tuple[Any, ...], result: Any) -> int:
    """Return the cost of comparing two values: the smaller operand is traversed."""
    return traversal(min(size_of(args[0]), size_of(args[1])))


def _equality_estimate(args: tuple[Argument, ...]) -> CallEstimate:
    """Return the estimate of `==`. Comparing values of Kubernetes' own types costs little. As
    upstream, this does not apply to `!=`."""
    kind = args[0].type
    if kind == args[1].type and kind.name in _SMALL:
        return CallEstimate(ONE)
    if kind == args[1].type == FORMAT:
        return CallEstimate(Range(1, _FORMAT_NAME_MAX).times(STRING_FACTOR))
    return comparison_estimate(args)


def comparison_estimate(args: tuple[Argument, ...]) -> CallEstimate:
    """Return the estimate for `comparison_cost`, with the known sizes."""
    smaller = min(args[0].size.max, args[1].size.max)
    return CallEstimate(Range(min(smaller, 1), smaller).times(STRING_FACTOR))


def _join_cost(args: tuple[Any, ...], result: Any) -> int:
    return traversal(size_of(args[0]) + size_of(args[1]))


def _join_estimate(args: tuple[Argument, ...]) -> CallEstimate:
    size = args[0].size + args[1].size
    return CallEstimate(size.times(STRING_FACTOR), size)


def _list_join_estimate(args: tuple[Argument, ...]) -> CallEstimate:
    return CallEstimate(ONE, args[0].size + args[1].size)


def _in_cost(args: tuple[Any, ...], result: Any) -> int:
    return size_of(args[1])


def _in_estimate(args: tuple[Argument, ...]) -> CallEstimate:
    return CallEstimate(args[1].size)


def _undefined(*args: Any) -> Any:
    raise EvalError(NO_OVERLOAD)


def _logic() -> Iterator[Overload]:
    """Yield the declarations of operators for the checker. Compiled code evaluates them itself."""
    yield Overload("_?_:_", "conditional", (BOOL, T, T), T, _undefined)
    yield Overload("_&&_", "logical_and", (BOOL, BOOL), BOOL, _undefined)
    yield Overload("_||_", "logical_or", (BOOL, BOOL), BOOL, _undefined)
    yield Overload("!_", "logical_not", (BOOL,), BOOL, operators.invert)
    yield Overload("@not_strictly_false", "not_strictly_false", (BOOL,), BOOL, _undefined)


def _equality() -> Iterator[Overload]:
    for name, key, impl, estimate in (
        ("_==_", "equals", values.equal, _equality_estimate),
        ("_!=_", "not_equals", operators.unequal, comparison_estimate),
    ):
        yield Overload(
            name, key, (T, T), BOOL, impl,
            cost=comparison_cost, estimate=estimate, fails=False,
        )  # fmt: skip


_FORMAT_NAME_MAX = 64
_SMALL = frozenset({"net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"})
_SIZED = frozenset({STRING, BYTES})
_ORDERED = (BOOL, INT, UINT, DOUBLE, STRING, BYTES, TIMESTAMP, DURATION)
_NUMBERS = (INT, UINT, DOUBLE)
_SHORT = {TIMESTAMP: "timestamp", DURATION: "duration"}


def _name(type: Type) -> str:
    return _SHORT.get(type, type.name)


def _order() -> Iterator[Overload]:
    for function, prefix, impl in (
        ("_<_", "less", operators.less),
        ("_<=_", "less_equals", operators.less_equal),
        (">", "greater", operators.greater),
        (">=", "greater_equals", operators.greater_equal),
    ):
        function = function if function.startswith("_") else f"_{function}_"
        for kind in _ORDERED:
            sized = kind in _SIZED
            yield Overload(
                function, f"{prefix}_{_name(kind)}", (kind, kind), BOOL, impl,
                cost=comparison_cost if sized else 1,
                estimate=comparison_estimate if sized else None,
            )  # fmt: skip
        for left in _NUMBERS:
            for right in _NUMBERS:
                if left != right:
                    key = f"{prefix}_{_name(left)}_{_name(right)}"
                    yield Overload(function, key, (left, right), BOOL, impl)


def _add_double(left: float, right: float) -> float:
    return left + right


def _subtract_double(left: float, right: float) -> float:
    return left - right


def _multiply_double(left: float, right: float) -> float:
    return left * right


def _plus(left: Any, right: Any) -> Any:
    return left + right


def _shift(moment: Any, span: Any) -> Any:
    return operators.shifted(moment, span.ns)


def _shifted_by(span: Any, moment: Any) -> Any:
    return operators.shifted(moment, span.ns)


def _shift_back(moment: Any, span: Any) -> Any:
    return operators.shifted(moment, -span.ns)


def _difference(left: Any, right: Any) -> Any:
    return operators.checked_duration(left.ns - right.ns)


def _sum(left: Any, right: Any) -> Any:
    return operators.checked_duration(left.ns + right.ns)


_ARITHMETIC: tuple[tuple[str, str, Type, Impl], ...] = (
    ("_+_", "add_int64", INT, operators.add_int),
    ("_+_", "add_uint64", UINT, operators.add_uint),
    ("_+_", "add_double", DOUBLE, _add_double),
    ("_-_", "subtract_int64", INT, operators.subtract_int),
    ("_-_", "subtract_uint64", UINT, operators.subtract_uint),
    ("_-_", "subtract_double", DOUBLE, _subtract_double),
    ("_*_", "multiply_int64", INT, operators.multiply_int),
    ("_*_", "multiply_uint64", UINT, operators.multiply_uint),
    ("_*_", "multiply_double", DOUBLE, _multiply_double),
    ("_/_", "divide_int64", INT, operators.divide_int),
    ("_/_", "divide_uint64", UINT, operators.divide_uint),
    ("_/_", "divide_double", DOUBLE, operators.divide_double),
    ("_%_", "modulo_int64", INT, operators.modulo_int),
    ("_%_", "modulo_uint64", UINT, operators.modulo_uint),
)
_MOMENTS: tuple[tuple[str, str, tuple[Type, Type], Type, Impl], ...] = (
    ("_+_", "add_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP, _shift),
    ("_+_", "add_duration_timestamp", (DURATION, TIMESTAMP), TIMESTAMP, _shifted_by),
    ("_+_", "add_duration_duration", (DURATION, DURATION), DURATION, _sum),
    ("_-_", "subtract_timestamp_timestamp", (TIMESTAMP, TIMESTAMP), DURATION, _difference),
    ("_-_", "subtract_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP, _shift_back),
    ("_-_", "subtract_duration_duration", (DURATION, DURATION), DURATION, _difference),
)


def _arithmetic() -> Iterator[Overload]:
    for function, key, kind, impl in _ARITHMETIC:
        yield Overload(function, key, (kind, kind), kind, impl)
    for function, key, params, result, impl in _MOMENTS:
        yield Overload(function, key, params, result, impl)
    for key, kind in (("add_string", STRING), ("add_bytes", BYTES)):
        yield Overload(
            "_+_", key, (kind, kind), kind, _plus, cost=_join_cost, estimate=_join_estimate
        )
    yield Overload(
        "_+_", "add_list", (LIST_T, LIST_T), LIST_T, operators.join_lists,
        estimate=_list_join_estimate,
    )  # fmt: skip
    yield Overload("-_", "negate_int64", (INT,), INT, operators.negate)
    yield Overload("-_", "negate_double", (DOUBLE,), DOUBLE, operators.negate)


def _containers() -> Iterator[Overload]:
    yield Overload(
        "@in", "in_list", (T, LIST_T), BOOL, operators.contains,
        cost=_in_cost, estimate=_in_estimate,
    )  # fmt: skip
    yield Overload("@in", "in_map", (K, MAP_KV), BOOL, operators.contains)
    yield Overload("_[_]", "index_list", (LIST_T, INT), T, operators.index)
    yield Overload("_[_]", "index_map", (MAP_KV, K), V, operators.index)


def _insertion() -> Iterator[Overload]:
    yield Overload("cel.@mapInsert", "@mapInsert_map_map", (MAP_KV, MAP_KV), MAP_KV, _undefined)
    yield Overload("cel.@mapInsert", "@mapInsert_map_key_value", (MAP_KV, K, V), MAP_KV, _undefined)


OVERLOADS: tuple[Overload, ...] = (
    *_logic(),
    *_equality(),
    *_order(),
    *_arithmetic(),
    *_containers(),
    *_insertion(),
)
_BY_VALUE = {
    function: tuple(overload for overload in overloads if overload.function == function)
    for function, overloads in (
        *dict.fromkeys(("_+_", "_-_", "_*_", "_/_", "_%_", "-_"), OVERLOADS).items(),
        ("size", standard.OVERLOADS),
    )
}
"""Functions that cel-go binds once for all overloads (SingletonBinaryBinding and the like)."""


def at_run_time(node: Call) -> tuple[Overload, ...]:
    """Return the overloads that are possible at run time, if operands can have other types than the
    checked ones."""
    if all(operand.runtime_type == operand.type for operand in node.operands):
        return node.overloads
    overloads = _BY_VALUE.get(node.function, node.overloads)
    is_receiver = node.target is not None
    return tuple(overload for overload in overloads if overload.receiver is is_receiver)
