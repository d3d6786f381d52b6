"""Times as Go's time.Parse(time.RFC3339) reads them, with its errors.

Moments outside the years 1 to 9999 in UTC are refused, where Go goes on to write years of five
digits that nobody can read back.
"""

import re
from datetime import UTC, datetime, timedelta, timezone

from inkube.schemas import meta
from inkube.schemas.golang import gotext
from inkube.schemas.golang.unmarshal import DecodeError

_LAYOUT = "2006-01-02T15:04:05Z07:00"
_FIELDS = (
    ("2006", r"\d{4}"), ("-", "-"), ("01", r"\d{2}"), ("-", "-"), ("02", r"\d{2}"), ("T", "T"),
    ("15", r"\d{2}"), (":", ":"), ("04", r"\d{2}"), (":", ":"), ("05", r"\d{2}(?:[.,]\d+)?"),
    ("Z07:00", r"Z|[+-]\d{2}:\d{2}"),
)  # fmt: skip
_PATTERNS = tuple((name, re.compile(pattern, re.ASCII)) for name, pattern in _FIELDS)
_WHOLE = re.compile("".join(f"({pattern})" for _, pattern in _FIELDS) + r"\Z", re.ASCII)
_RANGES = (("month", 1, 12), ("day", 1, 31), ("hour", 0, 23), ("minute", 0, 59), ("second", 0, 59))


def parse(text: str) -> datetime:
    """The moment, in UTC. Raises DecodeError with Go's text."""
    found = _WHOLE.match(text)
    if not found:
        raise _mismatch(text)
    year, month, day, hour, minute = (int(found[group]) for group in (1, 3, 5, 7, 9))
    second = int(found[11][:2])
    for (name, least, most), number in zip(
        _RANGES, (month, day, hour, minute, second), strict=True
    ):
        if not least <= number <= most:
            raise _out_of_range(text, name)
    fraction = float(f"0.{found[11][3:] or 0}")
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=_zone(found[12]))
    except ValueError:
        raise _out_of_range(text, "day") from None
    try:
        moment = moment.astimezone(UTC)
    except OverflowError:
        raise _out_of_range(text, "year") from None
    return moment + timedelta(microseconds=int(fraction * 1_000_000))


def rfc3339(text: str) -> str:
    """The same moment as metav1.Time writes it: UTC, whole seconds."""
    return meta.format_time(parse(text))


def _zone(text: str) -> timezone:
    if text == "Z":
        return UTC
    minutes = int(text[1:3]) * 60 + int(text[4:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))


def _mismatch(text: str) -> DecodeError:
    rest = text
    for name, pattern in _PATTERNS:
        found = pattern.match(rest)
        if not found:
            return _error(text, f" as {gotext.quote(_LAYOUT)}: cannot parse "
                          f"{gotext.quote(rest)} as {gotext.quote(name)}")  # fmt: skip
        rest = rest[found.end() :]
    return _error(text, f": extra text: {gotext.quote(rest)}")


def _out_of_range(text: str, name: str) -> DecodeError:
    return _error(text, f": {name} out of range")


def _error(text: str, why: str) -> DecodeError:
    return DecodeError(f"parsing time {gotext.quote(text)}{why}")
