"""A bounded cache of objects that were stored under an older schema, in the form of
today's schema."""

from collections.abc import Callable

from inkube.schemas.objects import Object
from inkube.storage import Entry

VERDICTS = 65_536  # some 100 bytes each
MAX_OBJECTS = 16  # decoded objects; a response reads the same one a few times in a row


class Renewals:
    """The cache of one resource. It compares the bytes of states, and keeps no entry alive."""

    def __init__(self) -> None:
        self._unchanged: dict[str, int] = {}
        self._renewed: dict[str, tuple[bytes, Object]] = {}

    def of(self, entry: Entry, renew: Callable[[], Object | None]) -> Object | None:
        """Return the result of `renew` for the entry: None if nothing differs, as for most."""
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
        if len(self._renewed) >= MAX_OBJECTS:
            del self._renewed[next(iter(self._renewed))]
        self._renewed[entry.key] = entry.data, fresh
        return fresh
