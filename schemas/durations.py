"""Ages as kubectl prints them (apimachinery/pkg/util/duration.HumanDuration)."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple, Self
from uuid import uuid4

_MARK: Final = uuid4().hex
"""Begins what stands for an age in a text: no text of a client holds it."""
_MARKS: Final = re.compile(f"{_MARK}([0-9]+);".encode())
_PLAIN, _FIRST = _MARK.encode(), f"{_MARK}0;".encode()
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_YEAR = 365 * _DAY


def age(since: str | None, now: datetime) -> str:
    """How long ago an RFC 3339 time was; `<unknown>` without one, `<invalid>` for nonsense."""
    if not since:
        return "<unknown>"
    if isinstance(now, Unfilled):
        return now.mark(since)
    try:
        moment = datetime.fromisoformat(since)
        seconds = (now - moment).total_seconds()
    except (ValueError, TypeError):
        return "<invalid>"
    return human(seconds)


class Unfilled(datetime):
    """A `now` that is yet to come: `age` gives a mark instead, and what it marks is the age of is
    remembered. Who prints an age as part of a text may print so; nobody may count with it."""

    _began: list[str]

    def __new__(cls) -> Self:
        """Long before anything began, so that who counts with it is found out."""
        made = super().__new__(cls, 1, 1, 1, tzinfo=UTC)
        made._began = []
        return made

    def mark(self, since: str) -> str:
        """What stands for the age of what began then."""
        self._began.append(since)
        return f"{_MARK}{len(self._began) - 1};"

    def cut(self, text: bytes) -> "Cut":
        """A text that was made with this, without its marks. Forgets what was marked."""
        began, self._began = self._began, []
        if not began:
            return Cut(text, ())
        if len(began) == 1:  # as in most tables
            begins, mark, behind = text.partition(_FIRST)
            if _PLAIN not in behind:
                return Cut(begins, ((began[0], behind),) if mark else ())
        begins, *parts = _MARKS.split(text)
        times = [began[int(number)] for number in parts[::2]]
        return Cut(begins, tuple(zip(times, parts[1::2], strict=True)))


class Cut(NamedTuple):
    """What stands before the first age of a text, and for each age since when it counts and what
    stands behind it."""

    begins: bytes
    ages: Sequence[tuple[str, bytes]]


def human(seconds: float) -> str:
    """Two units at most, fewer as it gets longer."""
    if seconds < -2:
        return "<invalid>"
    total = max(int(seconds), 0)
    if total < 2 * _MINUTE:
        return f"{total}s"
    minutes, rest = divmod(total, _MINUTE)
    if minutes < 10:
        return f"{minutes}m{rest}s" if rest else f"{minutes}m"
    if minutes < 3 * 60:
        return f"{minutes}m"
    return _hours(total)


def _hours(total: int) -> str:
    hours, minutes = total // _HOUR, total // _MINUTE % 60
    if hours < 8:
        return f"{hours}h{minutes}m" if minutes else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    days, hours = total // _DAY, total // _HOUR % 24
    if hours and days < 8:
        return f"{days}d{hours}h"
    if days < 2 * 365:
        return f"{days}d"
    years, days = total // _YEAR, total // _DAY % 365
    return f"{years}y{days}d" if years < 8 and days else f"{years}y"
