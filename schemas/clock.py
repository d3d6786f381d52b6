"""Time as a dependency: all code reads time through a clock, so that a test can move it.

The composition root creates one clock (`controllers.clock` has the real one and the movable one)
and passes it to all code that needs time.
"""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Wall time for stored times, monotonic seconds for measured periods."""

    def now(self) -> datetime:
        """Return the current time, with its zone (UTC)."""
        ...

    def monotonic(self) -> float:
        """Return seconds since a fixed but unspecified time; never decreases."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after this number of seconds of this clock."""
        ...
