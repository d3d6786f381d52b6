"""Runtime values: plain JSON values of Python, and small classes for other types.

| CEL | Python |
| --- | --- |
| bool, int, double, string, null | bool, int, float, str, None |
| list, map and object, bytes | list, dict, bytes |
| uint | Uint, a subclass of int |
| timestamp, duration | Timestamp, Duration: nanoseconds in `ns` |
| type | types.Type |
| optional | Optional |
| opaque (quantity, IP, …) | a class with the attribute `cel_type: ClassVar[types.Type]` |

`bool` is not a number in CEL, but it is one in Python. Compare with `equal`, not with `==`, unless
both types are known.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.functions import NO_OVERLOAD, EvalError
from inkube.schemas.cel.declarations.types import Type

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1


class Uint(int):
    """An unsigned 64-bit integer; equal to the int of the same value."""

    __slots__ = ()


class _Nanoseconds:
    """A count of nanoseconds. It can be compared only with values of the same class."""

    __slots__ = ("ns",)

    def __init__(self, ns: int) -> None:
        self.ns = ns

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.ns == self.ns

    def __hash__(self) -> int:
        return hash((type(self), self.ns))

    def __lt__(self, other: "_Nanoseconds") -> bool:
        return self.ns < other.ns

    def __le__(self, other: "_Nanoseconds") -> bool:
        return self.ns <= other.ns

    def __gt__(self, other: "_Nanoseconds") -> bool:
        return self.ns > other.ns

    def __ge__(self, other: "_Nanoseconds") -> bool:
        return self.ns >= other.ns

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.ns})"


class Timestamp(_Nanoseconds):
    """A point in time: nanoseconds since 1970 in UTC, years 1 to 9999."""

    __slots__ = ("offset",)

    def __init__(self, ns: int, offset: int = 0) -> None:
        super().__init__(ns)
        self.offset = offset
        """The zone of its text, in seconds east of UTC; it does not count in comparisons."""


class Duration(_Nanoseconds):
    """A span of time, within the nanoseconds of an int64."""

    __slots__ = ()


class Optional:
    """optional_type(T): a value, or no value (`NONE`)."""

    __slots__ = ("present", "value")

    def __init__(self, value: Any, present: bool = True) -> None:
        self.value = value
        self.present = present

    def __repr__(self) -> str:
        return f"Optional({self.value!r})" if self.present else "NONE"


NONE: Final = Optional(None, present=False)

_TYPES: dict[type, Type] = {
    bool: types.BOOL,
    int: types.INT,
    Uint: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    type(None): types.NULL,
    list: types.LIST_DYN,
    tuple: types.LIST_DYN,
    dict: types.map_of(types.DYN, types.DYN),
    Timestamp: types.TIMESTAMP,
    Duration: types.DURATION,
    Type: types.type_of(types.DYN),
    Optional: types.optional_of(types.DYN),
}


def type_of(value: Any) -> Type:
    """Return the runtime type, with dyn inside containers. Raises TypeError for other Python
    values."""
    cel_type = _TYPES.get(type(value))
    if cel_type is not None:
        return cel_type
    opaque = getattr(value, "cel_type", None)
    if isinstance(opaque, Type):
        return opaque
    for base in type(value).__mro__[1:]:
        if base in _TYPES:
            return _TYPES[base]
    raise TypeError(f"{type(value).__name__} is not a CEL value")


def equal(left: Any, right: Any) -> bool:
    """CEL's `==`: numbers across types, false for unlike types, deep for containers. Raises
    EvalError for values that cannot be compared."""
    kind, other = type(left), type(right)
    if kind is other and kind in _PLAIN:
        return bool(left == right)
    if isinstance(left, list | tuple):
        return _equal_lists(left, right)
    if isinstance(left, dict):
        return _equal_maps(left, right)
    if kind not in _TYPES and hasattr(left, "cel_type") and kind is not other and right is not None:
        raise EvalError(NO_OVERLOAD)
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Optional):
        return _equal_optionals(left, right)
    if isinstance(left, Type):
        return isinstance(right, Type) and left.name == right.name
    return bool(left == right)


_PLAIN = frozenset({str, int, float, bytes, bool, Timestamp, Duration})


def _equal_lists(left: Any, right: Any) -> bool:
    custom = getattr(left, "cel_equal", None)
    if custom is not None and right is not None:
        return bool(custom(right))
    return (
        isinstance(right, list | tuple)
        and len(left) == len(right)
        and all(map(partial(equal_or, True), left, right))
    )


def _equal_maps(left: dict[Any, Any], right: Any) -> bool:
    custom = getattr(left, "cel_equal", None)
    if custom is not None and right is not None:
        return bool(custom(right))
    if not isinstance(right, dict) or len(left) != len(right):
        return False
    for key, value in left.items():
        if key not in right or not equal_or(True, value, right[key]):
            return False
    return True


def equal_or(otherwise: bool, left: Any, right: Any) -> bool:
    """Return whether two values are equal, or `otherwise` if they cannot be compared.

    As upstream, parts of containers then count as equal (baseList and baseMap of cel-go
    common/types: only a false ends the comparison), operands of `!=` and items that are searched
    for as unequal.
    """
    try:
        return equal(left, right)
    except EvalError:
        return otherwise


def _equal_optionals(left: Optional, right: Any) -> bool:
    if not isinstance(right, Optional) or left.present != right.present:
        return False
    return not left.present or equal(left.value, right.value)


def contains(items: Iterable[Any], value: Any) -> bool:
    """Return whether a list contains the value, compared with `equal`. Raises EvalError if it is a
    list of an object, and only items that cannot be compared could be the value."""
    if type(value) is str and type(items) is list:
        return value in items
    custom = getattr(items, "cel_contains", None)
    if custom is not None:
        return bool(custom(value))
    return any(equal_or(False, value, item) for item in items)
