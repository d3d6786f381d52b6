"""Counts and durations of requests, for `/metrics`.

Plain dictionaries on the hot path; prometheus_client formats them when asked.
"""

from bisect import bisect_left
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

from inkube.apiserver.requests import RequestInfo

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)
_LABELS = ("verb", "group", "version", "resource", "subresource")


class Metrics:
    """One server's figures."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, ...], int] = {}
        self._durations: dict[tuple[str, ...], list[float]] = {}
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def count(self, info: RequestInfo, code: int, seconds: float) -> None:
        """Note one request. Unknown resources share one label, so that clients cannot grow it."""
        if info.is_resource and code != 404:
            labels = (info.verb, info.group, info.version, info.resource, info.subresource)
        else:
            labels = (info.verb, "", "", "", "")
        key = (*labels, str(code))
        self._requests[key] = self._requests.get(key, 0) + 1
        cells = self._durations.get(labels)
        if cells is None:
            cells = self._durations[labels] = [0.0] * (len(BUCKETS) + 2)
        cells[bisect_left(BUCKETS, seconds)] += 1
        cells[-1] += seconds

    def collect(self) -> Iterator[Metric]:
        """prometheus_client's collector protocol."""
        total = CounterMetricFamily(
            "apiserver_request", "Requests by verb, resource and code.", labels=[*_LABELS, "code"]
        )
        for labels, number in self._requests.items():
            total.add_metric(list(labels), number)
        yield total
        histogram = HistogramMetricFamily(
            "apiserver_request_duration_seconds", "How long requests took.", labels=list(_LABELS)
        )
        for labels, cells in self._durations.items():
            histogram.add_metric(list(labels), _cumulative(cells[:-1]), cells[-1])
        yield histogram

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self._registry)


def _cumulative(cells: list[float]) -> list[tuple[str, float]]:
    bounds = [str(bound) for bound in BUCKETS] + ["+Inf"]
    total, found = 0.0, []
    for bound, number in zip(bounds, cells, strict=True):
        total += number
        found.append((bound, total))
    return found
