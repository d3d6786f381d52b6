"""A time limit for every request at the cost of one timer for all of them.

`asyncio.timeout` starts and cancels a timer of its own each time, which costs a small write some
hundredths of its time. Limits of one length end in the order they began, so one timer that looks
at the oldest is enough.
"""

import asyncio
from types import TracebackType
from typing import Self


class Deadlines:
    """Time limits of `seconds` each."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._running: dict[Limit, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def limit(self, task: "asyncio.Task[None]") -> "Limit":
        """`with deadlines.limit(task):` in this task raises TimeoutError when the time is up."""
        return Limit(self, task)

    def add(self, limit: "Limit", loop: asyncio.AbstractEventLoop) -> None:
        """Watch over it."""
        self._running[limit] = None
        if self._timer is None:
            self._timer = loop.call_at(limit.ends, self._look, loop)

    def remove(self, limit: "Limit") -> None:
        """It is over in time; the timer looks for another when it is due."""
        self._running.pop(limit, None)

    def close(self) -> None:
        """Watch over nothing any more."""
        self._running.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        for limit in tuple(self._running):
            if limit.ends > loop.time():
                self._timer = loop.call_at(limit.ends, self._look, loop)
                return
            del self._running[limit]
            limit.expire()


class Limit:
    """One block under a time limit; as `asyncio.timeout` otherwise."""

    __slots__ = ("_cancelling", "_deadlines", "_task", "ends", "expired")

    def __init__(self, deadlines: Deadlines, task: "asyncio.Task[None]") -> None:
        self._deadlines = deadlines
        self._task = task
        self.expired = False
        self.ends = 0.0

    def expire(self) -> None:
        """Cancel the block."""
        self.expired = True
        self._task.cancel()

    def __enter__(self) -> Self:
        loop = self._task.get_loop()
        self._cancelling = self._task.cancelling()
        self.ends = loop.time() + self._deadlines.seconds
        self._deadlines.add(self, loop)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._deadlines.remove(self)
        if not self.expired:
            return
        # a cancellation by somebody else that came at the same time goes on
        if self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error
