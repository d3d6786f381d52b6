"""Ages as kubectl prints them (apimachinery/pkg/util/duration.HumanDuration)."""

from datetime import datetime

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_YEAR = 365 * _DAY


def age(since: str | None, now: datetime) -> str:
    """How long ago an RFC 3339 time was; `<unknown>` without one, `<invalid>` for nonsense."""
    if not since:
        return "<unknown>"
    try:
        moment = datetime.fromisoformat(since)
        seconds = (now - moment).total_seconds()
    except (ValueError, TypeError):
        return "<invalid>"
    return human(seconds)


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
