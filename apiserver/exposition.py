"""Prometheus' text of a server's figures; loaded when somebody asks for `/metrics`."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

from inkube.apiserver.metrics import BUCKETS, LABELS, Metrics


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
        for labels, number in self._metrics.requests.items():
            total.add_metric(list(labels), number)
        yield total
        histogram = HistogramMetricFamily(
            "apiserver_request_duration_seconds", "How long requests took.", labels=list(LABELS)
        )
        for labels, cells in self._metrics.durations.items():
            histogram.add_metric(list(labels), _cumulative(cells[:-1]), cells[-1])
        yield histogram


def _cumulative(cells: list[float]) -> list[tuple[str, float]]:
    bounds = [str(bound) for bound in BUCKETS] + ["+Inf"]
    total, found = 0.0, []
    for bound, number in zip(bounds, cells, strict=True):
        total += number
        found.append((bound, total))
    return found
