"""Conversions between the types: int(), string(), timestamp(), …; type() and dyn().

Upstream: cel-go common/types (ConvertToType of each type), common/stdlib/standard.go.
"""

import math
from collections.abc import Callable
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
    NO_OVERLOAD,
    CostFunction,
    EstimateFunction,
    EvalError,
    Impl,
    Overload,
)
from inkube.schemas.cel.declarations.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    T,
    Type,
    type_of,
)
from inkube.schemas.cel.declarations.values import Duration, Timestamp, Uint
from inkube.schemas.cel.library import costs
from inkube.schemas.cel.library.overloads import folded
from inkube.schemas.golang import gofloats, gotime, rfc3339, strconv

INT_OVERFLOW: Final = "integer overflow"
UINT_OVERFLOW: Final = "unsigned integer overflow"
TIMESTAMP_OVERFLOW: Final = "timestamp overflow"
TIMESTAMP_MIN: Final = -62_135_596_800
"""Seconds of 0001-01-01T00:00:00Z."""
TIMESTAMP_MAX: Final = 253_402_300_799
"""Seconds of 9999-12-31T23:59:59Z."""


def _identity(value: Any) -> Any:
    return value


def _identity_of_time(value: Any) -> Any:
    """Return a timestamp or a duration. Raises EvalError for null, which the checker accepts as
    both, but for which cel-go has no overload at run time."""
    if value is None:
        raise EvalError(NO_OVERLOAD)
    return value


def _reading(type: Type, parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a conversion of texts. It raises EvalError where `parse` raises ValueError."""

    def read(text: str) -> Any:
        try:
            return parse(text)
        except ValueError:
            refusal = f"type conversion error from 'string' to '{type.name}'"
            raise EvalError(refusal) from None

    return read


def double_to_int(value: float) -> int:
    """Truncate toward zero. As in cel-go, the limits of int64 themselves overflow."""
    if math.isfinite(value) and -(2.0**63) < value < 2.0**63:
        return int(value)
    raise EvalError(INT_OVERFLOW)


def double_to_uint(value: float) -> Uint:
    """Truncate toward zero. Negative values overflow."""
    if math.isfinite(value) and 0 <= value < 2.0**64:
        return Uint(value)
    raise EvalError(UINT_OVERFLOW)


def uint_to_int(value: int) -> int:
    """Convert a uint. Raises EvalError if it does not fit into an int64."""
    if value > values.INT_MAX:
        raise EvalError(INT_OVERFLOW)
    return int(value)


def int_to_uint(value: int) -> Uint:
    """Convert an int. Raises EvalError for negative values."""
    if value < 0:
        raise EvalError(UINT_OVERFLOW)
    return Uint(value)


def int_to_timestamp(seconds: int) -> Timestamp:
    """Convert seconds since 1970."""
    return timestamp(seconds * gotime.SECOND)


def timestamp(ns: int, offset: int = 0) -> Timestamp:
    """Return the timestamp for nanoseconds, in the years 1 to 9999, in a zone that is `offset`
    seconds east of UTC. Raises EvalError."""
    if not TIMESTAMP_MIN <= ns // gotime.SECOND <= TIMESTAMP_MAX:
        raise EvalError(TIMESTAMP_OVERFLOW)
    return Timestamp(ns, offset)


string_to_int = _reading(INT, strconv.parse_int)
string_to_uint = _reading(UINT, lambda text: Uint(strconv.parse_uint(text)))
string_to_double = _reading(DOUBLE, gofloats.parse_float)
string_to_bool = _reading(BOOL, strconv.parse_bool)
string_to_timestamp = _reading(TIMESTAMP, lambda text: timestamp(*rfc3339.instant(text)))
string_to_duration = _reading(DURATION, lambda text: Duration(gotime.parse_duration(text)))


def bytes_to_string(data: bytes) -> str:
    """Decode UTF-8. Raises EvalError for other bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise EvalError("invalid UTF-8 in bytes, cannot convert to string") from None


def bool_to_string(value: bool) -> str:
    """Return `true` or `false`."""
    return "true" if value else "false"


def int_to_duration(value: int) -> Duration:
    """Raise EvalError: the function is declared, but ints do not implement it."""
    raise EvalError(f"type conversion error from 'int' to '{DURATION.name}'")


def duration_to_string(value: Duration) -> str:
    """Return the duration in seconds: `5400s`, `0.25s`."""
    return gotime.format_seconds(value.ns)


def timestamp_to_string(value: Timestamp) -> str:
    """Return the timestamp as RFC 3339 in its zone."""
    return rfc3339.write(value.ns, value.offset)


def to_string(value: Any) -> str:
    """string() of a bool, number, string, bytes, timestamp, duration or type.

    Raises EvalError for anything else.
    """
    if isinstance(value, Type):
        return value.name
    convert = _TO_STRING.get(values.type_of(value).kind)
    if convert is None:
        raise EvalError(NO_OVERLOAD)
    return convert(value)


_TO_STRING: Final[dict[Any, Callable[[Any], str]]] = {
    BOOL.kind: bool_to_string,
    INT.kind: int.__repr__,
    UINT.kind: int.__repr__,
    DOUBLE.kind: gofloats.format_general,
    STRING.kind: _identity,
    BYTES.kind: bytes_to_string,
    TIMESTAMP.kind: timestamp_to_string,
    DURATION.kind: duration_to_string,
}


def _string_to_bytes(arguments: tuple[Argument, ...]) -> CallEstimate:
    size = arguments[0].size
    return CallEstimate(size.times(STRING_FACTOR), Range(size.min, min(size.max * 4, TOP)))


def _bytes_to_string(arguments: tuple[Argument, ...]) -> CallEstimate:
    size = arguments[0].size
    return CallEstimate(size.times(STRING_FACTOR), Range(size.min // 4, size.max))


def _conversion(
    id: str,
    types: tuple[Type, Type],
    impl: Impl,
    *,
    cost: CostFunction | int = 1,
    estimate: EstimateFunction | None = None,
) -> Overload:
    source, target = types
    function = id.partition("_to_")[2].rstrip("0123456789")
    return Overload(
        function,
        id,
        (source,),
        target,
        impl,
        cost=cost,
        estimate=estimate,
        specialise=folded(impl),
        fails=impl not in _SAFE,
    )


def _timestamp_to_int(value: Timestamp) -> int:
    return value.ns // gotime.SECOND


def _nanoseconds(value: Duration) -> int:
    return value.ns


_SAFE: Final = frozenset(
    {
        _identity, float, int.__repr__, gofloats.format_general, bool_to_string, str.encode,
        timestamp_to_string, duration_to_string, _timestamp_to_int, _nanoseconds,
    }
)  # fmt: skip

OVERLOADS: Final[tuple[Overload, ...]] = (
    _conversion("int64_to_int64", (INT, INT), _identity),
    _conversion("double_to_int64", (DOUBLE, INT), double_to_int),
    _conversion("duration_to_int64", (DURATION, INT), _nanoseconds),
    _conversion("string_to_int64", (STRING, INT), string_to_int),
    _conversion("timestamp_to_int64", (TIMESTAMP, INT), _timestamp_to_int),
    _conversion("uint64_to_int64", (UINT, INT), uint_to_int),
    _conversion("uint64_to_uint64", (UINT, UINT), _identity),
    _conversion("double_to_uint64", (DOUBLE, UINT), double_to_uint),
    _conversion("int64_to_uint64", (INT, UINT), int_to_uint),
    _conversion("string_to_uint64", (STRING, UINT), string_to_uint),
    _conversion("double_to_double", (DOUBLE, DOUBLE), _identity),
    _conversion("int64_to_double", (INT, DOUBLE), float),
    _conversion("string_to_double", (STRING, DOUBLE), string_to_double),
    _conversion("uint64_to_double", (UINT, DOUBLE), float),
    _conversion("bool_to_bool", (BOOL, BOOL), _identity),
    _conversion("string_to_bool", (STRING, BOOL), string_to_bool),
    _conversion("bytes_to_bytes", (BYTES, BYTES), _identity),
    _conversion(
        "string_to_bytes",
        (STRING, BYTES),
        str.encode,
        cost=costs.per_size(),
        estimate=_string_to_bytes,
    ),
    _conversion("string_to_string", (STRING, STRING), _identity),
    _conversion("bool_to_string", (BOOL, STRING), bool_to_string),
    _conversion(
        "bytes_to_string",
        (BYTES, STRING),
        bytes_to_string,
        cost=costs.per_size(),
        estimate=_bytes_to_string,
    ),
    _conversion("double_to_string", (DOUBLE, STRING), gofloats.format_general),
    _conversion("duration_to_string", (DURATION, STRING), duration_to_string),
    _conversion("int64_to_string", (INT, STRING), int.__repr__),
    _conversion("timestamp_to_string", (TIMESTAMP, STRING), timestamp_to_string),
    _conversion("uint64_to_string", (UINT, STRING), int.__repr__),
    _conversion("timestamp_to_timestamp", (TIMESTAMP, TIMESTAMP), _identity_of_time),
    _conversion("int64_to_timestamp", (INT, TIMESTAMP), int_to_timestamp),
    _conversion("string_to_timestamp", (STRING, TIMESTAMP), string_to_timestamp),
    _conversion("duration_to_duration", (DURATION, DURATION), _identity_of_time),
    _conversion("int64_to_duration", (INT, DURATION), int_to_duration),
    _conversion("string_to_duration", (STRING, DURATION), string_to_duration),
    Overload("dyn", "to_dyn", (T,), DYN, _identity, fails=False),
    Overload("type", "type", (T,), type_of(T), values.type_of, fails=False),
)
