"""Quantities such as `1500m`, `512Mi`, `2e3`: apimachinery's resource.Quantity, exactly.

A quantity stores whether it was read as an int64 with a decimal scale, or as an arbitrary decimal
(`big`). Only the former can be an integer, as upstream.
Upstream: pkg/api/resource/quantity.go, amount.go, suffix.go, math.go.
"""

import re
from dataclasses import dataclass, replace
from enum import Enum
from functools import total_ordering
from typing import Final

from inkube.schemas import caches

FORMAT_WRONG: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
SUFFIX_WRONG: Final = "unable to parse quantity's suffix"
NUMERIC_WRONG: Final = "unable to parse numeric part of quantity"
_NANO: Final = -9
MILLI: Final = -3
"""The finest scale of the amounts in a ResourceList (SetDefaults_ResourceList)."""
_FACTORS_MAX: Final = 18
"""The number of decimal digits that always fit into an int64 (maxInt64Factors)."""
_BITS: Final = 64
_INT64: Final = 2**63
_DIGITS_MAX: Final = 1_000
_SCALE_MAX: Final = 1_000
"""The largest difference between powers of ten that are converted to one scale, and the largest
number of digits that are read. Upstream has no limit and would use all memory."""


class Format(Enum):
    """The notation of a quantity."""

    DECIMAL_EXPONENT = "DecimalExponent"
    BINARY = "BinarySI"
    DECIMAL = "DecimalSI"


_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY_TEXT: Final = {power: suffix for suffix, power in _BINARY.items()} | {0: ""}
_DECIMAL_TEXT: Final = {power: suffix for suffix, power in _DECIMAL.items()}


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """`value × 10^scale`. Quantities are compared by amount, independent of the format.

    `big`: an arbitrary decimal, for which `as_int64` always returns None.
    """

    value: int
    scale: int = 0
    format: Format = Format.DECIMAL
    big: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.compare(other) == 0

    def __lt__(self, other: "Quantity") -> bool:
        return self.compare(other) < 0

    def __hash__(self) -> int:
        digits = str(self.value).rstrip("0") or "0"
        return hash((digits, self.scale + len(str(self.value)) - len(digits)))

    def __str__(self) -> str:
        return canonical(self)

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.value > 0) - (self.value < 0)

    def compare(self, other: "Quantity") -> int:
        """Compare with another quantity (Cmp): -1, 0 or 1."""
        if self.sign != other.sign or self.sign == 0:
            return (self.sign > other.sign) - (self.sign < other.sign)
        mine, theirs = _magnitude(self), _magnitude(other)
        if mine != theirs:
            return self.sign if mine > theirs else -self.sign
        left, right, _ = _aligned(self, other)
        return (left > right) - (left < right)

    def as_int64(self) -> int | None:
        """AsInt64: the integer, or None if `big`, with a negative scale or beyond an int64."""
        if self.big or self.scale < 0:
            return None
        return _upscaled(self.value, self.scale)

    def scaled(self, scale: int) -> int:
        """ScaledValue: the amount in units of 10^scale, rounded up, as an int64. What is too large
        becomes 0, or with `big` its low 64 bits."""
        if self.scale < scale:
            sign = self.sign if not self.big else 1
            return _int64(_rounded_up(self.value * sign, self.scale, scale) * sign)
        if not self.big:
            return _upscaled(self.value, self.scale - scale) or 0
        zeros = min(self.scale - scale, _BITS)  # with so many, the low bits are 0
        return _int64(self.value * int(10**zeros))

    def as_float(self) -> float:
        """AsApproximateFloat64."""
        try:
            base = float(self.value)
        except OverflowError:
            return float("inf") * self.sign
        return base if self.scale == 0 else base * _pow10(self.scale)

    def add(self, other: "Quantity") -> "Quantity":
        """Add: the result has the format of `self` unless `self` is zero. Raises ValueError."""
        return self._plus(other)

    def subtract(self, other: "Quantity") -> "Quantity":
        """Sub: the result has the format of `self` unless `self` is zero. Raises ValueError."""
        return self._plus(replace(other, value=-other.value))

    def _plus(self, other: "Quantity") -> "Quantity":
        notation = other.format if self.value == 0 else self.format
        if not self.big and not other.big:
            small = _small_sum(self, other)
            if small is not None:
                return Quantity(*small, notation)
        left, right, scale = _aligned(self, other)
        return Quantity(left + right, scale, notation, big=True)


ZERO: Final = Quantity(0)


@caches.of_texts(4096)
def parse(text: str) -> Quantity:
    """`ParseQuantity`. Raises ValueError with the text of upstream."""
    if text == "0":
        return ZERO
    match = _shape().fullmatch(text)
    if not text or match is None:
        raise ValueError(FORMAT_WRONG)
    if len(text) > _DIGITS_MAX:
        raise ValueError(NUMERIC_WRONG)
    negative = match[1] == "-"
    whole, fraction = match[3] or "0", match[4] or ""
    base, exponent, notation = _interpret(match[5])
    small = _small(whole, fraction, (exponent, notation))
    if small is not None:
        value, scale = small
        return Quantity(-value if negative else value, scale, notation)
    value, scale, notation = _large(
        int(whole + fraction), -len(fraction), (base, exponent, notation)
    )
    return Quantity(-value if negative else value, scale, notation, big=True)


@caches.of_texts(4096)
def written(text: str, finest: int | None = None) -> str:
    """Return how Go writes a quantity that it read: text that is canonical enough is kept, such as
    `1E3` or `+1`; other text becomes `canonical`. Raises ValueError.

    `finest` is a power of ten: smaller amounts are rounded up to it (`RoundUp`).
    """
    quantity = parse(text)
    if finest is not None and quantity.scale < finest:
        value = _rounded_up(abs(quantity.value), quantity.scale, finest) * quantity.sign
        return canonical(replace(quantity, value=value, scale=finest))
    return text if not quantity.big and _is_canonical(text, quantity) else canonical(quantity)


def _is_canonical(text: str, quantity: Quantity) -> bool:
    """Return whether ParseQuantity keeps the text. It looks only at the digits and the scale."""
    match = _shape().fullmatch(text)
    if match is None:
        return False
    digits = (match[3] or "0") + (match[4] or "")
    if quantity.format is Format.BINARY:
        return int(digits) & 7 != 0
    return quantity.scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def is_valid(text: str) -> bool:
    """Return whether `parse` accepts the text."""
    try:
        parse(text)
    except ValueError:
        return False
    return True


@caches.of_values(1)
def _shape() -> re.Pattern[str]:
    """Return the pattern of quantities, compiled at the first use to keep starts fast."""
    number = r"([+-]?)(0*)([0-9]*)(?:\.([0-9]*))?"
    return re.compile(number + r"((?:[eEinumkKMGTP])*[+-]?[0-9]*)", re.ASCII)


def _interpret(suffix: str) -> tuple[int, int, Format]:
    """Return base, exponent and format of a suffix (suffixer.interpret)."""
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix], Format.DECIMAL
    if suffix in _BINARY:
        return 2, _BINARY[suffix], Format.BINARY
    exponent = re.fullmatch(r"[eE]([+-]?[0-9]+)", suffix, re.ASCII)
    if exponent is None or len(exponent[1]) > 19:
        raise ValueError(SUFFIX_WRONG)
    value = int(exponent[1])
    return 10, (value + 2**31) % 2**32 - 2**31, Format.DECIMAL_EXPONENT


def _small(whole: str, fraction: str, suffix: tuple[int, Format]) -> tuple[int, int] | None:
    """Value and scale as an int64 with a decimal scale, or None if the number may not fit."""
    exponent, notation = suffix
    mantissa, scale = 1, exponent
    precision = _FACTORS_MAX - len(whole) - len(fraction)
    if notation is Format.BINARY:
        if fraction:
            return None
        mantissa, scale = 2**exponent, 0
        precision = 15 - len(whole) - int(exponent * 3 / 10) - 1
    scale -= len(fraction)
    if precision < 0 or scale < _NANO:
        return None
    value = int(whole + fraction) * mantissa
    return (value, scale) if value < _INT64 else None


def _large(value: int, scale: int, suffix: tuple[int, int, Format]) -> tuple[int, int, Format]:
    """Return value, scale and format as a decimal, rounded up to nano; binary ones are at most
    2^63-1."""
    base, exponent, notation = suffix
    if base == 10:
        scale += exponent
    else:
        value <<= exponent
    if value and scale < _NANO:
        value, scale = _rounded_up(value, scale, _NANO), _NANO
    if notation is Format.BINARY:
        amount = Quantity(value, scale)
        if amount > Quantity(_INT64 - 1):
            value, scale = _INT64 - 1, 0
        elif ZERO < amount < Quantity(1):
            notation = Format.DECIMAL
    return value, scale, notation


def _rounded_up(value: int, scale: int, target: int) -> int:
    """Return the amount (not negative) at a greater scale, away from zero."""
    if target - scale > len(str(value)) + 1:
        return 1 if value else 0
    divisor: int = 10 ** (target - scale)
    return -(-value // divisor)


def _int64(value: int) -> int:
    """Return the low 64 bits of a number with their sign (big.Int.Int64)."""
    return (value + _INT64) % (2 * _INT64) - _INT64


def _magnitude(quantity: Quantity) -> int:
    """Return the exponent of the first digit."""
    return len(str(abs(quantity.value))) + quantity.scale


def _aligned(left: Quantity, right: Quantity) -> tuple[int, int, int]:
    scale = min(left.scale, right.scale)
    if max(left.scale, right.scale) - scale > _SCALE_MAX or _is_vast(left) or _is_vast(right):
        raise ValueError("quantities are too far apart")
    return (
        left.value * 10 ** (left.scale - scale),
        right.value * 10 ** (right.scale - scale),
        scale,
    )


def _is_vast(quantity: Quantity) -> bool:
    return quantity.value.bit_length() > 4 * _DIGITS_MAX


def _upscaled(value: int, scale: int) -> int | None:
    """positiveScaleInt64: `value × 10^scale` where an int64 holds it."""
    if value == 0:
        return 0
    if scale > _FACTORS_MAX:
        return None
    result: int = value * 10**scale
    return result if -_INT64 <= result < _INT64 else None


def _small_sum(left: Quantity, right: Quantity) -> tuple[int, int] | None:
    """int64Amount.Add, or None on overflow."""
    if right.value == 0:
        return left.value, left.scale
    if left.value == 0:
        return right.value, right.scale
    scale = min(left.scale, right.scale)
    mine = _upscaled(left.value, left.scale - scale)
    theirs = _upscaled(right.value, right.scale - scale)
    if mine is None or theirs is None or not -_INT64 <= mine + theirs < _INT64:
        return None
    return mine + theirs, scale


def _pow10(exponent: int) -> float:
    """math.Pow10."""
    if exponent < -323:
        return 0.0
    return float("inf") if exponent > 308 else float(f"1e{exponent}")


def canonical(quantity: Quantity) -> str:
    """`String()` of a quantity that was not read from canonical text: with all digits, and the
    largest suffix that leaves no fraction."""
    if quantity.value == 0:
        return "0"
    if quantity.format is Format.BINARY:
        whole = _whole(quantity)
        if whole is not None and abs(whole) >= 1024:
            return _in_binary(whole)
    return _in_decimal(quantity)


def _whole(quantity: Quantity) -> int | None:
    if quantity.scale >= 0:
        factor: int = 10 ** min(quantity.scale, _SCALE_MAX)
        return quantity.value * factor
    divisor: int = 10**-quantity.scale
    return None if quantity.value % divisor else quantity.value // divisor


def _in_binary(value: int) -> str:
    power = 0
    while value % 1024 == 0 and power < 60:
        value //= 1024
        power += 10
    return f"{value}{_BINARY_TEXT[power]}"


def _in_decimal(quantity: Quantity) -> str:
    digits = str(abs(quantity.value)).rstrip("0")
    exponent = quantity.scale + len(str(abs(quantity.value))) - len(digits)
    if exponent < _NANO:
        value = _rounded_up(abs(quantity.value), quantity.scale, _NANO)
        digits, exponent = str(value), _NANO
    digits += "0" * (exponent % 3)
    exponent -= exponent % 3
    sign = "-" if quantity.value < 0 else ""
    if quantity.format is not Format.DECIMAL_EXPONENT and exponent in _DECIMAL_TEXT:
        return f"{sign}{digits}{_DECIMAL_TEXT[exponent]}"
    return f"{sign}{digits}e{exponent}" if exponent else f"{sign}{digits}"
