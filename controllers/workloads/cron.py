"""Schedules in cron's format: five fields, names such as `@hourly`, `@every 1h30m`. Pure functions.

Follows robfig/cron's standard parser (v3, parser.go): names of months and days, `?`, steps. If a
schedule restricts both the day of the month and the day of the week, a day must match one of them.

The libraries for cron implement other dialects, see "Own code instead of a library" in
docs/architecture.md.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple

from inkube.formats import caches, gotime

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_PART = re.compile(r"(\*|\?|[0-9a-z]+)(?:-([0-9a-z]+))?(?:/([0-9]+))?")
_YEARS = 5
"""Years in which a schedule must have a time; otherwise it has no time at all (30 February)."""


class Schedule(NamedTuple):
    """The times of a schedule: sets of numbers per field, or `every`, an interval in seconds."""

    minutes: frozenset[int] = frozenset()
    hours: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    any_day: bool = True
    any_weekday: bool = True
    every: float = 0.0

    def after(self, moment: datetime, zone: tzinfo) -> datetime | None:
        """Return the first time after a moment, in a time zone, or None if the schedule has no such
        time.

        As robfig/cron (spec.go, Next), hours and minutes pass in real time: an hour that a change
        of the clock repeats has its times twice, and one that it skips has none.
        """
        if self.every:
            return moment.replace(microsecond=0) + timedelta(seconds=self.every)
        whole = moment.astimezone(UTC).replace(second=0, microsecond=0)
        local = (whole + timedelta(minutes=1)).astimezone(zone)
        end = local.year + _YEARS
        while local.year <= end:
            if local.month not in self.months:
                year, month = divmod(local.year * 12 + local.month, 12)
                local = _existing(datetime(year, month + 1, 1, tzinfo=zone))
            elif not self._is_day(local):
                local = _existing(_midnight(local) + timedelta(days=1))
            elif local.hour not in self.hours:
                local = _existing(local, timedelta(minutes=60 - local.minute))
            elif local.minute not in self.minutes:
                local = _existing(local, timedelta(minutes=1))
            else:
                return local
        return None

    def _is_day(self, local: datetime) -> bool:
        day = local.day in self.days
        weekday = local.isoweekday() % 7 in self.weekdays
        if self.any_day or self.any_weekday:
            return day and weekday
        return day or weekday


def _midnight(local: datetime) -> datetime:
    return local.replace(hour=0, minute=0, fold=0)


def _existing(local: datetime, later: timedelta = timedelta()) -> datetime:
    """Return a local time some real time later, moved to the end of a gap that it is in."""
    return (local.astimezone(UTC) + later).astimezone(local.tzinfo)


@caches.of_texts(1024)
def parse(text: str) -> Schedule:
    """Parse a schedule. Raises ValueError."""
    if text.startswith("@every "):
        seconds = gotime.parse_duration(text.removeprefix("@every ")) / 10**9
        return Schedule(every=max(seconds // 1, 1.0))
    fields = _ALIASES.get(text, text).lower().split()
    if len(fields) != len(_BOUNDS):
        raise ValueError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    names: list[tuple[str, ...]] = [(), (), (), _MONTHS, _DAYS]
    minutes, hours, days, months, weekdays = (
        frozenset(_field(field, bounds, own))
        for field, bounds, own in zip(fields, _BOUNDS, names, strict=True)
    )
    return Schedule(
        minutes,
        hours,
        days,
        months,
        weekdays,
        any_day=_is_any(fields[2]),
        any_weekday=_is_any(fields[4]),
    )


def _is_any(field: str) -> bool:
    """Return whether a field restricts nothing; as in robfig/cron, steps restrict."""
    parts = filter(None, map(_PART.fullmatch, field.split(",")))
    return any(part[1] in "*?" and int(part[3] or 1) == 1 for part in parts)


def _field(field: str, bounds: tuple[int, int], names: tuple[str, ...]) -> Iterable[int]:
    least, most = bounds
    for part in field.split(","):
        found = _PART.fullmatch(part)
        if found is None:
            raise ValueError(f"failed to parse {part!r}")
        first, last, step = found.groups()
        width = int(step) if step else 1
        if width == 0:
            raise ValueError(f"step of range should be a positive number: {part}")
        if first in "*?":
            start, end = least, most
        else:
            start = _number(first, names)
            end = _number(last, names) if last else most if step else start
        if start < least or end > most or start > end:
            raise ValueError(f"out of range ({least}-{most}): {part}")
        yield from range(start, end + 1, width)


def _number(text: str, names: tuple[str, ...]) -> int:
    if text.isdecimal():
        return int(text)
    if text in names:
        return names.index(text) + (len(names) == len(_MONTHS))
    raise ValueError(f"failed to parse int from {text}")
