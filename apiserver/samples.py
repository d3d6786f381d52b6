"""Counters, gauges and histograms that `/metrics` shows under the names of kube-apiserver.

Each part of the server records its own; `http.exposition` has their help texts and labels. Metrics
that would cost time in most requests are recorded after a client first read `/metrics`
(`Samples.is_observed`), so that servers whose metrics nobody reads do not pay for them.
"""

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from typing import Any

MAX_SERIES = 10_000
"""Sets of labels of all metrics; further ones are not recorded. New kinds add sets."""

_LATENCIES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_OF_ADMISSION = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)
_OF_IMPERSONATION = tuple(0.001 * 2**power for power in range(15))
_OF_FLOWS = (0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0)
BOUNDS: Mapping[str, tuple[float, ...]] = {
    "apiserver_admission_controller_admission_duration_seconds": _OF_ADMISSION,
    "apiserver_admission_step_admission_duration_seconds": _OF_ADMISSION,
    "apiserver_admission_webhook_admission_duration_seconds": (*_OF_ADMISSION, 10.0, 25.0),
    "apiserver_authentication_jwt_authenticator_latency_seconds": (0.001, *_LATENCIES),
    "apiserver_authorization_webhook_duration_seconds": _LATENCIES,
    "apiserver_flowcontrol_priority_level_request_utilization": (
        0.0,
        0.001,
        0.003,
        0.01,
        0.03,
        0.1,
        0.25,
        0.5,
        0.75,
        1.0,
    ),
    "apiserver_flowcontrol_priority_level_seat_utilization": (
        0.0,
        0.1,
        0.2,
        0.3,
        0.4,
        0.5,
        0.6,
        0.7,
        0.8,
        0.9,
        0.95,
        0.99,
        1.0,
    ),
    "apiserver_flowcontrol_request_execution_seconds": _OF_FLOWS,
    "apiserver_flowcontrol_work_estimated_seats": tuple(map(float, (1, 2, 4, 8, 16, 32, 64, 100))),
    "apiserver_flowcontrol_request_queue_length_after_enqueue": (
        0.0,
        10.0,
        25.0,
        50.0,
        100.0,
        250.0,
        500.0,
        1000.0,
    ),
    "apiserver_flowcontrol_request_wait_duration_seconds": _OF_FLOWS,
    **{
        f"workqueue_{what}_duration_seconds": tuple(10.0**power for power in range(-8, 2))
        for what in ("queue", "work")
    },
    **{
        f"apiserver_impersonation_{what}_duration_seconds": _OF_IMPERSONATION
        for what in ("attempts", "authorization_attempts")
    },
    "apiserver_request_body_size_bytes": tuple(50_000.0 + 100_000 * step for step in range(31)),
    "apiserver_response_sizes": tuple(float(10**exponent) for exponent in range(3, 10)),
    "apiserver_watch_events_sizes": tuple(float(2**exponent) for exponent in range(10, 18)),
}
"""The upper bounds of the buckets of each histogram (metrics.go of admission,
endpoints and util/flowcontrol, and component-base/metrics/prometheus/workqueue)."""

Series = tuple[str, ...]
"""The name of a metric and the values of its labels."""


_INFORMATION = "_info"
"""The end of the names of gauges that are always 1, whose labels are the information."""


def _is_latest(name: str) -> bool:
    """Return whether the value of a metric for several processes is the highest one, not the
    sum."""
    return name.endswith((_INFORMATION, "_timestamp_seconds"))


class Histogram:
    """The number of values within each bound, and the sum of all values."""

    __slots__ = ("buckets", "total")

    def __init__(self, size: int) -> None:
        self.buckets = [0] * size
        self.total = 0.0


class Samples:
    """The recorded values of one process."""

    def __init__(self, server_name: Callable[[], str] = str) -> None:
        """`server_name` returns the name of this server, such as that of its Lease."""
        self._server_name = server_name
        self.numbers: dict[Series, float] = {}
        """Counters and gauges."""
        self.histograms: dict[Series, Histogram] = {}
        self.is_observed = False
        """Whether metrics are recorded that cost time in most requests."""
        self._on_observed: list[Callable[[], None]] = []

    @property
    def server_label(self) -> str:
        """The label for this server (`apiserver_id_hash`)."""
        return self.hash_label(self._server_name().encode())

    def observe_all(self) -> None:
        """Record all metrics from now on."""
        if not self.is_observed:
            self.is_observed = True
            for call in self._on_observed:
                call()

    def when_observed(self, call: Callable[[], None]) -> None:
        """Call a function when `is_observed` becomes true."""
        self._on_observed.append(call)

    def add(self, *series: str, by: float = 1) -> None:
        """Add to a counter or gauge."""
        if series in self.numbers or self._has_room:
            self.numbers[series] = self.numbers.get(series, 0) + by

    @staticmethod
    def hash_label(data: bytes) -> str:
        """Return the label for data that is too long for one, or must not be shown: its hash."""
        return f"sha256:{hashlib.sha256(data).hexdigest()}"

    def put(self, value: float, *series: str) -> None:
        """Set a gauge of a time or of information, which is the same or newer in other processes
        (`_is_latest`)."""
        if series in self.numbers or self._has_room:
            self.numbers[series] = value

    def forget(self, *beginning: str) -> None:
        """Remove the counters and gauges with this name and these first labels."""
        for series in [each for each in self.numbers if each[: len(beginning)] == beginning]:
            del self.numbers[series]

    def observe(self, value: float, *series: str, weight: int = 1) -> None:
        """Add a value to a histogram, as often as `weight` says."""
        bounds = BOUNDS[series[0]]
        found = self.histograms.get(series)
        if found is None:
            if not self._has_room:
                return
            found = self.histograms[series] = Histogram(len(bounds) + 1)
        found.buckets[bisect_left(bounds, value)] += weight
        found.total += value * weight

    @property
    def _has_room(self) -> bool:
        return len(self.numbers) + len(self.histograms) < MAX_SERIES

    def reset(self, *kept: str) -> None:
        """Forget all values, except those of the metrics with these names, and information."""
        self.histograms.clear()
        for series in [*self.numbers]:
            if series[0] not in kept and not series[0].endswith(_INFORMATION):
                del self.numbers[series]

    def snapshot(self) -> list[Any]:
        """Return the values as JSON values, for `merge` in another process."""
        numbers = [[series, value] for series, value in self.numbers.items()]
        return [numbers, [[key, one.buckets, one.total] for key, one in self.histograms.items()]]

    def merge(self, snapshot: Iterable[Any]) -> None:
        """Add the values of another process, as `snapshot` returned them."""
        numbers, histograms = snapshot
        for series, value in numbers:
            if _is_latest(series[0]):
                self.put(max(value, self.numbers.get(tuple(series), 0)), *series)
            else:
                self.add(*series, by=value)
        for series, buckets, total in histograms:
            found = self.histograms.setdefault(tuple(series), Histogram(len(buckets)))
            found.buckets = [sum(pair) for pair in zip(found.buckets, buckets, strict=True)]
            found.total += total
