"""Guards before all other code: the Host header and the number of running requests.

A server without authentication accepts only loopback Hosts, so that a web page cannot reach it by
DNS rebinding. Long-running requests are not counted. Follows the max-in-flight filter of
apiserver/pkg/server.
"""

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, nullcontext

from aiohttp import web

from inkube.schemas import status

MAX_READS = 400  # --max-requests-inflight
MAX_WRITES = 200  # --max-mutating-requests-inflight
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
# A whole host, with or without a port: no `user@` before it, no `.example.com` after it.
_LOOPBACK = re.compile(
    r"(localhost\.?|127(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}|\[::1\])(:\d{1,5})?",
    re.ASCII | re.IGNORECASE,
)
_USUAL = frozenset({"localhost", "127.0.0.1"})  # faster than a pattern
_UNLIMITED = nullcontext()


def _always() -> bool:
    return True


class _Lane:
    """The number of further requests that can run, for reads or writes. Each request enters it as
    a context."""

    def __init__(self, free: int) -> None:
        self.free = self.least_free = free
        self._size = free

    def __enter__(self) -> None:
        self.free -= 1
        if self.free < self.least_free:
            self.least_free = self.free

    def __exit__(self, *error: object) -> None:
        self.free += 1

    def take_peak(self) -> int:
        """Return the highest number of running requests since the last call."""
        peak = self._size - self.least_free
        self.least_free = self.free
        return peak


class Guard:
    """Counts requests and checks hosts. `hosts` are names that are accepted like loopback.

    Reads and writes have separate counts, so that neither can displace the other.
    """

    def __init__(
        self,
        *,
        loopback_only: bool,
        hosts: Collection[str] = (),
        reads: int = MAX_READS,
        writes: int = MAX_WRITES,
        is_limiting: Callable[[], bool] = _always,
    ) -> None:
        """`is_limiting` returns whether the numbers of running requests are limited here."""
        self._hosts = frozenset(host.lower() for host in hosts)
        self._loopback_only = loopback_only
        self._read_lane, self._write_lane = _Lane(reads), _Lane(writes)
        self._is_limiting = is_limiting

    def admit(
        self, request: web.BaseRequest, *, is_long_running: bool
    ) -> AbstractContextManager[object]:
        """Return a context in which the request counts as running. Raises StatusError 403 for
        another host, and 429 for too many requests. `is_long_running` requests are not counted."""
        host = request.host
        if self._loopback_only and not is_loopback(host) and name_of(host) not in self._hosts:
            message = f"host {host!r} is not loopback; ask with credentials; see --allow-host"
            raise status.forbidden("", "", "", message)
        if is_long_running:
            return _UNLIMITED
        lane = self._read_lane if request.method in _READS else self._write_lane
        if lane.free <= 0 and self._is_limiting():
            raise too_many_requests()
        return lane

    def figures(self) -> Iterator[tuple[str, ...]]:
        """Yield the names and labels of metrics, each with its value as a text at the end: the
        highest number of running reads and of writes since the last call."""
        for kind, lane in (("readOnly", self._read_lane), ("mutating", self._write_lane)):
            yield "apiserver_current_inflight_requests", kind, str(lane.take_peak())


def name_of(host: str) -> str:
    """Return the name in a Host header in lower case, without the port and a final dot."""
    name, mark, port = host.rpartition(":")
    return (name if mark and port.isdecimal() else host).lower().removesuffix(".")


def is_loopback(host: str) -> bool:
    """Return whether a Host header, a host of an origin or a listening address is loopback."""
    return host in _USUAL or host == "::1" or _LOOPBACK.fullmatch(host) is not None


def too_many_requests() -> status.StatusError:
    """Return the error 429, with a retry after one second."""
    return status.too_many_requests("Too many requests, please try again later.", 1)
