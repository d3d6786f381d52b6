"""Times as Go's time.Parse(time.RFC3339) parses them, with its errors, and metav1.MicroTime.

A time is a number of nanoseconds since 1970 in UTC, or a datetime for times in objects. A datetime
has a year from 1 to 9999. Go also formats years with five digits, but cannot parse them. Follows
time/format.go, time/format_rfc3339.go.
"""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Final

from inkube.schemas import caches, meta
from inkube.schemas.golang import gotext
from inkube.schemas.golang.unmarshal import DecodeError

ZERO: Final = "0001-01-01T00:00:00Z"
"""The zero time of Go, as metav1.Time formats it."""
ZERO_MICRO: Final = "0001-01-01T00:00:00.000000Z"
"""The zero time of Go, as metav1.MicroTime formats it."""
_SECOND: Final = 10**9
_DAY_SECONDS: Final = 86_400
_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
LOCAL: Final = "2006-01-02T15:04:05"
"""The layout without a zone (ISO8601LocalTime of go-openapi)."""
_MICRO_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_CYCLE_DAYS: Final = 146_097
"""The days of 400 years, after which the calendar repeats."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIELDS: Final = (
    ("2006", r"\d{4}"), ("-", "-"), ("01", r"\d{2}"), ("-", "-"), ("02", r"\d{2}"), ("T", "T"),
    ("15", r"\d{1,2}"), (":", ":"), ("04", r"\d{2}"), (":", ":"), ("05", r"\d{2}(?:[.,]\d+)?"),
    ("Z07:00", r"Z|[+-]\d{2}:\d{2}"),
)  # fmt: skip
_MICRO_FIELDS: Final = (
    *_FIELDS[:-2], ("05", r"\d{2}"), (".000000", r"[.,]\d{6}"), _FIELDS[-1],
)  # fmt: skip
_FIELDS_OF: Final = {_LAYOUT: _FIELDS, LOCAL: _FIELDS[:-1]}
_PATTERNS: Final = {
    layout: re.compile("".join(f"({pattern})" for _, pattern in fields) + r"\Z", re.ASCII)
    for layout, fields in _FIELDS_OF.items()
}
_MICRO: Final = re.compile(
    "".join(pattern for _, pattern in _MICRO_FIELDS[:-1]) + r"[Z+-]", re.ASCII
)
_RANGES: Final = {
    "01": ("month", 1, 12), "15": ("hour", 0, 23), "04": ("minute", 0, 59), "05": ("second", 0, 59),
}  # fmt: skip
"""The valid numbers of elements. That of the day is checked at the end, with the month."""


def parse(text: str) -> datetime:
    """Return the time in UTC. Raises DecodeError with Go's text."""
    try:
        return _EPOCH + timedelta(microseconds=nanoseconds(text) // 1000)
    except OverflowError as error:
        raise DecodeError(str(_out_of_range(text, "year"))) from error
    except ValueError as error:
        raise DecodeError(str(error)) from error


@caches.of_texts(4096)
def rfc3339(text: str) -> str:
    """Return the same time in the format of metav1.Time: UTC, whole seconds."""
    return meta.format_time(parse(text))


def micro_time(text: str) -> str:
    """Return the same time in UTC with six digits of a second, as metav1.MicroTime in JSON. Raises
    DecodeError with Go's text."""
    try:
        if _MICRO.match(text) is None:
            raise _refusal(text, _MICRO_LAYOUT, _MICRO_FIELDS)
        return meta.format_micro_time(parse(text))
    except DecodeError as error:
        raise DecodeError(error.text.replace(_LAYOUT, _MICRO_LAYOUT)) from error
    except ValueError as error:
        raise DecodeError(str(error)) from error


def nanoseconds(text: str) -> int:
    """Return the time of `instant`. Raises ValueError with Go's text."""
    return instant(text)[0]


def instant(text: str, layout: str = _LAYOUT) -> tuple[int, int]:
    """Return the nanoseconds of `time.Parse(time.RFC3339, …)`, and its zone in seconds east of UTC.
    As in Go, hours with one digit and a decimal comma are valid.

    Raises ValueError with Go's text.
    """
    match = _PATTERNS[layout].match(text)
    if match is None:
        raise _refusal(text, layout, _FIELDS_OF[layout])
    year, month, day, hour, minute = (int(match[group]) for group in (1, 3, 5, 7, 9))
    second = int(match[11][:2])
    if not (0 < month <= 12 and 0 < day <= 31 and hour < 24 and minute < 60 and second < 60):
        raise _refusal(text, layout, _FIELDS_OF[layout])
    try:
        days = _ordinal(year, month, day) - _EPOCH_DAY
    except ValueError:
        raise _out_of_range(text, "day") from None
    offset = 0 if layout == LOCAL else _offset(text, match[12])
    seconds = days * _DAY_SECONDS + hour * 3600 + minute * 60 + second - offset
    return seconds * _SECOND + int(match[11][3:12].ljust(9, "0")), offset


def write(ns: int, offset: int = 0) -> str:
    """Return `t.Format(time.RFC3339Nano)` for a time in the years 1 to 9999 of UTC, in a zone that
    is `offset` seconds east of it."""
    seconds, rest = divmod(ns, _SECOND)
    days, clock = divmod(seconds + offset, _DAY_SECONDS)
    hour, minute, second = clock // 3600, clock // 60 % 60, clock % 60
    fraction = f".{rest:09d}".rstrip("0").rstrip(".")
    cycles, day_of_cycle = divmod(_EPOCH_DAY + days - 1, _CYCLE_DAYS)  # the local year can be 0
    day = date.fromordinal(day_of_cycle + 1)
    zone = "Z"
    if offset:
        hours, minutes = divmod(abs(offset) // 60, 60)
        zone = f"{'-' if offset < 0 else '+'}{hours:02d}:{minutes:02d}"
    written = f"{day.year + 400 * cycles:04d}-{day.month:02d}-{day.day:02d}"
    return f"{written}T{hour:02d}:{minute:02d}:{second:02d}{fraction}{zone}"


def _refusal(text: str, layout: str, fields: tuple[tuple[str, str], ...]) -> ValueError:
    """Return the error of the first element that does not match or is out of range; without one,
    the error of the day."""
    rest = text
    for name, pattern in fields:
        match = re.match(pattern, rest, re.ASCII)
        if not match:
            return _unparsed(text, f" as {gotext.quote(layout)}: cannot parse "
                             f"{gotext.quote(rest)} as {gotext.quote(name)}")  # fmt: skip
        what, least, most = _RANGES.get(name, ("", 0, 0))
        if what and not least <= int(match[0][:2]) <= most:
            return _out_of_range(text, what)
        rest = rest[match.end() :]
    if rest:
        return _unparsed(text, f": extra text: {gotext.quote(rest)}")
    return _out_of_range(text, "day")


def _out_of_range(text: str, name: str) -> ValueError:
    return _unparsed(text, f": {name} out of range")


def _unparsed(text: str, message: str) -> ValueError:
    return ValueError(f"parsing time {gotext.quote(text)}{message}")


def _ordinal(year: int, month: int, day: int) -> int:
    if year == 0:  # before the first year of Python's calendar; like year 4, a leap year
        return date(4, month, day).toordinal() - date(4, 1, 1).toordinal() - 365
    return date(year, month, day).toordinal()


def _offset(text: str, zone: str) -> int:
    """Return the offset in seconds east of UTC."""
    if zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:])
    if hours > 24 or minutes > 60:
        raise _out_of_range(text, f"time zone offset {'hour' if hours > 24 else 'minute'}")
    return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)
