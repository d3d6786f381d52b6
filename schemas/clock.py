"""Time as a dependency: what everybody reads time through, so that a test can move it.

The composition root makes one clock (`controllers.clock` has the real one and the movable one) and
hands it to whoever needs time.
"""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Wall time for what is stored, monotonic seconds for what is measured."""

    def now(self) -> datetime:
        """The time of day, with its zone (UTC)."""
        ...

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after this number of seconds of this clock."""
        ...
