"""int(), uint(), double(), string(), bytes() and bool() of plain values, with cel-go's texts."""

import math
import re
from typing import Any

from inkube.schemas import gotext
from inkube.schemas.cel.functions import EvalError, Impl
from inkube.schemas.cel.types import BOOL, BYTES, DOUBLE, INT, STRING, UINT, Type
from inkube.schemas.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint

_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_UNSIGNED = re.compile(r"[0-9]+", re.ASCII)
_DOUBLE = re.compile(
    r"[+-]?(?:(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)",
    re.ASCII | re.IGNORECASE,
)
_BOOLEANS = {
    "1": True, "t": True, "T": True, "TRUE": True, "true": True, "True": True,
    "0": False, "f": False, "F": False, "FALSE": False, "false": False, "False": False,
}  # fmt: skip


def _failed(source: str, target: str) -> EvalError:
    return EvalError(f"type conversion error from '{source}' to '{target}'")


def _same(value: Any) -> Any:
    return value


def _int_of_string(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise _failed("string", "int")
    value = int(text)
    if not INT_MIN <= value <= INT_MAX:
        raise _failed("string", "int")
    return value


def _int_of_double(value: float) -> int:
    if not -9223372036854775808.0 < value < 9223372036854775808.0:
        raise EvalError("integer overflow")
    return int(value)


def _int_of_uint(value: Uint) -> int:
    if value > INT_MAX:
        raise EvalError("integer overflow")
    return int(value)


def _uint_of_string(text: str) -> Uint:
    if not _UNSIGNED.fullmatch(text) or int(text) > UINT_MAX:
        raise _failed("string", "uint")
    return Uint(text)


def _uint_of_int(value: int) -> Uint:
    if value < 0:
        raise EvalError("unsigned integer overflow")
    return Uint(value)


def _uint_of_double(value: float) -> Uint:
    if not 0 <= value < 18446744073709551616.0:
        raise EvalError("unsigned integer overflow")
    return Uint(value)


def _double_of_string(text: str) -> float:
    if not _DOUBLE.fullmatch(text) or "_" in text:
        raise _failed("string", "double")
    value = float(text)
    if math.isinf(value) and "inf" not in text.lower():
        raise _failed("string", "double")
    return value


def _bool_of_string(text: str) -> bool:
    if text not in _BOOLEANS:
        raise _failed("string", "bool")
    return _BOOLEANS[text]


def _string_of_bool(value: bool) -> str:
    return "true" if value else "false"


def string_of_double(value: float) -> str:
    """strconv.FormatFloat(value, 'g', -1, 64), as string(double) shows it."""
    return gotext.number(float(value))


def _string_of_bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvalError("invalid UTF-8 in bytes, cannot convert to string") from None


TABLE: tuple[tuple[str, str, Type, Type, Impl], ...] = (
    ("int", "int64_to_int64", INT, INT, _same),
    ("int", "double_to_int64", DOUBLE, INT, _int_of_double),
    ("int", "string_to_int64", STRING, INT, _int_of_string),
    ("int", "uint64_to_int64", UINT, INT, _int_of_uint),
    ("uint", "uint64_to_uint64", UINT, UINT, _same),
    ("uint", "double_to_uint64", DOUBLE, UINT, _uint_of_double),
    ("uint", "int64_to_uint64", INT, UINT, _uint_of_int),
    ("uint", "string_to_uint64", STRING, UINT, _uint_of_string),
    ("double", "double_to_double", DOUBLE, DOUBLE, _same),
    ("double", "int64_to_double", INT, DOUBLE, float),
    ("double", "string_to_double", STRING, DOUBLE, _double_of_string),
    ("double", "uint64_to_double", UINT, DOUBLE, float),
    ("bool", "bool_to_bool", BOOL, BOOL, _same),
    ("bool", "string_to_bool", STRING, BOOL, _bool_of_string),
    ("string", "string_to_string", STRING, STRING, _same),
    ("string", "bool_to_string", BOOL, STRING, _string_of_bool),
    ("string", "bytes_to_string", BYTES, STRING, _string_of_bytes),
    ("string", "double_to_string", DOUBLE, STRING, string_of_double),
    ("string", "int64_to_string", INT, STRING, str),
    ("string", "uint64_to_string", UINT, STRING, str),
    ("bytes", "bytes_to_bytes", BYTES, BYTES, _same),
    ("bytes", "string_to_bytes", STRING, BYTES, str.encode),
)
"""Function, overload id, parameter, result, implementation."""
