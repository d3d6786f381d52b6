"""Numbers as text, read and written as Go's strconv does.

Used by CEL conversions and by formats. Errors are ValueError with strconv's own texts.
"""

import re
from decimal import Decimal
from typing import Final

from inkube.schemas import gotext

_UNSIGNED: Final = re.compile(r"[0-9]+", re.ASCII)
_SIGNED: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_FLOAT: Final = re.compile(
    r"[+-]?(?:[0-9](?:_?[0-9])*(?:\.(?:[0-9](?:_?[0-9])*)?)?|\.[0-9](?:_?[0-9])*)"
    r"(?:[eE][+-]?[0-9](?:_?[0-9])*)?",
    re.ASCII,
)
_HEX_FLOAT: Final = re.compile(
    r"[+-]?0[xX](?:_?[0-9a-fA-F]+)+(?:\.[0-9a-fA-F_]*)?[pP][+-]?[0-9]+"
    r"|[+-]?0[xX]\.[0-9a-fA-F_]+[pP][+-]?[0-9]+",
    re.ASCII,
)
_SPECIAL: Final = re.compile(r"[+-]?inf(?:inity)?|nan", re.ASCII | re.IGNORECASE)
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_DIGITS_MAX: Final = 40
"""No 64-bit number has more digits than this, leading zeros aside."""


def parse_int(text: str) -> int:
    """`strconv.ParseInt(text, 10, 64)`."""
    if not _SIGNED.fullmatch(text):
        raise _failed("ParseInt", text, "invalid syntax")
    value = _bounded(text)
    if not -(2**63) <= value < 2**63:
        raise _failed("ParseInt", text, "value out of range")
    return value


def parse_uint(text: str) -> int:
    """`strconv.ParseUint(text, 10, 64)`."""
    if not _UNSIGNED.fullmatch(text):
        raise _failed("ParseUint", text, "invalid syntax")
    value = _bounded(text)
    if value >= 2**64:
        raise _failed("ParseUint", text, "value out of range")
    return value


def atoi(text: str) -> int:
    """`strconv.Atoi`."""
    try:
        return parse_int(text)
    except ValueError as error:
        raise ValueError(str(error).replace("ParseInt", "Atoi", 1)) from None


def parse_float(text: str) -> float:
    """`strconv.ParseFloat(text, 64)`: decimal, hexadecimal, inf and nan; too great is an error."""
    if _SPECIAL.fullmatch(text):
        return float(text)
    if _FLOAT.fullmatch(text):
        value = float(text)
    elif _HEX_FLOAT.fullmatch(text):
        value = _hexadecimal(text)
    else:
        raise _failed("ParseFloat", text, "invalid syntax")
    if value in (float("inf"), float("-inf")):
        raise _failed("ParseFloat", text, "value out of range")
    return value


def parse_bool(text: str) -> bool:
    """`strconv.ParseBool`: 1, t, T, TRUE, true, True and their opposites."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise _failed("ParseBool", text, "invalid syntax")


def format_general(value: float) -> str:
    """`strconv.FormatFloat(value, 'g', -1, 64)`: shortest digits, 1000000 is 1e+06."""
    special = _special(value)
    if special is not None:
        return special
    sign, digits, exponent = _shortest(value)
    if -4 <= exponent < 6:
        return sign + _positional(digits, exponent)
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def format_fixed(value: float) -> str:
    """`strconv.FormatFloat(value, 'f', -1, 64)`: shortest digits, never an exponent."""
    special = _special(value)
    if special is not None:
        return special
    sign, digits, exponent = _shortest(value)
    return sign + _positional(digits, exponent)


def _failed(function: str, text: str, why: str) -> ValueError:
    return ValueError(f"strconv.{function}: parsing {gotext.quote(text)}: {why}")


def _bounded(text: str) -> int:
    """The number, or one as surely out of range where the digits are too many to read."""
    digits = text.lstrip("+-").lstrip("0")
    if len(digits) > _DIGITS_MAX:
        return -(2**64) if text.startswith("-") else 2**64
    return int(text)


def _hexadecimal(text: str) -> float:
    try:
        return float.fromhex(text.replace("_", ""))
    except OverflowError:
        return float("inf")


def _special(value: float) -> str | None:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return None


def _shortest(value: float) -> tuple[str, str, int]:
    """Sign, shortest digits that read back as the value, exponent of the first digit."""
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).lstrip("0")
    if not text:
        return "-" if sign else "", "0", 0
    stripped = text.rstrip("0")
    return "-" if sign else "", stripped, exponent + len(text) - 1


def _positional(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole
