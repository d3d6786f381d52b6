"""Prometheus' text of a server's figures; loaded when somebody asks for `/metrics`."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from inkube.apiserver.http.metrics import BUCKETS, LABELS, Metrics
from inkube.schemas import caches


def text(metrics: Metrics) -> bytes:
    """The exposition format."""
    registry = CollectorRegistry()
    registry.register(_Collector(metrics))
    return generate_latest(registry)


class _Collector:
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

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
        for cache in caches.every():
            entries.add_metric([cache.name], cache.entries())
        yield entries


def _cumulative(buckets: list[int]) -> list[tuple[str, float]]:
    bounds = [str(bound) for bound in BUCKETS] + ["+Inf"]
    total, found = 0.0, []
    for bound, number in zip(bounds, buckets, strict=True):
        total += number
        found.append((bound, total))
    return found
