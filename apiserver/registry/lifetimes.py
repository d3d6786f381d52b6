"""The lifetime of an HTTP request that writes: until its client disconnects or its time is over,
unless one of its commits has begun.

In kube-apiserver, both end the context of the request, and etcd's client begins no transaction with
a context that has ended. Here, the storage asks before it begins a commit (`Lifetime.consents`).
From then on, the write runs to its end. If the request writes several objects, it can end before
the next one.
"""

import asyncio
import math


class Lifetime:
    """Whether a request can still be ended. `app` creates one for each request that writes."""

    __slots__ = ("_deadline", "_limit", "has_begun", "is_abandoned", "waits")

    def __init__(self, limit: asyncio.Timeout) -> None:
        """`limit` is the time limit that cancels the request."""
        self._limit = limit
        self._deadline = limit.when()
        self.has_begun = False
        """Whether a commit of the current write has begun."""
        self.is_abandoned = False
        """Whether the client has disconnected."""
        self.waits: dict[str, float] = {}
        """Seconds in which the request waited, by what it waited for: `apf-queue-wait`,
        `mutating-webhook` and `validating-webhook`."""

    @property
    def waited(self) -> float:
        """The seconds in which the request waited for admission webhooks or in a queue."""
        return sum(self.waits.values()) if self.waits else 0.0

    def wait(self, part: str, seconds: float) -> None:
        """Note that the request has waited."""
        self.waits[part] = self.waits.get(part, 0.0) + seconds

    def shorten(self, seconds: float) -> None:
        """Reduce the time limit to this many seconds from now."""
        until = asyncio.get_running_loop().time() + seconds
        if self._deadline is None or until < self._deadline:
            self._deadline = until
            self._limit.reschedule(until)

    @property
    def remaining(self) -> float:
        """The seconds until the time limit; infinite without one."""
        if self._deadline is None:
            return math.inf
        return max(0.0, self._deadline - asyncio.get_running_loop().time())

    def begin_write(self) -> None:
        """Note that the request begins to write an object. Raises ConnectionResetError if its
        client disconnected during the previous one."""
        if self.has_begun:
            if self.is_abandoned:
                raise ConnectionResetError("the client has disconnected")
            self.has_begun = False
            self._limit.reschedule(self._deadline)

    def consents(self) -> bool:
        """Return whether a commit can begin. Neither the client nor the time limit ends the write
        after that."""
        if not self.has_begun:
            if self.is_abandoned or self._limit.expired():
                return False
            self._limit.reschedule(None)
            self.has_begun = True
        return True

    def abandon(self) -> bool:
        """Note that the client has disconnected. Returns whether to cancel the request."""
        self.is_abandoned = True
        return not self.has_begun
