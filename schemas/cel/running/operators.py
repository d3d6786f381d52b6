"""Operators at run time, for types that are unknown in advance or that differ from Python's.

Compiled rules contain the common cases inline, and call these functions for the others. Errors are
EvalErrors with cel-go's texts (common/types).
"""

import math
from collections.abc import Iterable
from typing import Any, Final

from inkube.schemas.cel.declarations.functions import NO_OVERLOAD, EvalError
from inkube.schemas.cel.declarations.types import Kind
from inkube.schemas.cel.declarations.values import (
    INT_MAX,
    INT_MIN,
    NONE,
    UINT_MAX,
    Duration,
    Optional,
    Timestamp,
    Uint,
    equal_or,
    type_of,
)
from inkube.schemas.cel.declarations.values import contains as contains_item
from inkube.schemas.golang import gofloats

_RECEIVERS = frozenset({Kind.STRING, Kind.TIMESTAMP, Kind.DURATION})
_INTEGERS = frozenset({Kind.INT, Kind.UINT})
_NUMBERS = _INTEGERS | {Kind.DOUBLE}
_ORDERED = _NUMBERS | _RECEIVERS | {Kind.BOOL, Kind.BYTES}
_OPERANDS: Final[dict[str, frozenset[Kind]]] = {
    "_+_": _NUMBERS | _RECEIVERS | {Kind.BYTES, Kind.LIST},
    "_-_": _NUMBERS | _RECEIVERS,
    "_*_": _NUMBERS | _RECEIVERS,
    "_/_": _NUMBERS | _RECEIVERS,
    "_%_": _INTEGERS | _RECEIVERS,
    "-_": _RECEIVERS | {Kind.INT, Kind.DOUBLE, Kind.BOOL},
    "size": _RECEIVERS | {Kind.BYTES, Kind.LIST, Kind.MAP},
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _ORDERED),
}
"""The types whose first operands an operator passes to them: their errors do not name it (the
traits of cel-go common/types/types.go, and types with ReceiverType)."""
MISSING: Final = object()
"""Stands for a variable without a value."""
_TEXTS: Final = frozenset({"contains", "startsWith", "endsWith", "matches"})
"""Functions that strings implement themselves; their errors name nothing."""
_GO_TYPES: Final[dict[str, str]] = {
    Kind.BOOL.value: "types.Bool",
    Kind.INT.value: "types.Int",
    Kind.UINT.value: "types.Uint",
    Kind.DOUBLE.value: "types.Double",
    Kind.STRING.value: "types.String",
    Kind.BYTES.value: "types.Bytes",
    Kind.NULL.value: "types.Null",
    Kind.TIMESTAMP.value: "types.Timestamp",
    Kind.DURATION.value: "types.Duration",
    Kind.LIST.value: "*types.baseList",
    Kind.MAP.value: "*types.baseMap",
    Kind.TYPE.value: "*types.Type",
    "optional_type": "*types.Optional",
    "kubernetes.NamedFormat": "*cel.Format",
}
_TIMESTAMP_MIN = -62135596800 * 10**9
_TIMESTAMP_MAX = 253402300799 * 10**9 + 999_999_999


def no_overload(function: str, *operands: Any) -> EvalError:
    """Return the error of a call for whose operands a function has no overload. It has the name of
    an operator that their types do not know, and the types for functions (evalBinary of cel-go
    interpreter/interpretable.go, MaybeNoSuchOverload of common/decls)."""
    kinds = [type_of(operand) for operand in operands]
    if function in _TEXTS or kinds[0].kind in _OPERANDS.get(function, ()):
        return EvalError(NO_OVERLOAD)
    if function in _OPERANDS:
        return EvalError(f"{NO_OVERLOAD}: {function}")
    names = ", ".join(kind.name for kind in kinds)
    return EvalError(f"{NO_OVERLOAD}: {function}({names})")


def go_type(value: Any) -> str:
    """Return the name of a value's type in Go, as some errors have it."""
    name = getattr(value, "go_type", "")
    kind = type_of(value)
    return name or _GO_TYPES.get(kind.name) or f"cel.{kind.name.rpartition('.')[2]}"


def resolved(value: Any, name: str) -> Any:
    """Return the value of a variable. Raises EvalError if it has none."""
    if value is MISSING:
        raise EvalError(f"no such attribute(s): {name}")
    return value


def checked_int(value: int) -> int:
    """Return the value if it fits into an int64. Raises EvalError."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise EvalError("integer overflow")


def checked_uint(value: int) -> Uint:
    """Return the value if it fits into a uint64. Raises EvalError."""
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    raise EvalError("unsigned integer overflow")


def shifted(moment: Timestamp, ns: int) -> Timestamp:
    """Return the timestamp that many nanoseconds later, in the same zone, if it is in the years 1
    to 9999. Raises EvalError."""
    if _TIMESTAMP_MIN <= moment.ns + ns <= _TIMESTAMP_MAX:
        return Timestamp(moment.ns + ns, moment.offset)
    raise EvalError("timestamp overflow")


def checked_duration(ns: int) -> Duration:
    """Return the duration if its nanoseconds fit into an int64. Raises EvalError."""
    if INT_MIN <= ns <= INT_MAX:
        return Duration(ns)
    raise EvalError("duration overflow")


def add_int(left: int, right: int) -> int:
    """int + int."""
    return checked_int(left + right)


def subtract_int(left: int, right: int) -> int:
    """int - int."""
    return checked_int(left - right)


def multiply_int(left: int, right: int) -> int:
    """int * int."""
    return checked_int(left * right)


def divide_int(left: int, right: int) -> int:
    """int / int, truncated toward zero."""
    if right == 0:
        raise EvalError("division by zero")
    quotient = abs(left) // abs(right)
    return checked_int(quotient if (left < 0) is (right < 0) else -quotient)


def modulo_int(left: int, right: int) -> int:
    """int % int, with the sign of the dividend."""
    if right == 0:
        raise EvalError("modulus by zero")
    if left == INT_MIN and right == -1:
        raise EvalError("integer overflow")
    remainder = abs(left) % abs(right)
    return -remainder if left < 0 else remainder


def negate_int(value: int) -> int:
    """-int."""
    return checked_int(-value)


def add_uint(left: int, right: int) -> Uint:
    """uint + uint."""
    return checked_uint(int(left) + int(right))


def subtract_uint(left: int, right: int) -> Uint:
    """uint - uint."""
    return checked_uint(int(left) - int(right))


def multiply_uint(left: int, right: int) -> Uint:
    """uint * uint."""
    return checked_uint(int(left) * int(right))


def divide_uint(left: int, right: int) -> Uint:
    """uint / uint."""
    if right == 0:
        raise EvalError("division by zero")
    return Uint(int(left) // int(right))


def modulo_uint(left: int, right: int) -> Uint:
    """uint % uint."""
    if right == 0:
        raise EvalError("modulus by zero")
    return Uint(int(left) % int(right))


def divide_double(left: float, right: float) -> float:
    """double / double. Division by zero returns infinity or NaN."""
    if right == 0:
        if left == 0 or left != left:
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1.0, right)
    return float(left) / float(right)


def join_lists(left: list[Any], right: list[Any]) -> list[Any]:
    """list + list. A keyed list or a set has its own rule; beside an empty list it stays one."""
    merge = getattr(left, "cel_add", None)
    if merge is not None:
        merged: list[Any] = merge(right)
        return merged
    return [*left, *right] if left and right else left or right


def _comparable(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool)
    if isinstance(left, int | float) and isinstance(right, int | float):
        if left != left or right != right:
            raise EvalError("NaN values cannot be ordered")
        return True
    if isinstance(left, str | bytes | Timestamp | Duration):
        return type(left) is type(right)
    return False


def _ordered(function: str, left: Any, right: Any) -> tuple[Any, Any]:
    """Return both values in a form that Python can compare. An int next to a double is rounded as
    in Go."""
    if not _comparable(left, right):
        raise no_overload(function, left)
    if isinstance(left, float) and isinstance(right, int):
        return left, float(right)
    if isinstance(right, float) and isinstance(left, int):
        return float(left), right
    return left, right


def less(left: Any, right: Any) -> bool:
    """`<` for any two values."""
    left, right = _ordered("_<_", left, right)
    return bool(left < right)


def less_equal(left: Any, right: Any) -> bool:
    """`<=` for any two values."""
    left, right = _ordered("_<=_", left, right)
    return bool(left <= right)


def greater(left: Any, right: Any) -> bool:
    """`>` for any two values."""
    left, right = _ordered("_>_", left, right)
    return bool(left > right)


def greater_equal(left: Any, right: Any) -> bool:
    """`>=` for any two values."""
    left, right = _ordered("_>=_", left, right)
    return bool(left >= right)


def unequal(left: Any, right: Any) -> bool:
    """`!=` for any two values. Those that cannot be compared are unequal."""
    return not equal_or(False, left, right)


def item(items: list[Any], index: Any) -> Any:
    """list[index]. An index can also be a uint or an integral double."""
    if type(index) is not int:
        index = _whole_index(index)
    if 0 <= index < len(items):
        return items[index]
    raise EvalError(f"index out of bounds: {index}")


def _whole_index(index: Any) -> int:
    if isinstance(index, Uint):
        return int(index)
    if isinstance(index, float):
        if index.is_integer():
            return int(index)
        raise EvalError(f"unsupported index value {index} in list")
    if not is_key(index):
        raise missing_key(index)
    raise EvalError(f"unsupported index type '{type_of(index).name}' in list")


def object_entry(mapping: dict[str, Any], key: Any) -> Any:
    """map[key] of a map of an object, for keys that are not known to be strings."""
    if not isinstance(key, str):
        raise EvalError(NO_OVERLOAD) if is_key(key) else missing_key(key)
    return mapping[key]


def _check_key(mapping: dict[Any, Any], key: Any) -> None:
    """Raise EvalError for a key, no text, that the map does not accept; keys of a map of an object
    are texts."""
    if not is_key(key):
        raise missing_key(key)
    if hasattr(mapping, "cel_equal"):
        raise EvalError(NO_OVERLOAD)


def entry(mapping: dict[Any, Any], key: Any) -> Any:
    """map[key], for keys that are not strings."""
    if hasattr(mapping, "cel_equal"):
        return object_entry(mapping, key)
    if has_key(mapping, key):
        return mapping[key]
    raise missing_key(key)


def has_key(mapping: dict[Any, Any], key: Any) -> bool:
    """`key in map`; true is not 1."""
    if isinstance(key, list | dict | Optional) or key is None:
        return False
    if key not in mapping:
        return False
    if isinstance(key, bool | int | float) and (key in (0, 1)):
        is_bool = isinstance(key, bool)
        return any(isinstance(existing, bool) is is_bool for existing in mapping if existing == key)
    return True


def key_text(key: Any) -> str:
    """Return a key in the form of the error `no such key`."""
    if isinstance(key, bool):
        return "true" if key else "false"
    return gofloats.format_general(key) if isinstance(key, float) else str(key)


def index(container: Any, key: Any) -> Any:
    """container[key] of unknown type."""
    if isinstance(container, dict):
        return entry(container, key)
    if isinstance(container, list | tuple):
        return item(list(container) if isinstance(container, tuple) else container, key)
    if isinstance(container, Optional):
        return optional_index(container, key)
    raise missing_key(key)


def is_key(value: Any) -> bool:
    """Return whether a value can be an index or a key at all."""
    return isinstance(value, bool | int | float | str)


def missing_key(key: Any) -> EvalError:
    """Return the error for a missing key, also of values without keys (refQualify in cel-go
    interpreter/attributes.go)."""
    if not is_key(key):
        return EvalError(f"invalid qualifier type: {go_type(key)}")
    return EvalError(f"no such key: {key_text(key)}")


def optional_index(container: Any, key: Any) -> Optional:
    """container[?key]: NONE if the key, the index or the container does not exist."""
    if isinstance(container, Optional):
        if not container.present:
            return NONE
        container = container.value
    if isinstance(container, dict):
        if not isinstance(key, str):
            _check_key(container, key)
        return Optional(container[key]) if has_key(container, key) else NONE
    if isinstance(container, list | tuple):
        if type(key) is not int:
            key = _whole_index(key)
        return Optional(container[key]) if 0 <= key < len(container) else NONE
    if not is_key(key):
        raise missing_key(key)
    return NONE


def select(value: Any, key: str) -> Any:
    """value.key of unknown type."""
    if isinstance(value, dict):
        return value[key]
    if isinstance(value, Optional):
        return optional_index(value, key)
    if isinstance(value, list | tuple):
        return _whole_index(key)
    raise missing_key(key)


def optional_select(value: Any, key: str) -> Optional:
    """value.?key: NONE if the key is absent."""
    if isinstance(value, Optional):
        if not value.present:
            return NONE
        value = value.value
    if isinstance(value, dict):
        return Optional(value[key]) if key in value else NONE
    if isinstance(value, list | tuple):
        _whole_index(key)
    return NONE


def has(value: Any, key: str) -> bool:
    """has(value.key) of unknown type."""
    if isinstance(value, dict):
        return key in value
    if isinstance(value, Optional):
        return value.present and has(value.value, key)
    if isinstance(value, list | tuple):
        _whole_index(key)
    return False


def contains(value: Any, container: Any) -> bool:
    """`value in container` for a list or a map."""
    if isinstance(container, dict):
        if hasattr(container, "cel_equal") and not isinstance(value, str):
            raise EvalError(NO_OVERLOAD)
        return has_key(container, value)
    if isinstance(container, list | tuple):
        return contains_item(container, value)
    raise EvalError(NO_OVERLOAD)


def iterate(value: Any) -> Iterable[Any]:
    """Return the items or keys for a comprehension over a value of unknown type."""
    if isinstance(value, list | tuple | dict):
        return value
    raise EvalError(f"got '{go_type(value)}', expected iterable type")


def pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    """Return pairs of index and item, or of key and value."""
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, list | tuple):
        return enumerate(value)
    raise EvalError(f"unsupported comprehension range type: {go_type(value)}")


def size(value: Any) -> int:
    """size() of a string, bytes, list or map."""
    if isinstance(value, str | bytes | list | tuple | dict):
        return len(value)
    raise no_overload("size", value)


def negate(value: Any) -> Any:
    """`-value` of unknown type."""
    if isinstance(value, int) and not isinstance(value, bool | Uint):
        return negate_int(value)
    if isinstance(value, float):
        return -value
    if isinstance(value, Duration):
        return checked_duration(-value.ns)
    raise no_overload("-_", value)


def optional(value: Any) -> Optional:
    """Return the value, in an optional unless it is one."""
    return value if isinstance(value, Optional) else Optional(value)


def boolean(value: Any) -> bool:
    """Return the value. Raises EvalError if it is not a bool."""
    if value is True or value is False:
        return value
    raise EvalError(NO_OVERLOAD)


def invert(value: Any) -> bool:
    """`!value` of unknown type."""
    return not boolean(value)


def insert(mapping: dict[Any, Any], key: Any, value: Any) -> None:
    """Add an entry to a map that is being built."""
    if not isinstance(key, str | int | bool):
        raise EvalError("unsupported key type")
    if key in mapping:
        raise EvalError(f"insert failed: key {key_text(key)} already exists")
    mapping[key] = value
