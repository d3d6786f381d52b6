"""Counts and durations of requests, for `/metrics`.

Plain dictionaries on the hot path; `exposition` formats them when asked.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

from inkube.apiserver.http.requests import RequestInfo

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)
LABELS = ("verb", "group", "version", "resource", "subresource")
MOST = 10_000  # sets of labels: kinds come and go
_METHODS = frozenset({"get", "head", "post", "put", "patch", "delete", "options"})


class Series:
    """The requests of one set of labels."""

    __slots__ = ("buckets", "codes", "seconds")

    def __init__(self) -> None:
        self.codes: dict[int, int] = {}
        self.buckets = [0] * (len(BUCKETS) + 1)
        self.seconds = 0.0


class Metrics:
    """One server's figures."""

    def __init__(self) -> None:
        self.series: dict[tuple[str, ...], Series] = {}
        """By labels."""

    def told(self) -> list[Any]:
        """The same for another process, as JSON has it; see `add`."""
        return [
            [labels, [*series.codes.items()], series.buckets, series.seconds]
            for labels, series in self.series.items()
        ]

    def add(self, told: Iterable[Any]) -> None:
        """Add what another process told."""
        for labels, codes, buckets, seconds in told:
            series = self.series.setdefault(tuple(labels), Series())
            for code, number in codes:
                series.codes[code] = series.codes.get(code, 0) + number
            series.buckets = [sum(pair) for pair in zip(series.buckets, buckets, strict=True)]
            series.seconds += seconds

    def count(self, info: RequestInfo, code: int, seconds: float) -> None:
        """Note one request. Refused ones share labels: what they name may not even exist, and
        clients must not be able to grow the table; an OPTIONS that is no verb is never refused."""
        if info.is_resource and info.verb and code < 400 and len(self.series) < MOST:
            labels: tuple[Any, ...] = info.shape[:5]
        elif info.is_resource or info.verb in _METHODS:
            labels = (info.verb, "", "", "", "")
        else:
            labels = ("other", "", "", "", "")
        series = self.series.get(labels)
        if series is None:
            series = self.series[labels] = Series()
        series.codes[code] = series.codes.get(code, 0) + 1
        series.buckets[bisect_left(BUCKETS, seconds)] += 1
        series.seconds += seconds
