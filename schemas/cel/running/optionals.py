"""Optional values: cel-go cel/library.go, OptionalTypes. The macros are in `macros`."""

from typing import Any

from inkube.schemas.cel.declarations.functions import EvalError, Overload
from inkube.schemas.cel.declarations.types import (  # fmt: skip
    BOOL,
    INT,
    LIST_T,
    MAP_KV,
    OPTIONAL_T,
    K,
    T,
    V,
    list_of,
    map_of,
    optional_of,
)
from inkube.schemas.cel.declarations.values import NONE, Duration, Optional, Timestamp
from inkube.schemas.cel.running import operators


def _of_non_zero(value: Any) -> Optional:
    return NONE if _is_zero(value) else Optional(value)


def _is_zero(value: Any) -> bool:
    if isinstance(value, Duration):
        return value.ns == 0
    if isinstance(value, Timestamp):
        return value.ns == -62135596800 * 10**9
    if isinstance(value, bool | int | float | str | bytes | list | dict) or value is None:
        return not value
    return False


def _value(optional: Optional) -> Any:
    if not optional.present:
        raise EvalError("optional.none() dereference")
    return optional.value


def _or(optional: Optional, other: Optional) -> Optional:
    return optional if optional.present else other


def _or_value(optional: Optional, default: Any) -> Any:
    return optional.value if optional.present else default


def _none() -> Optional:
    return NONE


def _has_value(optional: Optional) -> bool:
    return optional.present


def _unwrap(optionals: list[Optional]) -> list[Any]:
    for optional in optionals:
        if not isinstance(optional, Optional):
            raise EvalError(f"value {optional} is not optional")
    return [optional.value for optional in optionals if optional.present]


def _first(items: list[Any]) -> Optional:
    return Optional(items[0]) if items else NONE


def _last(items: list[Any]) -> Optional:
    return Optional(items[-1]) if items else NONE


_OPTIONAL_V = optional_of(V)
_OPTIONALS = list_of(OPTIONAL_T)
OVERLOADS: tuple[Overload, ...] = (
    Overload("optional.of", "optional_of", (T,), OPTIONAL_T, Optional, fails=False),
    Overload(
        "optional.ofNonZeroValue", "optional_ofNonZeroValue", (T,), OPTIONAL_T, _of_non_zero,
        fails=False,
    ),
    Overload("optional.none", "optional_none", (), OPTIONAL_T, _none, fails=False),
    Overload("value", "optional_value", (OPTIONAL_T,), T, _value, receiver=True),
    Overload("hasValue", "optional_hasValue", (OPTIONAL_T,), BOOL, _has_value, receiver=True),
    Overload("or", "optional_or_optional", (OPTIONAL_T, OPTIONAL_T), OPTIONAL_T, _or,
             receiver=True),
    Overload("orValue", "optional_orValue_value", (OPTIONAL_T, T), T, _or_value, receiver=True),
    Overload("optional.unwrap", "optional_unwrap", (_OPTIONALS,), LIST_T, _unwrap),
    Overload("unwrapOpt", "optional_unwrapOpt", (_OPTIONALS,), LIST_T, _unwrap, receiver=True),
    Overload("first", "list_first", (LIST_T,), OPTIONAL_T, _first, receiver=True),
    Overload("last", "list_last", (LIST_T,), OPTIONAL_T, _last, receiver=True),
    Overload("_[?_]", "list_optindex_optional_int", (LIST_T, INT), OPTIONAL_T,
             operators.optional_index),
    Overload("_[?_]", "optional_list_optindex_optional_int", (optional_of(LIST_T), INT), OPTIONAL_T,
             operators.optional_index),
    Overload("_[?_]", "map_optindex_optional_value", (MAP_KV, K), _OPTIONAL_V,
             operators.optional_index),
    Overload("_[?_]", "optional_map_optindex_optional_value", (optional_of(map_of(K, V)), K),
             _OPTIONAL_V, operators.optional_index),
    Overload("_[_]", "optional_list_index_int", (optional_of(LIST_T), INT), OPTIONAL_T,
             operators.index),
    Overload("_[_]", "optional_map_index_value", (optional_of(map_of(K, V)), K), _OPTIONAL_V,
             operators.index),
)  # fmt: skip
