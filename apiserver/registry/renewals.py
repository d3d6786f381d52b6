"""Objects stored under an older schema, as today's shows them: worked out once, within a bound."""

from collections.abc import Callable

from inkube.schemas.objects import Object
from inkube.storage import Entry

VERDICTS = 65_536  # some 100 bytes each
KEPT = 16  # decoded objects; who shows one asks for it a few times in a row


class Renewals:
    """One per resource. What is known of a state goes by its bytes, so that no entry is pinned."""

    def __init__(self) -> None:
        self._unchanged: dict[str, int] = {}
        self._renewed: dict[str, tuple[bytes, Object]] = {}

    def of(self, entry: Entry, renew: Callable[[], Object | None]) -> Object | None:
        """What `renew` makes of the entry: None where nothing differs, which most are."""
        state = hash(entry.data)
        if self._unchanged.get(entry.key) == state:
            return None
        known = self._renewed.get(entry.key)
        if known is not None and known[0] is entry.data:
            return known[1]
        fresh = renew()
        if fresh is None:
            if len(self._unchanged) >= VERDICTS:
                self._unchanged.clear()
            self._unchanged[entry.key] = state
            return None
        self._renewed.pop(entry.key, None)
        if len(self._renewed) >= KEPT:
            del self._renewed[next(iter(self._renewed))]
        self._renewed[entry.key] = entry.data, fresh
        return fresh
