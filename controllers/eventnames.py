"""Names of Events: the name of their object and a number that grows with each Event of a server.

`kubectl` sorts events by name if their times, which have no fractions of seconds, are equal.
"""

import uuid
from datetime import UTC, datetime, timedelta

from inkube.schemas.clock import Clock
from inkube.schemas.metadata import names

_UNIX = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class EventNames:
    """The names of the Events of one server, which all its recorders share.

    A name ends with the nanoseconds since 1970 of the server's clock, as in client-go (util.
    GenerateEventName). Two Events never have the same number, and a later Event has a greater one,
    even if the clock stands still or goes back.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0

    def new(self, about: str) -> str:
        """Return the name of a new Event about the object with a name: `<name of the object>.<16
        hexadecimal digits>`. If this is no valid name of an Event, return a UUID that consists of
        the number.
        """
        nanoseconds = (self._clock.now() - _UNIX) // _MICROSECOND * 1000
        self._last = max(self._last + 1, nanoseconds)
        name = f"{about}.{self._last:016x}"
        return str(uuid.UUID(int=self._last)) if names.subdomain(name) else name
