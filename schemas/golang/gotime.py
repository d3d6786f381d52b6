"""Times and durations as Go's time package reads and writes them, in nanoseconds.

Moments are counted from 1970 in UTC. Errors are ValueError; the texts are not Go's, for the
callers word their own. Upstream: time/format.go, time/format_rfc3339.go.
"""

import re
from datetime import date
from typing import Final

from inkube.schemas.golang import gofloats

SECOND: Final = 10**9
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY_SECONDS: Final = 86_400
_EPOCH: Final = date(1970, 1, 1).toordinal()
_UNITS: Final = {
    "ns": 1, "us": 10**3, "\u00b5s": 10**3, "\u03bcs": 10**3, "ms": 10**6,
    "s": SECOND, "m": MINUTE, "h": HOUR,
}  # fmt: skip
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]+)", re.ASCII)
_RFC3339: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(?:(Z)|([+-])(\d\d):(\d\d))",
    re.ASCII,
)
_MAX: Final = 2**63


def parse_duration(text: str) -> int:
    """`time.ParseDuration`: `1h15m30.918s`, `-1.5h`, `0`."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return 0
    total = position = 0
    while position < len(rest):
        part = _PART.match(rest, position)
        if part is None:
            raise ValueError(f"invalid duration {text!r}")
        total += _part(part)
        if total > _MAX:
            raise ValueError(f"invalid duration {text!r}")
        position = part.end()
    if not rest or (sign > 0 and total >= _MAX):
        raise ValueError(f"invalid duration {text!r}")
    return sign * total


def _part(part: re.Match[str]) -> int:
    whole, fraction, unit = part[1], part[2] or "", part[3]
    if unit not in _UNITS or not (whole or fraction):
        raise ValueError(f"invalid duration part {part[0]!r}")
    if len(whole.lstrip("0")) > 19 or int(whole or "0") * _UNITS[unit] > _MAX:
        raise ValueError(f"invalid duration part {part[0]!r}")
    value = int(whole or "0") * _UNITS[unit]
    if fraction:
        digits = fraction[:18]  # what follows is less than a nanosecond of any unit
        value += int(int(digits) * (_UNITS[unit] / 10 ** len(digits)))
    return value


def format_seconds(ns: int) -> str:
    """`strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"`, the text of a CEL duration."""
    whole, rest = divmod(abs(ns), SECOND)
    seconds = float(whole) + float(rest) / 1e9
    return gofloats.format_fixed(-seconds if ns < 0 else seconds) + "s"


def parse_rfc3339(text: str) -> int:
    """`time.Parse(time.RFC3339, …)`: hours of one digit and a decimal comma pass, as in Go."""
    found = _RFC3339.fullmatch(text)
    if found is None:
        raise ValueError(f"invalid time {text!r}")
    year, month, day, hour, minute, second = (int(found[index]) for index in range(1, 7))
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"time out of range: {text!r}")
    seconds = (_ordinal(year, month, day) - _EPOCH) * DAY_SECONDS
    seconds += hour * 3600 + minute * 60 + second - _offset(found)
    return seconds * SECOND + int((found[7] or "")[:9].ljust(9, "0"))


def _ordinal(year: int, month: int, day: int) -> int:
    if year == 0:  # before Python's calendar; a leap year of 366 days, like year 4
        return date(4, month, day).toordinal() - date(4, 1, 1).toordinal() - 365
    return date(year, month, day).toordinal()


def _offset(found: re.Match[str]) -> int:
    if found[8]:
        return 0
    hours, minutes = int(found[10]), int(found[11])
    if hours > 24 or minutes > 60:
        raise ValueError(f"time zone out of range: {found[0]!r}")
    return (hours * 3600 + minutes * 60) * (-1 if found[9] == "-" else 1)


def format_rfc3339(ns: int) -> str:
    """`t.UTC().Format(time.RFC3339Nano)` of a moment within the years 1 to 9999."""
    seconds, rest = divmod(ns, SECOND)
    days, clock = divmod(seconds, DAY_SECONDS)
    hour, minute, second = clock // 3600, clock // 60 % 60, clock % 60
    fraction = f".{rest:09d}".rstrip("0").rstrip(".")
    day = date.fromordinal(_EPOCH + days).isoformat()
    return f"{day}T{hour:02d}:{minute:02d}:{second:02d}{fraction}Z"
