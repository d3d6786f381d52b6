"""Parts of timestamps and durations: getFullYear(), getHours('Asia/Tokyo').

Arithmetic of times belongs to the operators. Upstream: cel-go common/types/timestamp.go and
duration.go.
"""

import re
import zoneinfo
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from inkube.schemas.cel.declarations.functions import EvalError, Overload
from inkube.schemas.cel.declarations.types import DURATION, INT, STRING, TIMESTAMP
from inkube.schemas.cel.declarations.values import Duration, Timestamp
from inkube.schemas.cel.library.overloads import method
from inkube.schemas.golang import gotext, gotime, strconv

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - a wall clock
_CYCLE: Final = 146_097 * gotime.DAY_SECONDS
"""The seconds of 400 years, after which the calendar repeats, including the days of the week."""
_DAY_OF_EPOCH: Final = 4
_NAME: Final = re.compile(r"[A-Za-z0-9_+\-/]+", re.ASCII)
_Getter = Callable[[int, int], int]
"""(seconds of the local time since 1970, nanoseconds) → a part of the time."""


def _date(seconds: int) -> tuple[int, int, int, int]:
    """Return year, month, day, day of the year (from 1), also in the years 0 and 10000."""
    cycles = 0
    if not -62_000_000_000 < seconds < 253_000_000_000:
        cycles = 1 if seconds < 0 else -1
    moment = _EPOCH + timedelta(seconds=seconds + cycles * _CYCLE)
    return moment.year - 400 * cycles, moment.month, moment.day, moment.timetuple().tm_yday


_PARTS: Final[dict[str, tuple[str, _Getter]]] = {
    "getFullYear": ("year", lambda seconds, _: _date(seconds)[0]),
    "getMonth": ("month", lambda seconds, _: _date(seconds)[1] - 1),
    "getDayOfYear": ("day_of_year", lambda seconds, _: _date(seconds)[3] - 1),
    "getDayOfMonth": ("day_of_month", lambda seconds, _: _date(seconds)[2] - 1),
    "getDate": ("day_of_month_1_based", lambda seconds, _: _date(seconds)[2]),
    "getDayOfWeek": (
        "day_of_week",
        lambda seconds, _: (seconds // gotime.DAY_SECONDS + _DAY_OF_EPOCH) % 7,
    ),
    "getHours": ("hours", lambda seconds, _: seconds // 3600 % 24),
    "getMinutes": ("minutes", lambda seconds, _: seconds // 60 % 60),
    "getSeconds": ("seconds", lambda seconds, _: seconds % 60),
    "getMilliseconds": ("milliseconds", lambda _, ns: ns // 10**6),
}
_SPANS: Final = {
    "getHours": ("hours", gotime.HOUR),
    "getMinutes": ("minutes", gotime.MINUTE),
    "getSeconds": ("seconds", gotime.SECOND),
    "getMilliseconds": ("milliseconds", 10**6),
}


def _in_utc(part: _Getter) -> Callable[[Timestamp], int]:
    def get(moment: Timestamp) -> int:
        return part(*divmod(moment.ns, gotime.SECOND))

    return get


def _in_zone(part: _Getter) -> Callable[[Timestamp, str], int]:
    def get(moment: Timestamp, zone: str) -> int:
        seconds, ns = divmod(moment.ns, gotime.SECOND)
        return part(seconds + offset(seconds, zone), ns)

    return get


def offset(seconds: int, zone: str) -> int:
    """Return the offset of a time zone at a time, in seconds east of UTC. Zones are `Asia/Tokyo`,
    `+09:00`, `UTC`, or "" for UTC."""
    before, colon, after = zone.partition(":")
    if not colon:
        return _named_offset(seconds, zone)
    try:
        hours, minutes = strconv.atoi(before), strconv.atoi(after)
    except ValueError as error:
        raise EvalError(str(error)) from None
    return (hours * 60 - minutes if zone[0] == "-" else hours * 60 + minutes) * 60


def _named_offset(seconds: int, zone: str) -> int:
    if zone in ("", "UTC", "Local"):  # a server's local time is UTC
        return 0
    if zone.startswith(("/", "\\")) or ".." in zone or "\\" in zone:
        raise EvalError("time: invalid location name")
    try:
        location = zoneinfo.ZoneInfo(zone) if _NAME.fullmatch(zone) else None
    except (OSError, ValueError, zoneinfo.ZoneInfoNotFoundError):
        location = None
    if location is None:
        raise EvalError(f"unknown time zone {zone}")
    bounded = min(max(seconds, -62_000_000_000), 253_000_000_000)
    moment = _EPOCH.replace(tzinfo=UTC) + timedelta(seconds=bounded)
    offset = moment.astimezone(location).utcoffset()
    assert offset is not None, gotext.quote(zone)
    return int(offset.total_seconds())


def _whole(unit: int) -> Callable[[Duration], int]:
    def get(span: Duration) -> int:
        whole = abs(span.ns) // unit
        return -whole if span.ns < 0 else whole

    return get


OVERLOADS: Final[tuple[Overload, ...]] = (
    *(
        method(function, f"timestamp_to_{name}", (TIMESTAMP,), INT, _in_utc(part))
        for function, (name, part) in _PARTS.items()
    ),
    *(
        Overload(
            function, f"timestamp_to_{name}_with_tz", (TIMESTAMP, STRING), INT, _in_zone(part),
            receiver=True,
        )
        for function, (name, part) in _PARTS.items()
    ),
    *(
        method(function, f"duration_to_{name}", (DURATION,), INT, _whole(unit))
        for function, (name, unit) in _SPANS.items()
    ),
)  # fmt: skip
