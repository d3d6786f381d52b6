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
_MICRO_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"
_SECONDS: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{1,2}:[0-9]{2}:[0-9]{2}")
_MICROSECONDS: Final = re.compile(r"[.,][0-9]{6}")
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIELDS: Final = (
    ("2006", r"\d{4}"), ("-", "-"), ("01", r"\d{2}"), ("-", "-"), ("02", r"\d{2}"), ("T", "T"),
    ("15", r"\d{1,2}"), (":", ":"), ("04", r"\d{2}"), (":", ":"), ("05", r"\d{2}(?:[.,]\d+)?"),
    ("Z07:00", r"Z|[+-]\d{2}:\d{2}"),
)  # fmt: skip
_PATTERNS: Final = tuple((name, re.compile(pattern, re.ASCII)) for name, pattern in _FIELDS)
_RFC3339: Final = re.compile("".join(f"({pattern})" for _, pattern in _FIELDS) + r"\Z", re.ASCII)
_RANGES: Final = (
    ("month", 1, 12), ("day", 1, 31), ("hour", 0, 23), ("minute", 0, 59), ("second", 0, 59),
)  # fmt: skip


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
        moment = parse(text)
    except DecodeError as error:
        raise DecodeError(error.text.replace(_LAYOUT, _MICRO_LAYOUT)) from error
    seconds = _SECONDS.match(text)
    rest = text[seconds.end() :] if seconds else text
    fraction = _MICROSECONDS.match(rest)
    if fraction is None:
        raise _no_micro_time(text, rest, ".000000")
    if rest[fraction.end()].isdecimal():
        raise _no_micro_time(text, rest[fraction.end() :], "Z07:00")
    return meta.format_micro_time(moment)


def nanoseconds(text: str) -> int:
    """`time.Parse(time.RFC3339, …)`: as in Go, hours with one digit and a decimal comma are valid.

    Raises ValueError with Go's text.
    """
    match = _RFC3339.match(text)
    if match is None:
        raise _mismatch(text)
    year, month, day, hour, minute = (int(match[group]) for group in (1, 3, 5, 7, 9))
    second = int(match[11][:2])
    for (name, least, most), number in zip(
        _RANGES, (month, day, hour, minute, second), strict=True
    ):
        if not least <= number <= most:
            raise _out_of_range(text, name)
    try:
        days = _ordinal(year, month, day) - _EPOCH_DAY
    except ValueError:
        raise _out_of_range(text, "day") from None
    seconds = days * _DAY_SECONDS + hour * 3600 + minute * 60 + second - _offset(text, match[12])
    return seconds * _SECOND + int(match[11][3:12].ljust(9, "0"))


def write(ns: int) -> str:
    """`t.UTC().Format(time.RFC3339Nano)` for a time in the years 1 to 9999."""
    seconds, rest = divmod(ns, _SECOND)
    days, clock = divmod(seconds, _DAY_SECONDS)
    hour, minute, second = clock // 3600, clock // 60 % 60, clock % 60
    fraction = f".{rest:09d}".rstrip("0").rstrip(".")
    day = date.fromordinal(_EPOCH_DAY + days).isoformat()
    return f"{day}T{hour:02d}:{minute:02d}:{second:02d}{fraction}Z"


def _mismatch(text: str) -> ValueError:
    rest = text
    for name, pattern in _PATTERNS:
        match = pattern.match(rest)
        if not match:
            return _unparsed(text, f" as {gotext.quote(_LAYOUT)}: cannot parse "
                             f"{gotext.quote(rest)} as {gotext.quote(name)}")  # fmt: skip
        rest = rest[match.end() :]
    return _unparsed(text, f": extra text: {gotext.quote(rest)}")


def _out_of_range(text: str, name: str) -> ValueError:
    return _unparsed(text, f": {name} out of range")


def _unparsed(text: str, message: str) -> ValueError:
    return ValueError(f"parsing time {gotext.quote(text)}{message}")


def _no_micro_time(text: str, rest: str, element: str) -> DecodeError:
    return DecodeError(
        f"parsing time {gotext.quote(text)} as {gotext.quote(_MICRO_LAYOUT)}: "
        f"cannot parse {gotext.quote(rest)} as {gotext.quote(element)}"
    )


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
