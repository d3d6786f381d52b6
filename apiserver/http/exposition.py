"""Metrics in Prometheus' text format. Loaded at the first request for `/metrics`."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from inkube.apiserver import samples
from inkube.apiserver.http import labellimits
from inkube.apiserver.http.metrics import APPLY, Metrics
from inkube.apiserver.http.metrictexts import HELP
from inkube.apiserver.samples import Samples
from inkube.schemas.golang import gofloats
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
_SHORT = frozenset(map(gofloats.format_general, BUCKETS[: BUCKETS.index(0.05)]))
"""Bounds below the first one of apiserver_request_sli_duration_seconds."""
_LATENCIES = "apiserver_request_sli_duration_seconds", "apiserver_request_slo_duration_seconds"
"""A metric, and its name before 1.27, which older dashboards read."""
_LEVEL = re.compile(r"(?:EXPERIMENTAL: )?\[(\w+)\]")
"""The level of stability at the beginning of a help text."""
_WHOLE = re.compile(rb"(?<=\d)\.0$", re.MULTILINE)
_OPERATIONS = {"ADDED": "create", "MODIFIED": "update", "DELETED": "delete"}


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
    samples: Samples
    sizes: Mapping[tuple[str, str], int]
    """Estimated bytes of stored objects, by group and plural."""
    kinds: Mapping[str, tuple[str, str]]
    """Groups and plurals by the beginning of the keys of their objects."""
    deprecated_resources: Collection[tuple[str, str, str]]
    """Groups, versions and plurals of all deprecated resources."""
    build: Mapping[str, str]
    allowed_labels: Mapping[str, str] = {}
    """The shown values of a label, with commas between them, by `METRIC,LABEL`."""
    disabled: Collection[str] = ()
    """Names of metrics that are not shown."""


def text(figures: Figures) -> bytes:
    """Return the metrics in Prometheus' exposition format."""
    registry = CollectorRegistry()
    registry.register(_Collector(figures))
    ProcessCollector(registry=registry)
    text = _in_go(generate_latest(registry))
    for name in _COUNTERS:
        text = text.replace(b"# TYPE %s gauge\n" % name, b"# TYPE %s counter\n" % name)
    return text


def checks(states: Mapping[tuple[str, str], int], counts: Mapping[tuple[str, str], int]) -> bytes:
    """Return the metrics of health checks. Keys are (path, name): `states` contains 1 or 0,
    `counts` the number of passed checks."""
    registry = CollectorRegistry()
    registry.register(_Checks(states, counts))
    return _in_go(generate_latest(registry))


def _in_go(text: bytes) -> bytes:
    """Return metrics with whole numbers as Go writes them: 1 instead of 1.0."""
    return _WHOLE.sub(b"", text)


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
        found = [*self._families()]
        limited = CounterMetricFamily(
            "cardinality_enforcement_unexpected_categorizations",
            HELP["cardinality_enforcement_unexpected_categorizations_total"],
            labellimits.limit(found, self._figures.allowed_labels),
        )
        found.append(limited)
        disabled = frozenset(self._figures.disabled)
        shown = [each for each in found if labellimits.name_of(each) not in disabled]
        for each in (*shown, *_of_metrics(shown, len(disabled))):
            if labellimits.name_of(each) not in disabled:
                yield each

    def _families(self) -> Iterator[Metric]:
        requests = self._figures.requests
        total = CounterMetricFamily(
            "apiserver_request", HELP["apiserver_request_total"], labels=[*_LABELS, "code"]
        )
        labelled = [(_labels(key), series) for key, series in requests.series.items()]
        for labels, series in labelled:
            for code, number in series.codes.items():
                total.add_metric([*labels, str(code)], number)
        yield total
        histogram = HistogramMetricFamily(
            "apiserver_request_duration_seconds",
            HELP["apiserver_request_duration_seconds"],
            labels=_LABELS,
        )
        for labels, series in labelled:
            histogram.add_metric(labels, _cumulative(series.buckets), series.seconds)
        yield histogram
        yield from (self._without_waits(name) for name in _LATENCIES)
        yield from _of_samples(self._figures.samples)
        yield self._deprecated_requests()
        yield from self._of_storage()
        yield from self._of_commits()
        build = GaugeMetricFamily(
            "kubernetes_build_info", HELP["kubernetes_build_info"], labels=[*self._figures.build]
        )
        build.add_metric([*self._figures.build.values()], 1)
        yield build
        yield self._version()
        entries = GaugeMetricFamily("inkube_cache_entries", "What caches hold.", labels=["cache"])
        for name, number in self._figures.entries.items():
            entries.add_metric([name], number)
        yield entries
        if self._figures.workers:
            text = "Workers that these figures are of: those that answered."
            yield GaugeMetricFamily("inkube_workers", text, self._figures.workers)

    def _version(self) -> Metric:
        """Return the compatibility versions (component-base/compatibility)."""
        major, minor = self._figures.build["major"], self._figures.build["minor"]
        labels = ["binary", "component", "emulation", "min_compat"]
        found = GaugeMetricFamily("version_info", HELP["version_info"], labels=labels)
        served = f"{major}.{minor}"
        found.add_metric([served, "kube", served, f"{major}.{int(minor) - 1}"], 1)
        return found

    def _without_waits(self, name: str) -> Metric:
        """Return the durations of requests without the time in which they waited for webhooks and
        in queues. Dry runs do not count."""
        found = HistogramMetricFamily(
            name, HELP[name], labels=[label for label in _LABELS if label != "dry_run"]
        )
        for key, series in self._figures.requests.series.items():
            verb, dry_run, *labels = _labels(key)
            if not dry_run:
                waits = series.waits or [0] * len(series.buckets)
                buckets = [sum(pair) for pair in zip(series.buckets, waits, strict=True)]
                shown = [each for each in _cumulative(buckets) if each[0] not in _SHORT]
                found.add_metric([verb, *labels], shown, series.seconds - series.waited)
        return found

    def _deprecated_requests(self) -> Metric:
        """Return the metric of requests for deprecated resources."""
        labels = ["group", "removed_release", "resource", "subresource", "version"]
        gauge = GaugeMetricFamily(
            "apiserver_requested_deprecated_apis",
            HELP["apiserver_requested_deprecated_apis"],
            labels=labels,
        )
        requested = {key[1:5] for key in self._figures.requests.series}
        for group, version, resource, subresource in sorted(requested):
            if (group, version, resource) in self._figures.deprecated_resources:
                gauge.add_metric([group, "", resource, subresource, version], 1)
        return gauge

    def _of_commits(self) -> Iterator[Metric]:
        commits, labels = self._figures.commits, ["operation", "group", "resource"]
        received = CounterMetricFamily(
            "apiserver_storage_events_received",
            HELP["apiserver_storage_events_received_total"],
            labels=labels[1:],
        )
        events: Counter[tuple[str, str]] = Counter()
        total = CounterMetricFamily("etcd_requests", HELP["etcd_requests_total"], labels=labels)
        histogram = HistogramMetricFamily(
            "etcd_request_duration_seconds", HELP["etcd_request_duration_seconds"], labels=labels
        )
        for series, counts in commits.buckets.items():
            change_type, prefix = series
            kind = self._kind(prefix)
            events[kind] += sum(counts)
            labelled = [_OPERATIONS[change_type], *kind]
            total.add_metric(labelled, sum(counts))
            histogram.add_metric(labelled, _cumulative(counts), commits.seconds[series])
        for kind, number in events.items():
            received.add_metric(kind, number)
        yield received
        yield total
        yield histogram

    def _kind(self, prefix: str) -> tuple[str, str]:
        """Return the group and the plural of a prefix of keys, also of a kind that is not served
        any more. Both are "" for records that are no objects, whose keys have no such prefix."""
        *_, group, plural = ("", "", *prefix.strip("/").split("/")[1:])
        return self._figures.kinds.get(prefix, (group, plural))

    def _of_storage(self) -> Iterator[Metric]:
        old = GaugeMetricFamily(
            "apiserver_storage_objects", HELP["apiserver_storage_objects"], labels=["resource"]
        )
        new = GaugeMetricFamily(
            "apiserver_resource_objects",
            HELP["apiserver_resource_objects"],
            labels=["group", "resource"],
        )
        for (group, plural), number in self._figures.objects.items():
            old.add_metric([f"{plural}.{group}" if group else plural], number)
            new.add_metric([group, plural], number)
        estimate = GaugeMetricFamily(
            "apiserver_resource_size_estimate_bytes",
            HELP["apiserver_resource_size_estimate_bytes"],
            labels=["group", "resource"],
        )
        for kind, estimated in self._figures.sizes.items():
            estimate.add_metric(kind, estimated)
        yield old
        yield new
        yield estimate
        if self._figures.stored_bytes is not None:
            stored = GaugeMetricFamily(
                "apiserver_storage_size_bytes",
                HELP["apiserver_storage_size_bytes"],
                labels=["storage_cluster_id"],
            )
            stored.add_metric(["etcd-0"], self._figures.stored_bytes)
            yield stored
            old_name = "apiserver_storage_db_total_size_in_bytes"
            old_size = GaugeMetricFamily(old_name, HELP[old_name], labels=["endpoint"])
            old_size.add_metric(["etcd-0"], self._figures.stored_bytes)
            yield old_size


def _labels(key: Sequence[str]) -> list[str]:
    """Return the values of `_LABELS` for a key of `Metrics.series`."""
    verb, group, version, resource, subresource, dry_run, scope = key
    verb_label = (
        "CONNECT" if (resource, subresource) in _CONNECT_SUBRESOURCES else _VERBS.get(verb, "other")
    )
    component = "" if subresource.startswith("/") else "apiserver"
    return [verb_label, dry_run, group, version, resource, subresource, scope, component]


def _cumulative(
    buckets: Sequence[int], bounds: Sequence[float] = BUCKETS
) -> list[tuple[str, float]]:
    total, result = 0.0, []
    for bound, number in zip([*map(gofloats.format_general, bounds), "+Inf"], buckets, strict=True):
        total += number
        result.append((bound, total))
    return result


class _Described(NamedTuple):
    """How recorded values are shown. `labels` ends with those that a recorder gives."""

    kind: str
    """`counter`, `gauge` or `histogram`. Those in `_COUNTERS` are gauges here, because the
    library of the format adds the ending `_total` to counters."""
    labels: str


_COUNTERS = (
    b"apiserver_admission_webhook_fail_open_count",
    b"apiserver_admission_webhook_rejection_count",
    b"authenticated_user_requests",
    b"authentication_attempts",
)
"""Counters whose names do not end with `_total`."""
_REQUEST = "verb group version resource subresource scope component"
_ADMISSION = "type operation rejected"
_POD_WRITE = "request_operation resource subresource"
_FLOW = "priority_level flow_schema"
_DESCRIBED: Mapping[str, _Described] = {
    "apiserver_admission_controller_admission_duration_seconds": _Described(
        "histogram", f"name {_ADMISSION}"
    ),
    "apiserver_admission_step_admission_duration_seconds": _Described("histogram", _ADMISSION),
    "apiserver_admission_webhook_admission_duration_seconds": _Described(
        "histogram", f"name {_ADMISSION}"
    ),
    "apiserver_admission_webhook_fail_open_count": _Described("gauge", "name type"),
    "apiserver_admission_webhook_rejection_count": _Described(
        "gauge", "name type operation error_type rejection_code"
    ),
    "apiserver_admission_webhook_request_total": _Described(
        "counter", "name type operation code rejected"
    ),
    "aggregator_unavailable_apiservice": _Described("gauge", "name"),
    "apiserver_authentication_jwt_authenticator_latency_seconds": _Described(
        "histogram", "result jwt_issuer_hash"
    ),
    "apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info": _Described(
        "gauge", "jwt_issuer_hash apiserver_id_hash hash"
    ),
    "apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds": _Described(
        "gauge", "result jwt_issuer_hash apiserver_id_hash"
    ),
    "apiserver_certificates_registry_csr_honored_duration_total": _Described(
        "counter", "signerName"
    ),
    "apiserver_certificates_registry_csr_requested_duration_total": _Described(
        "counter", "signerName"
    ),
    **{
        f"apiserver_{component}_config_controller_{what}": _Described(kind, labels)
        for component in ("authentication", "authorization")
        for what, kind, labels in (
            ("automatic_reloads_total", "counter", "status apiserver_id_hash"),
            ("automatic_reload_last_timestamp_seconds", "gauge", "status apiserver_id_hash"),
            ("last_config_info", "gauge", "apiserver_id_hash hash"),
        )
    },
    "apiserver_authorization_decisions_total": _Described("counter", "type name decision"),
    "apiserver_authorization_match_condition_evaluation_errors_total": _Described(
        "counter", "type name"
    ),
    "apiserver_authorization_match_condition_exclusions_total": _Described("counter", "type name"),
    "apiserver_authorization_webhook_duration_seconds": _Described("histogram", "name result"),
    "apiserver_authorization_webhook_evaluations_fail_open_total": _Described(
        "counter", "name result"
    ),
    "apiserver_authorization_webhook_evaluations_total": _Described("counter", "name result"),
    "apiserver_current_inflight_requests": _Described("gauge", "request_kind"),
    "apiserver_flowcontrol_current_executing_requests": _Described("gauge", _FLOW),
    "apiserver_flowcontrol_current_executing_seats": _Described("gauge", _FLOW),
    "apiserver_flowcontrol_current_inqueue_requests": _Described("gauge", _FLOW),
    "apiserver_flowcontrol_current_inqueue_seats": _Described("gauge", _FLOW),
    "apiserver_flowcontrol_current_limit_seats": _Described("gauge", "priority_level"),
    "apiserver_flowcontrol_dispatched_requests_total": _Described("counter", _FLOW),
    "apiserver_flowcontrol_lower_limit_seats": _Described("gauge", "priority_level"),
    "apiserver_flowcontrol_nominal_limit_seats": _Described("gauge", "priority_level"),
    "apiserver_flowcontrol_request_concurrency_in_use": _Described("gauge", _FLOW),
    "apiserver_flowcontrol_request_concurrency_limit": _Described("gauge", "priority_level"),
    "apiserver_flowcontrol_priority_level_request_utilization": _Described(
        "histogram", "phase priority_level"
    ),
    "apiserver_flowcontrol_priority_level_seat_utilization": _Described(
        "histogram", "phase priority_level"
    ),
    "apiserver_flowcontrol_rejected_requests_total": _Described("counter", f"{_FLOW} reason"),
    "apiserver_flowcontrol_request_execution_seconds": _Described("histogram", f"{_FLOW} type"),
    "apiserver_flowcontrol_request_queue_length_after_enqueue": _Described("histogram", _FLOW),
    "apiserver_flowcontrol_request_wait_duration_seconds": _Described(
        "histogram", f"{_FLOW} execute"
    ),
    "apiserver_flowcontrol_upper_limit_seats": _Described("gauge", "priority_level"),
    "apiserver_flowcontrol_work_estimated_seats": _Described("histogram", _FLOW),
    **{
        f"apiserver_impersonation_{what}_{kind}": _Described(form, "mode decision")
        for what in ("attempts", "authorization_attempts")
        for kind, form in (("total", "counter"), ("duration_seconds", "histogram"))
    },
    "apiserver_longrunning_requests": _Described("gauge", _REQUEST),
    "apiserver_request_body_size_bytes": _Described("histogram", "group resource verb"),
    "apiserver_request_terminations_total": _Described("counter", f"{_REQUEST} code"),
    "apiserver_response_sizes": _Described("histogram", _REQUEST),
    "apiserver_watch_events_sizes": _Described("histogram", "group version resource"),
    "apiserver_watch_events_total": _Described("counter", "group version resource"),
    "authenticated_user_requests": _Described("gauge", "username"),
    "authentication_attempts": _Described("gauge", "result"),
    "authorization_attempts_total": _Described("counter", "result"),
    "pod_security_evaluations_total": _Described(
        "counter", f"decision policy_level policy_version mode {_POD_WRITE}"
    ),
    "pod_security_exemptions_total": _Described("counter", _POD_WRITE),
    "workqueue_adds_total": _Described("counter", "name"),
    "workqueue_depth": _Described("gauge", "name"),
    "workqueue_longest_running_processor_seconds": _Described("gauge", "name"),
    "workqueue_queue_duration_seconds": _Described("histogram", "name"),
    "workqueue_retries_total": _Described("counter", "name"),
    "workqueue_unfinished_work_seconds": _Described("gauge", "name"),
    "workqueue_work_duration_seconds": _Described("histogram", "name"),
}
_COUNTED_FROM_ZERO = [
    *(
        (
            "pod_security_evaluations_total",
            "allow",
            "privileged",
            "latest",
            "enforce",
            verb,
            "pod",
            "",
        )
        for verb in ("create", "update")
    ),
    *(
        ("pod_security_exemptions_total", verb, resource, "")
        for verb in ("create", "update")
        for resource in ("controller", "pod")
    ),
]
"""Values that are shown before anything is counted (pod-security-admission/metrics,
populateCache)."""
_FAMILIES = {
    "counter": CounterMetricFamily, "gauge": GaugeMetricFamily, "histogram": HistogramMetricFamily,
}  # fmt: skip


def _of_samples(recorded: Samples) -> Iterator[Metric]:
    """Yield every described metric with the recorded values."""
    families = {
        name: _FAMILIES[each.kind](name, HELP[name], labels=each.labels.split())
        for name, each in _DESCRIBED.items()
    }
    zeros = dict.fromkeys(_COUNTED_FROM_ZERO, 0.0)
    for (name, *values), number in (zeros | recorded.numbers).items():
        families[name].add_metric(_completed(name, values), number)
    for (name, *values), found in recorded.histograms.items():
        buckets = _cumulative(found.buckets, samples.BOUNDS[name])
        families[name].add_metric(_completed(name, values), buckets, found.total)
    yield from families.values()


def _of_metrics(families: Sequence[Metric], disabled: int) -> Iterator[Metric]:
    """Yield the metrics about metrics, of which none is hidden."""
    levels = Counter(
        found[1] for family in families if (found := _LEVEL.match(family.documentation)) is not None
    )
    registered = CounterMetricFamily(
        "registered_metrics",
        HELP["registered_metrics_total"],
        labels=["deprecated_version", "stability_level"],
    )
    for level, number in sorted(levels.items()):
        registered.add_metric(["", level], number)
    yield registered
    for what, number in (("hidden", 0), ("disabled", disabled)):
        yield CounterMetricFamily(f"{what}_metrics", HELP[f"{what}_metrics_total"], number)


def _completed(name: str, values: list[str]) -> list[str]:
    """Return the values of all labels: of a request, the verb and the component are added."""
    if not _DESCRIBED[name].labels.startswith(_REQUEST):
        return values
    verb, group, version, resource, subresource, scope, *more = values
    key = verb, group, version, resource, subresource, "", scope
    told = dict(zip(_LABELS, _labels(key), strict=True))
    return [*(told[label] for label in _REQUEST.split()), *more]
