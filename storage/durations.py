"""The durations of commits by the type of their changes, for `/metrics`.

Each change counts with the duration of its commit, like each request to etcd.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from inkube.storage.entry import Change

BUCKETS = (
    0.0005, 0.001, 0.0025, 0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0,
    4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
)  # fmt: skip
"""In seconds: the buckets of etcd_request_duration_seconds and apiserver_request_duration_seconds,
and three shorter ones."""


class Durations:
    """The durations of one process. `seconds` is the sum, `buckets` the number of commits within
    each of `BUCKETS`."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.buckets: dict[str, list[int]] = {}

    def note(self, changes: Sequence[Change], seconds: float) -> None:
        """Count the changes of a commit with its duration."""
        at = bisect_left(BUCKETS, seconds)
        for change in changes:
            buckets = self.buckets.get(change.type)
            if buckets is None:
                buckets = self.buckets[change.type] = [0] * (len(BUCKETS) + 1)
                self.seconds[change.type] = 0.0
            buckets[at] += 1
            self.seconds[change.type] += seconds

    def snapshot(self) -> dict[str, list[Any]]:
        """Return the same as JSON values for another process; see `add`."""
        return {
            change_type: [self.seconds[change_type], counts]
            for change_type, counts in self.buckets.items()
        }

    def add(self, snapshot: Mapping[str, Sequence[Any]]) -> None:
        """Add the durations of another process."""
        for change_type, (seconds, counts) in snapshot.items():
            counted = self.buckets.get(change_type, [0] * len(counts))
            self.buckets[change_type] = [sum(pair) for pair in zip(counted, counts, strict=True)]
            self.seconds[change_type] = self.seconds.get(change_type, 0.0) + seconds
