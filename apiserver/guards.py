"""Guards before everything else: the Host header and the number of requests under way.

An open server answers loopback Hosts only, so that no web page can reach it by rebinding a name.
Long-running requests are not counted. Follows the max-in-flight filter of apiserver/pkg/server.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web

from inkube.schemas import status

MAX_READING = 400  # --max-requests-inflight
MAX_WRITING = 200  # --max-mutating-requests-inflight
_READS = frozenset({"GET", "HEAD"})
_IPV4 = re.compile(r"127(?:\.\d{1,3}){3}")  # a name may begin so too, such as 127.0.0.1.example.com
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})


class Guard:
    """Counts requests and checks hosts. Reads and writes are counted apart: neither crowds out
    the other."""

    def __init__(
        self, *, loopback_only: bool, reading: int = MAX_READING, writing: int = MAX_WRITING
    ) -> None:
        self._loopback_only = loopback_only
        self._free = {True: reading, False: writing}

    @contextmanager
    def admit(self, request: web.BaseRequest, *, long: bool) -> Iterator[None]:
        """Let a request in, or raise StatusError 403 or 429."""
        if self._loopback_only and not is_loopback(request.host):
            raise status.forbidden(
                "", "", "", f"host {request.host!r} is not loopback; ask with credentials"
            )
        if long:
            yield
            return
        free, reads = self._free, request.method in _READS
        if free[reads] <= 0:
            raise too_many_requests()
        free[reads] -= 1
        try:
            yield
        finally:
            free[reads] += 1


def is_loopback(host: str) -> bool:
    """Whether a Host header names this machine's loopback."""
    if host in _LOOPBACK:
        return True
    name = host if host.endswith("]") else host.rsplit(":", 1)[0]
    return name in _LOOPBACK or _IPV4.fullmatch(name) is not None


def too_many_requests() -> status.StatusError:
    """429: try again in a second."""
    error = status.StatusError(
        429,
        status.Reason.TOO_MANY_REQUESTS,
        "Too many requests, please try again later.",
        details={"retryAfterSeconds": 1},
    )
    error.headers["Retry-After"] = "1"
    return error
