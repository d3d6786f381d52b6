"""metav1.Time and MicroTime in JSON: Go's `time.Parse` with its errors, and the canonical text."""

import re
from datetime import UTC, datetime, timedelta, timezone

from inkube.schemas import gotext, meta

TIME = "2006-01-02T15:04:05Z07:00"
MICRO_TIME = "2006-01-02T15:04:05.000000Z07:00"
_PARTS = (
    ("2006", r"[0-9]{4}"), ("-", "-"), ("01", r"[0-9]{2}"), ("-", "-"), ("02", r"[0-9]{2}"),
    ("T", "T"), ("15", r"[0-9]{1,2}"), (":", ":"), ("04", r"[0-9]{2}"), (":", ":"),
    ("05", r"[0-9]{2}"),
)  # fmt: skip
_ZONE = re.compile(r"Z|([+-])([0-9]{2}):([0-9]{2})")
_RANGES = {"01": ("month", 1, 12), "15": ("hour", 0, 23), "04": ("minute", 0, 59)}


def canonical(text: str, *, micro: bool = False) -> str:
    """UTC with whole seconds, or six digits of them. Raises ValueError with Go's text."""
    moment = parse(text, micro=micro)
    return meta.format_micro_time(moment) if micro else meta.format_time(moment)


def parse(text: str, *, micro: bool = False) -> datetime:
    """Read an RFC 3339 time. Raises ValueError with Go's text."""
    layout = MICRO_TIME if micro else TIME
    found, rest = _fields(text, layout)
    microseconds, rest = _fraction(text, rest, micro=micro)
    zone = _ZONE.match(rest)
    if not zone:
        raise _unparsed(text, layout, rest, "Z07:00")
    if rest[zone.end() :]:
        extra = gotext.quote(rest[zone.end() :])
        raise ValueError(f"parsing time {gotext.quote(text)}: extra text: {extra}")
    year, month, day, hour, minute, second = found
    try:
        moment = datetime(year, month, day, hour, minute, second, microseconds, _offset(zone))
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"parsing time {gotext.quote(text)}: day out of range") from error


def _unparsed(text: str, layout: str, rest: str, element: str) -> ValueError:
    return ValueError(
        f"parsing time {gotext.quote(text)} as {gotext.quote(layout)}: "
        f"cannot parse {gotext.quote(rest)} as {gotext.quote(element)}"
    )


def _fields(text: str, layout: str) -> tuple[list[int], str]:
    rest, found = text, []
    for element, pattern in _PARTS:
        match = re.match(pattern, rest)
        if not match:
            raise _unparsed(text, layout, rest, element)
        rest = rest[match.end() :]
        if element.isdecimal():
            found.append(_in_range(text, element, int(match.group())))
    return found, rest


def _in_range(text: str, element: str, value: int) -> int:
    name, low, high = _RANGES.get(element, ("second", 0, 59) if element == "05" else ("", 0, 9999))
    if not low <= value <= high:
        raise ValueError(f"parsing time {gotext.quote(text)}: {name} out of range")
    return value


def _fraction(text: str, rest: str, *, micro: bool) -> tuple[int, str]:
    """Six digits where the layout asks for them, else any number of digits."""
    match = re.match(r"[.,][0-9]{6}" if micro else r"[.,][0-9]+", rest)
    if not match:
        if micro:
            raise _unparsed(text, MICRO_TIME, rest, ".000000")
        return 0, rest
    return int(match.group()[1:7].ljust(6, "0")), rest[match.end() :]


def _offset(zone: re.Match[str]) -> timezone:
    sign, hours, minutes = zone.groups()
    if sign is None:
        return UTC
    shift = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-shift if sign == "-" else shift)
