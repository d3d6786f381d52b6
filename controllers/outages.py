"""Outages: times in which the store cannot be used, so that many reconciles fail for one reason.

An outage is one line in the log when it begins and one when it ends. It also ends when all
controllers that failed are stopped, for example because another server leads.
"""

import logging
from datetime import datetime
from typing import NamedTuple

from inkube.schemas.clock import Clock
from inkube.schemas.meta import format_time
from inkube.schemas.status import StatusError

logger = logging.getLogger(__name__)


class Work(NamedTuple):
    """Work that is repeated until it succeeds: a controller, and the key of an object."""

    controller: str
    key: tuple[str, ...]

    def __str__(self) -> str:
        """Return the text for the log."""
        return f"{self.controller}: {'/'.join(part for part in self.key if part)}"


class Outages:
    """Decides which errors are outages, and logs their begin and end.

    `errors` are the exceptions of a store that cannot be used. A response with the code 503 means
    the same. The controllers and informers of a manager share one object.
    """

    def __init__(self, clock: Clock, errors: tuple[type[Exception], ...] = ()) -> None:
        self._clock = clock
        self._errors = errors
        self._failing: set[Work] = set()
        """The work that failed in the current outage and has not succeeded since. Bounded by the
        keys of the work queues."""
        self._since: datetime | None = None

    def includes(self, error: Exception) -> bool:
        """Return whether an error only means that the store cannot be used now."""
        if isinstance(error, StatusError):
            return error.code == 503
        return isinstance(error, self._errors)

    def record_failure(self, work: Work, error: Exception) -> None:
        """Record work that failed because of an outage."""
        if not self._failing:
            self._since = self._clock.now()
            logger.error(
                "%s failed: %s; since %s, controllers repeat such work until it succeeds",
                work, error, format_time(self._since),
            )  # fmt: skip
        self._failing.add(work)

    def record_success(self, work: Work) -> None:
        """Record work that succeeded. If it failed before, the outage is over."""
        if work in self._failing:
            self._end("controllers work again")

    def forget(self, controller: str) -> None:
        """Remove the work of a controller that was stopped, because it is not repeated. Without
        other work, the outage is over for this process."""
        left = {work for work in self._failing if work.controller != controller}
        if self._failing and not left:
            self._end("the controllers that failed are stopped")
        self._failing = left

    def _end(self, message: str) -> None:
        assert self._since is not None
        seconds = (self._clock.now() - self._since).total_seconds()
        logger.warning("%s, after %.0f s of failures", message, seconds)
        self._failing.clear()
