"""String formats with other types in CEL: duration, date, date-time, byte.

Values passed the check of their format before rules use them. They are parsed as in go-openapi's
strfmt (ParseDuration, ParseDateTime, Base64), see apiserver pkg/cel/common/values.go.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.functions import EvalError
from inkube.schemas.cel.declarations.types import Type
from inkube.schemas.cel.declarations.values import Duration, Timestamp
from inkube.schemas.golang import DecodeError, base64, gotime, rfc3339

_UNITS: Final = (
    (1, ("ns", "nano")),
    (1_000, ("us", "µs", "micro")),
    (1_000_000, ("ms", "milli")),
    (gotime.SECOND, ("s", "sec")),
    (gotime.MINUTE, ("m", "min")),
    (gotime.HOUR, ("h", "hr", "hour")),
    (24 * gotime.HOUR, ("d", "day")),
    (7 * 24 * gotime.HOUR, ("w", "wk", "week")),
)
_SPAN = re.compile(r"((?:-\s?)?\d+)(\.\d+)?\s*([A-Za-zµ]+)")


@dataclass(frozen=True, slots=True)
class Format:
    """A CEL type, the bounds of its JSON text in bytes, and the function that parses it."""

    type: Type
    longest: int
    smallest: int
    convert: Callable[[Any], Any]


def duration(value: Any) -> Any:
    """Parse a duration: `1h30m`, or words such as `2 days`."""
    if not isinstance(value, str):
        return value
    try:
        return Duration(gotime.parse_duration(value))
    except ValueError:
        return Duration(_spelled_duration(value))


def _spelled_duration(text: str) -> int:
    total, has_unit = 0, False
    for count, fraction, unit in _SPAN.findall(text):
        scale = _scale(unit.lower())
        if scale is not None:
            has_unit = True
            number = count.replace(" ", "").replace("\t", "") + fraction
            total += int(float(number) * scale) if fraction else int(number) * scale
    if not has_unit:
        raise EvalError(f"Invalid duration {text}: unable to parse {text} as duration")
    return total


def _scale(unit: str) -> int | None:
    factor = None
    for scale, names in _UNITS:
        if unit in names or unit.startswith(names[-1]):
            factor = scale
    return factor


def date(value: Any) -> Any:
    """Parse a date."""
    if not isinstance(value, str):
        return value
    try:
        return Timestamp(rfc3339.nanoseconds(f"{value}T00:00:00Z"))
    except ValueError as error:
        raise EvalError(f"Invalid date formatted string {value}: {error}") from error


def date_time(value: Any) -> Any:
    """Parse a date and time with a zone, which strings of it show again."""
    if not isinstance(value, str):
        return value
    try:
        try:
            return Timestamp(*rfc3339.instant(value))
        except ValueError:
            return Timestamp(*rfc3339.instant(value, rfc3339.LOCAL))
    except ValueError as error:
        raise EvalError(f"Invalid date-time formatted string {value}: {error}") from error


def octets(value: Any) -> Any:
    """Decode base64. As upstream, rules read the alphabet for URLs, though the format of the field
    is the standard one (strfmt.Base64.UnmarshalText)."""
    if not isinstance(value, str):
        return value
    try:
        return base64.decode_url(value)
    except DecodeError as error:
        raise EvalError(f"Invalid byte formatted string {value}: {error.text}") from error


FORMATS: Final[dict[str, Format]] = {
    "byte": Format(types.BYTES, 3 * 1024 * 1024 - 2, 2, octets),
    "duration": Format(types.DURATION, 32, 3, duration),
    "date": Format(types.TIMESTAMP, 12, 12, date),
    "date-time": Format(types.TIMESTAMP, 32, 21, date_time),
}
