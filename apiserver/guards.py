"""Guards before everything else: the Host header and the number of requests under way.

An open server answers loopback Hosts only, so that no web page can reach it by rebinding a name.
Long-running requests are not counted. Follows the max-in-flight filter of apiserver/pkg/server.
"""

import re
from contextlib import AbstractContextManager, nullcontext

from aiohttp import web

from inkube.schemas import status

MAX_IN_FLIGHT = 400  # --max-requests-inflight
_IPV4 = re.compile(r"127(?:\.\d{1,3}){3}")  # a name may begin so too, such as 127.0.0.1.example.com
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})


_UNCOUNTED = nullcontext()


class Guard:
    """Counts requests and checks hosts. `open_hosts`: None lets any Host pass."""

    def __init__(self, *, loopback_only: bool, limit: int = MAX_IN_FLIGHT) -> None:
        self._loopback_only = loopback_only
        self._limit = limit
        self._active = 0

    def admit(self, request: web.BaseRequest, *, long: bool) -> AbstractContextManager[object]:
        """Let a request in while the context lasts, or raise StatusError 403 or 429."""
        if self._loopback_only and not is_loopback(request.host):
            raise status.forbidden(
                "", "", "", f"host {request.host!r} is not loopback; ask with credentials"
            )
        if long:
            return _UNCOUNTED
        if self._active >= self._limit:
            raise too_many_requests()
        return self

    def __enter__(self) -> None:
        self._active += 1

    def __exit__(self, *error: object) -> None:
        self._active -= 1


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
