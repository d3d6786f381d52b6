"""A clock whose time of day is set, as by a user or by NTP; measured periods are not affected."""

from datetime import datetime, timedelta

from inkube.controllers.clock import FakeClock


class SteppedClock(FakeClock):
    """A FakeClock that `step` sets forward or back."""

    def __init__(self, *, ticking: bool = False) -> None:
        super().__init__(ticking=ticking)
        self._set_by = timedelta()

    def now(self) -> datetime:
        """Return the time of day that was set."""
        return super().now() + self._set_by

    def step(self, seconds: float) -> None:
        """Set the time of day forward by some seconds, or back by a negative number of them."""
        self._set_by += timedelta(seconds=seconds)
