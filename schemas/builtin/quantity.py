"""resource.Quantity: parsing, the canonical form and comparison.

Follows apimachinery/pkg/api/resource: quantity.go ParseQuantity and CanonicalizeBytes, suffix.go.
"""

import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_UP, Decimal
from functools import lru_cache

_FORM = re.compile(r"([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)")
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_NAMES = {power: name for name, power in _BINARY.items()}
_DECIMAL_NAMES = {power: name for name, power in _DECIMAL.items()}
_NANO = Decimal("1e-9")
_LIMIT = Decimal(2**63 - 1)
WRONG_FORM = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and the family of suffixes it is written in: binary, decimal or exponent."""

    value: Decimal
    form: str

    def __str__(self) -> str:
        """The canonical text: no fraction, the largest suffix that allows it."""
        if self.form == "binary" and abs(self.value) >= 1024 and self.value % 1 == 0:
            return _binary_text(int(self.value))
        return _decimal_text(self.value, exponent=self.form == "exponent")


@lru_cache(maxsize=4096)
def parse(text: str) -> Quantity:
    """Read a quantity. Raises ValueError with the reference's text."""
    match = _FORM.fullmatch(text)
    if not match:
        raise ValueError(WRONG_FORM)
    number, suffix = match.groups()
    if not _NUMBER.fullmatch(number):
        raise ValueError(WRONG_FORM)
    factor, form = _factor(suffix)
    value = Decimal(number) * factor
    if abs(value) > _LIMIT:
        value = _LIMIT.copy_sign(value)
    if value % _NANO:
        value = value.quantize(_NANO, rounding=ROUND_UP)
    return Quantity(value, form)


def _factor(suffix: str) -> tuple[Decimal, str]:
    if suffix in _BINARY:
        return Decimal(2 ** _BINARY[suffix]), "binary"
    if suffix in _DECIMAL:
        return Decimal(10) ** _DECIMAL[suffix], "decimal"
    if suffix[0] in "eE" and re.fullmatch(r"[+-]?[0-9]+", suffix[1:]):
        return Decimal(10) ** max(-50, min(50, int(suffix[1:]))), "exponent"
    raise ValueError("unable to parse quantity's suffix")


def _binary_text(value: int) -> str:
    power = 0
    while value % 1024 == 0 and power < 60:
        value //= 1024
        power += 10
    return f"{value}{_BINARY_NAMES.get(power, '')}"


def _decimal_text(value: Decimal, *, exponent: bool) -> str:
    if value == 0:
        return "0"
    sign, digits, power = value.normalize().as_tuple()
    power = int(power)
    number = "".join(map(str, digits)) + "0" * (power % 3)
    power -= power % 3
    prefix = "-" if sign else ""
    if exponent or power not in _DECIMAL_NAMES:
        return f"{prefix}{number}e{power}" if power else f"{prefix}{number}"
    return f"{prefix}{number}{_DECIMAL_NAMES[power]}"


def canonical(text: str) -> str:
    """The canonical text of a quantity's text. Raises ValueError."""
    return str(parse(text))


def number(text: str) -> Decimal:
    """The value alone. Raises ValueError."""
    return parse(text).value


def whole(text: str) -> int:
    """`Value()`: rounded up to an integer. Raises ValueError."""
    return int(parse(text).value.to_integral_value(rounding=ROUND_CEILING))
