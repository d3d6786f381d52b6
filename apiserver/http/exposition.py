"""Metrics in Prometheus' text format. Loaded at the first request for `/metrics`."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from inkube.apiserver.http.metrics import APPLY, Metrics
from inkube.storage import BUCKETS, Durations

_LABELS = (
    "verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component",
)  # fmt: skip
_VERBS = {
    "get": "GET", "head": "GET", "list": "LIST", "watch": "WATCH", "watchone": "WATCH",
    "create": "POST", "post": "POST", "update": "PUT", "put": "PUT", "patch": "PATCH",
    APPLY: "APPLY", "delete": "DELETE", "deletecollection": "DELETECOLLECTION", "proxy": "CONNECT",
}  # fmt: skip
"""inkube's verbs → those of apiserver/pkg/endpoints/metrics/metrics.go (canonicalVerb and
cleanVerb)."""
_CONNECT_SUBRESOURCES = frozenset(
    {
        *(("pods", part) for part in ("attach", "exec", "portforward", "proxy")),
        ("nodes", "proxy"),
        ("services", "proxy"),
    }
)
_REQUESTS = (
    "[STABLE] Requests by verb, dry run, group, version, resource, scope, component and code."
)
_DURATIONS = (
    "[STABLE] Seconds until the answer was sent, by verb, dry run, group, version, resource, "
    "subresource, scope and component."
)
_OBJECTS = "[STABLE] Stored objects by kind."
_SIZE = "[STABLE] Bytes of the file that keeps everything."
_COMMITS = "[ALPHA] Seconds that commits took, by what they did to an object; reads take none."
_DEPRECATED_HELP = "[STABLE] Deprecated APIs that were requested, of value 1."
_OPERATIONS = {"ADDED": "create", "MODIFIED": "update", "DELETED": "delete"}
_BUILD_HELP = "[ALPHA] The version whose behaviour is served, of value 1."


class Figures(NamedTuple):
    """The values behind the metrics. `entries` are the sizes of caches. With several processes,
    `requests` and `entries` are sums over `workers` processes; `workers` is 0 for one process."""

    requests: Metrics
    entries: Mapping[str, int]
    workers: int
    objects: Mapping[tuple[str, str], int]
    """Numbers of stored objects, by group and plural."""
    stored_bytes: int | None
    """Size of the stored data; None for a store in memory."""
    commits: Durations
    deprecated_resources: Collection[tuple[str, str, str]]
    """Groups, versions and plurals of all deprecated resources."""
    build: Mapping[str, str]


def text(figures: Figures) -> bytes:
    """Return the metrics in Prometheus' exposition format."""
    registry = CollectorRegistry()
    registry.register(_Collector(figures))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


def checks(states: Mapping[tuple[str, str], int], counts: Mapping[tuple[str, str], int]) -> bytes:
    """Return the metrics of health checks. Keys are (path, name): `states` contains 1 or 0,
    `counts` the number of passed checks."""
    registry = CollectorRegistry()
    registry.register(_Checks(states, counts))
    return generate_latest(registry)


class _Checks:
    def __init__(
        self, states: Mapping[tuple[str, str], int], counts: Mapping[tuple[str, str], int]
    ) -> None:
        self._states, self._counts = states, counts

    def collect(self) -> Iterator[Metric]:
        """prometheus_client's collector protocol."""
        text = "[STABLE] This metric records the result of a single healthcheck."
        gauge = GaugeMetricFamily("kubernetes_healthcheck", text, labels=["name", "type"])
        for (kind, name), value in self._states.items():
            gauge.add_metric([name, kind], value)
        yield gauge
        text = "[STABLE] This metric records the results of all healthcheck."
        names = ["name", "status", "type"]
        counter = CounterMetricFamily("kubernetes_healthchecks", text, labels=names)
        for (kind, name), number in self._counts.items():
            counter.add_metric([name, "success", kind], number)
        yield counter


class _Collector:
    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        """prometheus_client's collector protocol."""
        requests = self._figures.requests
        total = CounterMetricFamily("apiserver_request", _REQUESTS, labels=[*_LABELS, "code"])
        labelled = [(_labels(key), series) for key, series in requests.series.items()]
        for labels, series in labelled:
            for code, number in series.codes.items():
                total.add_metric([*labels, str(code)], number)
        yield total
        histogram = HistogramMetricFamily(
            "apiserver_request_duration_seconds", _DURATIONS, labels=_LABELS
        )
        for labels, series in labelled:
            histogram.add_metric(labels, _cumulative(series.buckets), series.seconds)
        yield histogram
        yield self._deprecated_requests()
        yield from self._of_storage()
        yield from self._of_commits()
        build = GaugeMetricFamily(
            "kubernetes_build_info", _BUILD_HELP, labels=[*self._figures.build]
        )
        build.add_metric([*self._figures.build.values()], 1)
        yield build
        entries = GaugeMetricFamily("inkube_cache_entries", "What caches hold.", labels=["cache"])
        for name, number in self._figures.entries.items():
            entries.add_metric([name], number)
        yield entries
        if self._figures.workers:
            text = "Workers that these figures are of: those that answered."
            yield GaugeMetricFamily("inkube_workers", text, self._figures.workers)

    def _deprecated_requests(self) -> Metric:
        """Return the metric of requests for deprecated resources."""
        labels = ["group", "removed_release", "resource", "subresource", "version"]
        gauge = GaugeMetricFamily(
            "apiserver_requested_deprecated_apis", _DEPRECATED_HELP, labels=labels
        )
        requested = {key[1:5] for key in self._figures.requests.series}
        for group, version, resource, subresource in sorted(requested):
            if (group, version, resource) in self._figures.deprecated_resources:
                gauge.add_metric([group, "", resource, subresource, version], 1)
        return gauge

    def _of_commits(self) -> Iterator[Metric]:
        commits, labels = self._figures.commits, ["operation"]
        total = CounterMetricFamily("etcd_requests", _COMMITS, labels=labels)
        histogram = HistogramMetricFamily("etcd_request_duration_seconds", _COMMITS, labels=labels)
        for operation, counts in commits.buckets.items():
            total.add_metric([_OPERATIONS[operation]], sum(counts))
            buckets = _cumulative(counts)
            histogram.add_metric([_OPERATIONS[operation]], buckets, commits.seconds[operation])
        yield total
        yield histogram

    def _of_storage(self) -> Iterator[Metric]:
        old = GaugeMetricFamily("apiserver_storage_objects", _OBJECTS, labels=["resource"])
        new = GaugeMetricFamily(
            "apiserver_resource_objects", _OBJECTS, labels=["group", "resource"]
        )
        for (group, plural), number in self._figures.objects.items():
            old.add_metric([f"{plural}.{group}" if group else plural], number)
            new.add_metric([group, plural], number)
        yield old
        yield new
        if self._figures.stored_bytes is not None:
            size = GaugeMetricFamily(
                "apiserver_storage_size_bytes", _SIZE, labels=["storage_cluster_id"]
            )
            size.add_metric(["etcd-0"], self._figures.stored_bytes)
            yield size


def _labels(key: Sequence[str]) -> list[str]:
    """Return the values of `_LABELS` for a key of `Metrics.series`."""
    verb, group, version, resource, subresource, dry_run, scope = key
    verb_label = (
        "CONNECT" if (resource, subresource) in _CONNECT_SUBRESOURCES else _VERBS.get(verb, "other")
    )
    component = "" if subresource.startswith("/") else "apiserver"
    return [verb_label, dry_run, group, version, resource, subresource, scope, component]


def _cumulative(buckets: Sequence[int]) -> list[tuple[str, float]]:
    total, result = 0.0, []
    for bound, number in zip([*map(str, BUCKETS), "+Inf"], buckets, strict=True):
        total += number
        result.append((bound, total))
    return result
