"""String formats with other types in CEL: duration, date, date-time, byte.

Values passed the check of their format before rules use them. They are parsed as in go-openapi's
strfmt (ParseDuration, ParseDateTime, Base64), see apiserver pkg/cel/common/values.go.
"""

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from inkube.schemas.cel.declarations import types
from inkube.schemas.cel.declarations.functions import EvalError
from inkube.schemas.cel.declarations.types import Type
from inkube.schemas.cel.declarations.values import Duration, Timestamp
from inkube.schemas.golang import gotime

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
_MOMENT = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2})(:\d{2})?(?:\.(\d+))?"
    r"([Zz]|[+-]\d{2}:?\d{2})?)?"
)


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


def moment(value: Any) -> Any:
    """Parse a date, or a date and time with or without seconds, fraction and zone (UTC by
    default)."""
    if not isinstance(value, str):
        return value
    if not value:
        return Timestamp(0)
    match = _MOMENT.fullmatch(value)
    if match is None:
        raise EvalError(f"Invalid date formatted string {value}")
    try:
        return Timestamp(_nanoseconds(*match.groups(default="")))
    except ValueError as error:
        raise EvalError(f"Invalid date formatted string {value}: {error}") from error


def _nanoseconds(date: str, time: str, seconds: str, fraction: str, zone: str) -> int:
    text = f"{date}T{time or '00:00'}{seconds or ':00'}"
    whole = datetime.fromisoformat(text).replace(tzinfo=UTC)
    ns = int((whole - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) * gotime.SECOND
    if zone and zone not in "zZ":
        minutes = int(zone[1:3]) * 60 + int(zone[-2:])
        ns -= minutes * gotime.MINUTE * (-1 if zone[0] == "-" else 1)
    return ns + int(fraction[:9].ljust(9, "0") if fraction else 0)


def octets(value: Any) -> Any:
    """Decode base64 with the standard alphabet."""
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise EvalError(f"Invalid byte formatted string {value}: {error}") from error


FORMATS: Final[dict[str, Format]] = {
    "byte": Format(types.BYTES, 3 * 1024 * 1024 - 2, 2, octets),
    "duration": Format(types.DURATION, 32, 3, duration),
    "date": Format(types.TIMESTAMP, 12, 12, moment),
    "date-time": Format(types.TIMESTAMP, 32, 21, moment),
}
