"""Operators at run time, for types that are unknown in advance or that differ from Python's.

Compiled rules contain the common cases inline, and call these functions for the others. Errors are
EvalErrors with cel-go's texts (common/types).
"""

import math
from collections.abc import Iterable
from typing import Any, Final

from inkube.schemas.cel.declarations.functions import NO_OVERLOAD, EvalError
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

MISSING: Final = object()
"""Stands for a variable without a value."""
_TIMESTAMP_MIN = -62135596800 * 10**9
_TIMESTAMP_MAX = 253402300799 * 10**9 + 999_999_999


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
    """list + list. A keyed list or a set has its own rule."""
    merge = getattr(left, "cel_add", None)
    merged: list[Any] = merge(right) if merge else [*left, *right]
    return merged


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


def _ordered(left: Any, right: Any) -> tuple[Any, Any]:
    """Return both values in a form that Python can compare. An int next to a double is rounded as
    in Go."""
    if not _comparable(left, right):
        raise EvalError(NO_OVERLOAD)
    if isinstance(left, float) and isinstance(right, int):
        return left, float(right)
    if isinstance(right, float) and isinstance(left, int):
        return float(left), right
    return left, right


def less(left: Any, right: Any) -> bool:
    """`<` for any two values."""
    left, right = _ordered(left, right)
    return bool(left < right)


def less_equal(left: Any, right: Any) -> bool:
    """`<=` for any two values."""
    left, right = _ordered(left, right)
    return bool(left <= right)


def greater(left: Any, right: Any) -> bool:
    """`>` for any two values."""
    left, right = _ordered(left, right)
    return bool(left > right)


def greater_equal(left: Any, right: Any) -> bool:
    """`>=` for any two values."""
    left, right = _ordered(left, right)
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
    raise EvalError(f"unsupported index type '{_type_name(index)}' in list")


def _type_name(value: Any) -> str:
    return type_of(value).name


def entry(mapping: dict[Any, Any], key: Any) -> Any:
    """map[key], for keys that are not strings."""
    if has_key(mapping, key):
        return mapping[key]
    raise _missing(key)


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
    return str(key)


def index(container: Any, key: Any) -> Any:
    """container[key] of unknown type."""
    if isinstance(container, dict):
        return entry(container, key)
    if isinstance(container, list | tuple):
        return item(list(container) if isinstance(container, tuple) else container, key)
    if isinstance(container, Optional):
        return optional_index(container, key)
    raise _missing(key)


def _missing(key: Any) -> EvalError:
    """Return the error for a missing key, also of values without keys (refQualify in cel-go
    interpreter/attributes.go)."""
    return EvalError(f"no such key: {key_text(key)}")


def optional_index(container: Any, key: Any) -> Optional:
    """container[?key]: NONE if the key, the index or the container does not exist."""
    if isinstance(container, Optional):
        if not container.present:
            return NONE
        container = container.value
    if isinstance(container, dict):
        return Optional(container[key]) if has_key(container, key) else NONE
    if isinstance(container, list | tuple):
        if type(key) is not int:
            key = _whole_index(key)
        return Optional(container[key]) if 0 <= key < len(container) else NONE
    return NONE


def select(value: Any, key: str) -> Any:
    """value.key of unknown type."""
    if isinstance(value, dict):
        return value[key]
    if isinstance(value, Optional):
        return optional_index(value, key)
    if isinstance(value, list | tuple):
        return _whole_index(key)
    raise _missing(key)


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
        return has_key(container, value)
    if isinstance(container, list | tuple):
        return contains_item(container, value)
    raise EvalError(NO_OVERLOAD)


def iterate(value: Any) -> Iterable[Any]:
    """Return the items or keys for a comprehension over a value of unknown type."""
    if isinstance(value, list | tuple | dict):
        return value
    raise EvalError(NO_OVERLOAD)


def pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    """Return pairs of index and item, or of key and value."""
    if isinstance(value, dict):
        return value.items()
    return enumerate(iterate(value))


def size(value: Any) -> int:
    """size() of a string, bytes, list or map."""
    if isinstance(value, str | bytes | list | tuple | dict):
        return len(value)
    raise EvalError(NO_OVERLOAD)


def negate(value: Any) -> Any:
    """`-value` of unknown type."""
    if isinstance(value, bool | Uint):
        raise EvalError(NO_OVERLOAD)
    if isinstance(value, int):
        return negate_int(value)
    if isinstance(value, float):
        return -value
    raise EvalError(NO_OVERLOAD)


def optional(value: Any) -> Optional:
    """Return the value. Raises EvalError if it is not an optional."""
    if isinstance(value, Optional):
        return value
    raise EvalError(NO_OVERLOAD)


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
