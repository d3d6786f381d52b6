"""Floats as text, parsed and formatted as in Go's strconv. Used by CEL.

Errors are ValueError with the texts of strconv.
"""

import re
from decimal import Decimal
from typing import Final

from inkube.schemas.golang import strconv

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


def parse_float(text: str) -> float:
    """`strconv.ParseFloat(text, 64)`: decimal, hexadecimal, inf and nan. Raises ValueError for a
    float that is too large."""
    if _SPECIAL.fullmatch(text):
        return float(text)
    if _FLOAT.fullmatch(text):
        value = float(text)
    elif _HEX_FLOAT.fullmatch(text):
        value = _hexadecimal(text)
    else:
        raise strconv.failed("ParseFloat", text, "invalid syntax")
    if value in (float("inf"), float("-inf")):
        raise strconv.failed("ParseFloat", text, "value out of range")
    return value


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
    """Return sign, shortest digits that read back as the value, exponent of the first digit."""
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
