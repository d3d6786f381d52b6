"""Schedules in cron's format: five fields, names such as `@hourly`, `@every 1h30m`. Pure functions.

Follows robfig/cron's standard parser (v3, parser.go): names of months and days, `?`, steps, and the
texts of errors. If a schedule restricts both the day of the month and the day of the week, a day
must match one of them.

The libraries for cron implement other dialects, see "Own code instead of a library" in
docs/architecture.md.
"""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple

from inkube.schemas import caches
from inkube.schemas.golang import gotime, strconv

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
_BOUNDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number + 1 for number, name in enumerate(_MONTHS)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
"""Lowest and highest value and named values of each field."""
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
        if not self.hours or not self.minutes:
            return None
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
    """Parse a schedule (Parser.Parse). Raises ValueError with the parser's text."""
    if text.startswith("@every "):
        try:
            seconds = gotime.parse_duration(text.removeprefix("@every ")) / 10**9
        except ValueError as error:
            raise ValueError(f"failed to parse duration {text}: {error}") from error
        return Schedule(every=max(seconds // 1, 1.0))
    if text.startswith("@") and text not in _ALIASES:
        raise ValueError(f"unrecognized descriptor: {text}")
    fields = _ALIASES.get(text, text).split()
    if len(fields) != len(_BOUNDS):
        raise ValueError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    minutes, hours, days, months, weekdays = map(_field, fields, _BOUNDS)
    return Schedule(minutes[0], hours[0], days[0], months[0], weekdays[0], days[1], weekdays[1])


def _field(text: str, bounds: tuple[int, int, dict[str, int]]) -> tuple[frozenset[int], bool]:
    """Return the numbers of a field, and whether it restricts nothing. Steps restrict."""
    ranges = [_range(part, *bounds) for part in text.split(",") if part]
    numbers = frozenset(number for each, _ in ranges for number in each)
    return numbers, any(is_star for _, is_star in ranges)


def _range(text: str, least: int, most: int, named: dict[str, int]) -> tuple[range, bool]:
    """Return the numbers of `*`, `?`, `a` or `a-b`, each with an optional `/step`, and whether they
    are all numbers (getRange). Raises ValueError."""
    whole, *steps = text.split("/")
    start, *ends = whole.split("-")
    is_star = start in ("*", "?")
    first, last = least, most
    if not is_star:
        first = _number(start, named)
        if len(ends) > 1:
            raise ValueError(f"too many hyphens: {text}")
        last = _number(ends[0], named) if ends else most if steps else first
    if len(steps) > 1:
        raise ValueError(f"too many slashes: {text}")
    step = _number(steps[0], {}) if steps else 1
    if first < least:
        raise ValueError(f"beginning of range ({first}) below minimum ({least}): {text}")
    if last > most:
        raise ValueError(f"end of range ({last}) above maximum ({most}): {text}")
    if first > last:
        raise ValueError(f"beginning of range ({first}) beyond end of range ({last}): {text}")
    if not step:
        raise ValueError(f"step of range should be a positive number: {text}")
    return range(first, last + 1, step), is_star and step == 1


def _number(text: str, named: dict[str, int]) -> int:
    """Return the number or the named value. Raises ValueError."""
    if text.lower() in named:
        return named[text.lower()]
    try:
        number = strconv.parse_int(text)
    except ValueError as error:
        why = str(error).replace("ParseInt", "Atoi")
        raise ValueError(f"failed to parse int from {text}: {why}") from error
    if number < 0:
        raise ValueError(f"negative number ({number}) not allowed: {text}")
    return number
