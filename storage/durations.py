"""The durations of commits by the type of their changes and their kind, for `/metrics`.

Each change counts with the duration of its commit, like each request to etcd.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any

from inkube.storage.entry import Change

BUCKETS = (
    0.0005, 0.001, 0.0025, 0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0,
    4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
)  # fmt: skip
"""In seconds: the buckets of etcd_request_duration_seconds and apiserver_request_duration_seconds,
and three shorter ones."""


MAX_SERIES = 10_000  # types of changes and kinds; new kinds add them

Series = tuple[str, str]
"""The type of changes, and the beginning of their keys up to the plural, such as `/registry/pods/`
or `/registry/example.com/boats/`."""


class Durations:
    """The durations of one process. `seconds` is the sum, `buckets` the number of commits within
    each of `BUCKETS`."""

    def __init__(self) -> None:
        self.seconds: dict[Series, float] = {}
        self.buckets: dict[Series, list[int]] = {}

    def note(self, changes: Sequence[Change], seconds: float) -> None:
        """Count the changes of a commit with its duration."""
        at = bisect_left(BUCKETS, seconds)
        for change in changes:
            series = change.type, _kind_of(change.entry.key)
            buckets = self.buckets.get(series)
            if buckets is None:
                if len(self.buckets) >= MAX_SERIES:
                    continue
                buckets = self.buckets[series] = [0] * (len(BUCKETS) + 1)
                self.seconds[series] = 0.0
            buckets[at] += 1
            self.seconds[series] += seconds

    def reset(self) -> None:
        """Forget all commits."""
        self.seconds.clear()
        self.buckets.clear()

    def snapshot(self) -> list[list[Any]]:
        """Return the same as JSON values for another process; see `add`."""
        return [[*series, self.seconds[series], each] for series, each in self.buckets.items()]

    def add(self, snapshot: Iterable[Sequence[Any]]) -> None:
        """Add the durations of another process."""
        for change_type, kind, seconds, counts in snapshot:
            series = change_type, kind
            counted = self.buckets.get(series, [0] * len(counts))
            self.buckets[series] = [sum(pair) for pair in zip(counted, counts, strict=True)]
            self.seconds[series] = self.seconds.get(series, 0.0) + seconds


def _kind_of(key: str) -> str:
    """Return the beginning of a key that all objects of a kind have. The group of a kind that is
    not built in has a dot, and is a part of it."""
    first = key.find("/", 1) + 1
    end = key.find("/", first)
    if "." in key[first:end]:
        end = key.find("/", end + 1)
    return key[: end + 1]
