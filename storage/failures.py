"""A repeated action that fails: the delay grows, and only the first failure is logged."""

import logging

from inkube.storage.errors import StorageError

MOST_DOUBLINGS = 10


class Failures:
    """Counts consecutive failures. `what` names the action in the log; `first` and `longest` are
    delays in seconds."""

    def __init__(
        self, logger: logging.Logger, operation: str, *, first: float, longest: float
    ) -> None:
        self._logger = logger
        self._operation = operation
        self._first = first
        self._longest = longest
        self._count = 0

    def failed(self, error: Exception) -> float:
        """Log the first of consecutive failures, an unknown one with its traceback. Returns the
        delay before the next attempt in seconds."""
        if not self._count:
            trace = None if isinstance(error, StorageError) else error
            self._logger.error(
                "%s failed and is tried again: %s", self._operation, error, exc_info=trace
            )
        self._count = min(self._count + 1, MOST_DOUBLINGS)
        return float(min(self._first * 2 ** (self._count - 1), self._longest))

    def worked(self) -> None:
        """Log the first success after failures."""
        if self._count:
            self._logger.warning("%s works again", self._operation)
        self._count = 0
