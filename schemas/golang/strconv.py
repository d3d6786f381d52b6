"""Integers and booleans as text, parsed as in Go's strconv. Floats are in `gofloats`.

Errors are ValueError with the texts of strconv.
"""

import re
from typing import Final

from inkube.schemas.golang import gotext

_UNSIGNED: Final = re.compile(r"[0-9]+", re.ASCII)
_SIGNED: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_DIGITS_MAX: Final = 40
"""More digits than any 64-bit number has, without leading zeros."""


def parse_int(text: str) -> int:
    """`strconv.ParseInt(text, 10, 64)`."""
    if not _SIGNED.fullmatch(text):
        raise failed("ParseInt", text, "invalid syntax")
    value = _bounded(text)
    if not -(2**63) <= value < 2**63:
        raise failed("ParseInt", text, "value out of range")
    return value


def parse_uint(text: str, *, bits: int = 64) -> int:
    """`strconv.ParseUint(text, 10, bits)`."""
    if not _UNSIGNED.fullmatch(text):
        raise failed("ParseUint", text, "invalid syntax")
    value = _bounded(text)
    if value >= 2**bits:
        raise failed("ParseUint", text, "value out of range")
    return value


def atoi(text: str) -> int:
    """`strconv.Atoi`: like `parse_int`, with its own name in errors."""
    try:
        return parse_int(text)
    except ValueError as error:
        raise ValueError(str(error).replace("ParseInt", "Atoi", 1)) from None


def parse_bool(text: str) -> bool:
    """`strconv.ParseBool`: 1, t, T, TRUE, true, True and their opposites."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise failed("ParseBool", text, "invalid syntax")


def failed(function: str, text: str, error: str) -> ValueError:
    """Return the error of a strconv function (`strconv.NumError`)."""
    return ValueError(f"strconv.{function}: parsing {gotext.quote(text)}: {error}")


def _bounded(text: str) -> int:
    """Return the number, or another number out of range if it has too many digits."""
    digits = text.lstrip("+-").lstrip("0")
    if len(digits) > _DIGITS_MAX:
        return -(2**64) if text.startswith("-") else 2**64
    return int(text)
