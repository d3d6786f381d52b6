"""Ages as kubectl prints them (apimachinery/pkg/util/duration.HumanDuration)."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple, Self
from uuid import uuid4

_MARK: Final = uuid4().hex
"""The start of a placeholder for an age in a text; random, so no text of a client contains it."""
_MARKS: Final = re.compile(f"{_MARK}([0-9]+);".encode())
_PLAIN, _FIRST = _MARK.encode(), f"{_MARK}0;".encode()
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_YEAR = 365 * _DAY


def age(since: str | None, now: datetime) -> str:
    """Return the age of an RFC 3339 time; `<unknown>` without one, `<invalid>` if it does not
    parse."""
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
    """A `now` that is not known yet: `age` returns a mark for it, and the time of the mark is
    remembered. Code that prints an age inside a text can use it; no code can calculate with it."""

    _began: list[str]

    def __new__(cls) -> Self:
        """Return the year 1, so that calculations with it give visibly wrong results."""
        age = super().__new__(cls, 1, 1, 1, tzinfo=UTC)
        age._began = []
        return age

    def mark(self, since: str) -> str:
        """Return the placeholder for the age of the time `since`."""
        self._began.append(since)
        return f"{_MARK}{len(self._began) - 1};"

    def split(self, text: bytes) -> "SplitText":
        """Split a text that contains marks at these marks. Forgets the marks."""
        began, self._began = self._began, []
        if not began:
            return SplitText(text, ())
        if len(began) == 1:  # as in most tables
            begins, mark, behind = text.partition(_FIRST)
            if _PLAIN not in behind:
                return SplitText(begins, ((began[0], behind),) if mark else ())
        begins, *parts = _MARKS.split(text)
        times = [began[int(number)] for number in parts[::2]]
        return SplitText(begins, tuple(zip(times, parts[1::2], strict=True)))


class SplitText(NamedTuple):
    """The text before its first age, and for each age its start time and the text after it."""

    begins: bytes
    ages: Sequence[tuple[str, bytes]]


def human(seconds: float) -> str:
    """Return a duration in seconds as text, with at most two units, and with one if it is long."""
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
