"""Metrics of requests beside their counts and durations (`metrics`): sizes, long-running requests,
users, and requests that the server ended.

Follows apiserver/pkg/endpoints/metrics/metrics.go and pkg/endpoints/filters/metrics.go.
"""

from typing import Self

from aiohttp import web

from inkube.apiserver.http.metrics import METHODS
from inkube.apiserver.http.requests import RequestInfo
from inkube.apiserver.samples import Samples

TERMINATIONS = frozenset({429, 504})
"""The codes of errors with which the server ends a request to protect itself."""
LONG_RUNNING = "apiserver_longrunning_requests"
TERMINATED = "apiserver_request_terminations_total"
SIZES = "apiserver_response_sizes"
USERS = "authenticated_user_requests"
AUTHENTICATIONS = "authentication_attempts"
AUTHORIZATIONS = "authorization_attempts_total"
BODY_SIZES = "apiserver_request_body_size_bytes"
_READS = frozenset({"get", "list"})
_WRITES = frozenset({"create", "update", "patch", "delete"})
_NAMED_USERS = frozenset(
    {"admin", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"}
)
"""Users with their own label; others are `other`, so that clients cannot add labels
(authentication.go, compressUsername)."""


def labels(info: RequestInfo) -> tuple[str, ...]:
    """Return the labels of a request: verb, group, version, resource, subresource and scope."""
    if info.labels:
        verb, group, version, resource, subresource, _, scope = info.labels
        return verb, group, version, resource, subresource, scope
    return info.verb, "", "", "", "", ""


class LongRunning:
    """Counts a request without an end as long as it runs, as a context.

    A refused request leaves nothing, because its resource may not exist, and clients must not be
    able to add labels.
    """

    def __init__(self, samples: Samples, info: RequestInfo) -> None:
        self._samples = samples
        self._series = LONG_RUNNING, *labels(info)
        self.is_refused = True

    def __enter__(self) -> Self:
        self._samples.add(*self._series)
        return self

    def __exit__(self, *error: object) -> None:
        self._samples.add(*self._series, by=-1)
        if self.is_refused and not self._samples.numbers.get(self._series):
            self._samples.numbers.pop(self._series, None)


def terminated(samples: Samples, info: RequestInfo, code: int) -> None:
    """Count a request that the server ended. Its resource may not exist."""
    verb = info.verb if info.is_resource or info.verb in METHODS else "other"
    samples.add(TERMINATED, verb, "", "", "", "", "", str(code))


def of_request(
    samples: Samples, info: RequestInfo, request: web.BaseRequest, response: web.StreamResponse
) -> None:
    """Record the metrics of a finished request that only a server with readers of metrics has."""
    succeeded = response.status < 400
    body = getattr(response, "body", None)
    if info.labels and info.verb in _READS and isinstance(body, bytes) and succeeded:
        samples.observe(len(body), SIZES, *labels(info))
    if info.is_resource and succeeded and info.verb in _WRITES:
        body_size = request.content_length or 0
        samples.observe(body_size, BODY_SIZES, info.group, info.resource, info.verb)
    user = getattr(request, "user", "")
    is_forbidden = getattr(request, "is_forbidden", False)
    if user or is_forbidden:
        samples.add(AUTHENTICATIONS, "success")
        samples.add(AUTHORIZATIONS, "no-opinion" if is_forbidden else "allowed")
    elif response.status == 401:
        samples.add(AUTHENTICATIONS, "failure")
    if user:
        samples.add(USERS, user if user in _NAMED_USERS else "other")
