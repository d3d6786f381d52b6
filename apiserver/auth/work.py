"""The seats that a request takes: a list by the bytes it loads, a write by the watches it wakes.

Follows apiserver/pkg/util/flowcontrol/request (list_work_estimator.go, mutating_work_estimator.go)
and util/flowcontrol/watch_tracker.go, from 1.34. Every list is read from memory here, so the limit
for lists from memory holds for all.
"""

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from inkube.apiserver.http import RequestInfo, requests
from inkube.apiserver.registry import Resources
from inkube.storage import Store

_SEAT_BYTES = 100_000
_MOST_LISTED_BYTES = 1_000_000
"""A list from memory is sent in pieces, and never takes more (cacheWithStreamingMaxMemoryUsage)."""
_SEAT_WATCHES = 10
_EVENT_SECONDS = 0.005
"""The time that the events of a write keep its seats after the response, for each seat that the
watches would need."""
_MOST_SEATS_OF_WRITES = 10
_NOTHING = ("", "", "", "")
_SAMPLE = 100  # objects whose sizes estimate those of all


class Work:
    """What a request takes of its priority level."""

    __slots__ = ("after", "begun", "seats", "seconds")

    def __init__(
        self, seats: int, after: int = 0, seconds: float = 0.0, begun: float = 0.0
    ) -> None:
        self.seats = seats
        """The seats that must be free when it begins."""
        self.after = after
        """Those of them that it keeps for `seconds` after the response, while watches get the
        event."""
        self.seconds = seconds
        self.begun = begun
        """The time of `time.perf_counter` at which it got its seats, if somebody reads metrics."""


ONE_SEAT = Work(1)


class Estimator:
    """Estimates the work of the requests of one process."""

    def __init__(self, store: Store, resources: Resources) -> None:
        self._store = store
        self._resources = resources
        self._watches: Counter[tuple[str, str, str, str]] = Counter()
        """Open watches by group, plural, namespace and name."""
        self._sizes: dict[str, tuple[int, int]] = {}
        """By the prefix of a kind: the number of its objects when they were measured, and their
        average bytes."""

    @contextmanager
    def watching(self, info: RequestInfo) -> Iterator[None]:
        """Count the request as an open watch in this context, if it is one."""
        watched = _watched(info) if info.verb in requests.WATCHES else _NOTHING
        self._watches[watched] += 1
        try:
            yield
        finally:
            self._watches[watched] -= 1
            if not self._watches[watched]:
                del self._watches[watched]

    def watches_of(self, info: RequestInfo) -> int:
        """Return how many watches a write of an object concerns."""
        group, plural, namespace, name = _watched(info)
        found = self._watches[group, plural, "", ""]
        if namespace:
            found += self._watches[group, plural, namespace, ""]
        if name:
            found += self._watches[group, plural, namespace, name]
        return found

    def of_write(self, info: RequestInfo, most: int) -> Work:
        """Return the work of a write. `most` is the highest number of seats of a request."""
        watches = self.watches_of(info)
        if watches < _SEAT_WATCHES:
            return ONE_SEAT
        wanted = math.ceil(watches / _SEAT_WATCHES)
        seats = min(wanted, most, _MOST_SEATS_OF_WRITES)
        return Work(seats, seats, _EVENT_SECONDS * wanted / seats)

    def of_list(self, info: RequestInfo, most: int) -> Work:
        """Return the work of a list, or of a watch, which can begin with one. `most` is the highest
        number of seats of a request."""
        if info.name or info.selected_name or not _lists(info):
            return ONE_SEAT
        resource = self._resources.get(info.group, info.resource)
        count = 0 if resource is None else self._store.count(resource.prefix)
        if resource is None or not count:
            return ONE_SEAT
        limit = info.query.get("limit", "")
        if limit.isdecimal() and len(limit) < 10 and int(limit):
            returned = min(count, int(limit))
        else:
            returned = count
        size = min(returned * self._average_size(resource.prefix, count), _MOST_LISTED_BYTES)
        seats = min(math.ceil(size / _SEAT_BYTES), most)
        return ONE_SEAT if seats <= 1 else Work(seats)

    def _average_size(self, prefix: str, count: int) -> int:
        """Return the average bytes of objects, measured again after their number doubled or
        halved."""
        measured, size = self._sizes.get(prefix, (0, 0))
        if not measured <= count * 2 <= measured * 4:
            sample = self._store.list(prefix, _SAMPLE).data
            measured, size = count, sum(map(len, sample)) // len(sample)
            self._sizes[prefix] = measured, size
        return size


def _watched(info: RequestInfo) -> tuple[str, str, str, str]:
    return info.group, info.resource, info.namespace, info.name or info.selected_name


def _lists(info: RequestInfo) -> bool:
    """Return whether a list or watch returns the objects that exist."""
    if info.verb == "list" or info.query.get("sendInitialEvents") == "true":
        return True
    return info.query.get("resourceVersion", "") in ("", "0")
