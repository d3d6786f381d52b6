"""Counts and durations of requests, for `/metrics`.

Requests update plain dictionaries; `exposition` formats them for `/metrics`. The labels follow
apiserver/pkg/endpoints/metrics/metrics.go.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

from inkube.apiserver.http.requests import RequestInfo
from inkube.storage import BUCKETS

APPLY = "apply"
"""The verb of a patch that is an apply."""
_APPLY_MEDIA = "application/apply-patch+yaml"
_HEALTH = frozenset({"/healthz", "/livez", "/readyz"})
MAX_SERIES = 10_000  # sets of labels; new kinds add sets
METHODS = frozenset({"get", "head", "post", "put", "patch", "delete", "options"})


class Series:
    """Counts and durations of the requests with one set of labels."""

    __slots__ = ("buckets", "codes", "seconds", "waited", "waits")

    def __init__(self) -> None:
        self.codes: dict[int, int] = {}
        self.buckets = [0] * (len(BUCKETS) + 1)
        self.seconds = 0.0
        self.waits: list[int] | None = None
        """What must be added to `buckets` for the durations without the time in which requests
        waited; None if none waited."""
        self.waited = 0.0
        """The seconds in which requests waited for webhooks and in queues."""


class Metrics:
    """The metrics of one server."""

    def __init__(self) -> None:
        self.series: dict[tuple[str, ...], Series] = {}
        """Keys: verb, group, version, resource, subresource, dry run and scope."""

    def reset(self) -> None:
        """Forget all requests."""
        self.series.clear()

    def snapshot(self) -> list[Any]:
        """Return the metrics as JSON values, for `add` in another process."""
        return [
            [
                labels, [*series.codes.items()], series.buckets, series.seconds,
                series.waits, series.waited,
            ]
            for labels, series in self.series.items()
        ]  # fmt: skip

    def add(self, samples: Iterable[Any]) -> None:
        """Add the metrics of another process, as `snapshot` returned them."""
        for labels, codes, buckets, seconds, waits, waited in samples:
            series = self.series.setdefault(tuple(labels), Series())
            for code, number in codes:
                series.codes[code] = series.codes.get(code, 0) + number
            series.buckets = [sum(pair) for pair in zip(series.buckets, buckets, strict=True)]
            series.seconds += seconds
            series.waited += waited
            if waits is not None:
                own = series.waits or [0] * len(waits)
                series.waits = [sum(pair) for pair in zip(own, waits, strict=True)]

    def count(
        self, info: RequestInfo, code: int, seconds: float, media: str = "", waited: float = 0.0
    ) -> None:
        """Count one request. `media` is the media type of its body. `waited` are those of its
        `seconds` in which it waited for webhooks and in queues.

        Refused requests share labels, because their resource may not exist, and clients must not
        be able to grow the table. So do requests whose method is not a verb, such as OPTIONS.
        """
        verb, labels = info.verb, info.labels
        if not labels or not verb or code >= 400 or len(self.series) >= MAX_SERIES:
            if not info.is_resource and verb not in METHODS:
                verb = "other"
            health = info.path if info.path in _HEALTH else ""
            labels = verb, "", "", "", health, "", ""
        if verb == "patch" and media == _APPLY_MEDIA:
            labels = APPLY, *labels[1:]
        series = self.series.get(labels)
        if series is None:
            series = self.series[labels] = Series()
        series.codes[code] = series.codes.get(code, 0) + 1
        series.buckets[bisect_left(BUCKETS, seconds)] += 1
        series.seconds += seconds
        if waited:
            if series.waits is None:
                series.waits = [0] * len(series.buckets)
            series.waits[bisect_left(BUCKETS, seconds)] -= 1
            series.waits[bisect_left(BUCKETS, seconds - waited)] += 1
            series.waited += waited
