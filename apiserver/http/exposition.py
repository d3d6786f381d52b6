"""Prometheus' text of a server's figures; loaded when somebody asks for `/metrics`."""

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from inkube.apiserver.http.metrics import BUCKETS, LABELS, Metrics


def text(metrics: Metrics, entries: Mapping[str, int], workers: int) -> bytes:
    """The exposition format. `entries` is what caches hold, by name; `workers` is how many
    processes all of it is of, 0 where there are no others."""
    registry = CollectorRegistry()
    registry.register(_Collector(metrics, entries, workers))
    return generate_latest(registry)


def checks(passing: Mapping[tuple[str, str], int], asked: Mapping[tuple[str, str], int]) -> bytes:
    """Whether health checks pass and how often they did, both by (path, name)."""
    registry = CollectorRegistry()
    registry.register(_Checks(passing, asked))
    return generate_latest(registry)


class _Checks:
    def __init__(
        self, passing: Mapping[tuple[str, str], int], asked: Mapping[tuple[str, str], int]
    ) -> None:
        self._passing, self._asked = passing, asked

    def collect(self) -> Iterator[Metric]:
        """prometheus_client's collector protocol."""
        text = "[STABLE] This metric records the result of a single healthcheck."
        one = GaugeMetricFamily("kubernetes_healthcheck", text, labels=["name", "type"])
        for (kind, name), value in self._passing.items():
            one.add_metric([name, kind], value)
        yield one
        text = "[STABLE] This metric records the results of all healthcheck."
        names = ["name", "status", "type"]
        every = CounterMetricFamily("kubernetes_healthchecks", text, labels=names)
        for (kind, name), number in self._asked.items():
            every.add_metric([name, "success", kind], number)
        yield every


class _Collector:
    def __init__(self, metrics: Metrics, entries: Mapping[str, int], workers: int) -> None:
        self._metrics, self._entries, self._workers = metrics, entries, workers

    def collect(self) -> Iterator[Metric]:
        """prometheus_client's collector protocol."""
        total = CounterMetricFamily(
            "apiserver_request", "Requests by verb, resource and code.", labels=[*LABELS, "code"]
        )
        for labels, series in self._metrics.series.items():
            for code, number in series.codes.items():
                total.add_metric([*labels, str(code)], number)
        yield total
        histogram = HistogramMetricFamily(
            "apiserver_request_duration_seconds", "How long requests took.", labels=list(LABELS)
        )
        for labels, series in self._metrics.series.items():
            histogram.add_metric(list(labels), _cumulative(series.buckets), series.seconds)
        yield histogram
        entries = GaugeMetricFamily("inkube_cache_entries", "What caches hold.", labels=["cache"])
        for name, number in self._entries.items():
            entries.add_metric([name], number)
        yield entries
        if self._workers:
            text = "Workers that these figures are of: those that answered."
            yield GaugeMetricFamily("inkube_workers", text, self._workers)


def _cumulative(buckets: list[int]) -> list[tuple[str, float]]:
    bounds = [str(bound) for bound in BUCKETS] + ["+Inf"]
    total, found = 0.0, []
    for bound, number in zip(bounds, buckets, strict=True):
        total += number
        found.append((bound, total))
    return found
