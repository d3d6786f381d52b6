"""Durations as Go's time package parses and formats them, in nanoseconds.

Errors are ValueError with Go's texts. Follows time/format.go.
"""

import re
from typing import Final

from inkube.schemas.golang import gofloats, gotext

SECOND: Final = 10**9
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY_SECONDS: Final = 86_400
_UNITS: Final = {
    "ns": 1, "us": 10**3, "\u00b5s": 10**3, "\u03bcs": 10**3, "ms": 10**6,
    "s": SECOND, "m": MINUTE, "h": HOUR,
}  # fmt: skip
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)", re.ASCII)
_MAX: Final = 2**63

_SMALL = (("ms", 1_000_000), ("µs", 1000), ("ns", 1))


def parse_duration(text: str) -> int:
    """`time.ParseDuration`: `1h15m30.918s`, `-1.5h`, `0`."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return 0
    invalid = f"time: invalid duration {gotext.quote(text)}"
    total = position = 0
    while position < len(rest):
        part = _PART.match(rest, position)
        if part is None:
            raise ValueError(invalid)
        total += _part(part, text, invalid)
        if total > _MAX:
            raise ValueError(invalid)
        position = part.end()
    if not rest or (sign > 0 and total >= _MAX):
        raise ValueError(invalid)
    return sign * total


def _part(part: re.Match[str], text: str, invalid: str) -> int:
    whole, fraction, unit = part[1], part[2] or "", part[3]
    if not (whole or fraction) or len(whole.lstrip("0")) > 19 or int(whole or "0") > _MAX:
        raise ValueError(invalid)
    if unit not in _UNITS:
        quoted = gotext.quote(text)
        why = f"unknown unit {gotext.quote(unit)} in" if unit else "missing unit in"
        raise ValueError(f"time: {why} duration {quoted}")
    value = int(whole or "0") * _UNITS[unit]
    if value > _MAX:
        raise ValueError(invalid)
    if fraction:
        digits = fraction[:18]  # further digits are less than a nanosecond in every unit
        value += int(int(digits) * (_UNITS[unit] / 10 ** len(digits)))
    return value


def format_seconds(ns: int) -> str:
    """`strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"`, the text of a CEL duration."""
    whole, rest = divmod(abs(ns), SECOND)
    seconds = float(whole) + float(rest) / 1e9
    return gofloats.format_fixed(-seconds if ns < 0 else seconds) + "s"


def format_duration(ns: int) -> str:
    """Return the text of `time.Duration.String`, such as `1h2m0.5s`, `1.5ms` or `0s`."""
    sign, ns = ("-" if ns < 0 else ""), abs(ns)
    if 0 < ns < SECOND:
        unit, scale = next((unit, scale) for unit, scale in _SMALL if ns >= scale)
        return f"{sign}{_decimal(ns, scale)}{unit}"
    minutes, rest = divmod(ns, 60 * SECOND)
    hours, minutes = divmod(minutes, 60)
    large = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{large}{_decimal(rest, SECOND)}s"


def _decimal(ns: int, scale: int) -> str:
    """Return nanoseconds in a unit of `scale` nanoseconds, without zeros at the end."""
    whole, rest = divmod(ns, scale)
    digits = str(scale + rest)[1:].rstrip("0") if rest else ""
    return f"{whole}.{digits}" if digits else str(whole)
