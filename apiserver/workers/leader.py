"""Forwards requests that only the leading worker can answer.

The worker that runs the controllers also has their state in memory: containers of simulated nodes
with their files and usage, tokens of scripted hosts, repositories of packages. Requests that need
this state are forwarded to the leading process, over its Unix socket, with the user in headers.
Only the workers can access the folder of these sockets, so the headers are trusted; the sender has
authorized the request.
"""

import logging
import os
from collections.abc import Awaitable, Callable, Collection
from functools import partial

from aiohttp import web

from inkube.apiserver import aggregation, auth, watching
from inkube.apiserver.http import STOP_SECONDS, RequestInfo, sites
from inkube.apiserver.registry import User
from inkube.apiserver.streaming import proxying
from inkube.apiserver.workers.member import Worker

logger = logging.getLogger(__name__)

STREAMS = frozenset(
    {
        *(("pods", name) for name in ("attach", "exec", "log", "portforward", "proxy")),
        ("services", "proxy"),
    }
)
METRICS = "metrics.k8s.io"
_STREAMS = f"{watching.SHARED}/"

Forwarded = Callable[[web.BaseRequest, RequestInfo, User], Awaitable[web.StreamResponse]]


class ForwardedAccess:
    """The access of forwarded requests (`auth.access.Access`): the user is the one in the
    headers."""

    def identify(self, request: web.BaseRequest) -> User:
        """Return the user in the headers of the worker that forwarded the request."""
        return auth.frontproxy.read(request.headers)

    def user(self, request: web.BaseRequest, info: RequestInfo) -> User:
        """Return the same user."""
        return auth.frontproxy.read(request.headers)

    def authorize(self, request: web.BaseRequest, info: RequestInfo, user: User) -> None:
        """Allow the request, because the worker that forwarded it has authorized it."""


class Leader:
    """Forwards requests to the leading worker.

    `pid` returns its process, or 0 if this worker or none leads. `groups` are the API groups that
    it serves, and `pods` is true if it also serves the streams of pods. `has_logs` returns whether
    every worker has the logs of pods: those of a dump are in the data file.
    """

    def __init__(
        self,
        worker: Worker,
        pid: Callable[[], int],
        groups: Collection[str],
        *,
        pods: bool,
        has_logs: Callable[[], bool],
    ) -> None:
        self._worker = worker
        self._pid = pid
        self._groups = frozenset(groups) | ({METRICS} if pods else frozenset())
        self._pods = pods
        self._has_logs = has_logs
        self._neighbours: dict[int, aggregation.Neighbour] = {}

    def concerns(self, info: RequestInfo) -> Forwarded | None:
        """Return the function that forwards a request, if it must be forwarded."""
        if not info.is_resource and info.path.startswith(_STREAMS):
            return self._of_stream(info.path.removeprefix(_STREAMS))
        if info.group in self._groups or (
            self._pods
            and not info.group
            and (info.resource, info.subresource) in STREAMS
            and not (info.subresource == "log" and self._has_logs())
        ):
            pid = self._pid()
            if pid and self._worker.socket_path(pid).exists():
                return partial(self._forward, pid)
        return None

    def _of_stream(self, name: str) -> Forwarded | None:
        """Return the worker of a shared stream. The stream's name starts with the process id."""
        process = name.partition("-")[0]
        if not process.isdecimal() or len(process) > 10 or int(process) == os.getpid():
            return None
        pid = int(process)
        return partial(self._forward, pid) if self._worker.socket_path(pid).exists() else None

    async def close(self) -> None:
        """Close the connections to other workers."""
        neighbours, self._neighbours = self._neighbours, {}
        for each in neighbours.values():
            await each.close()

    async def _forget_the_gone(self) -> None:
        """Close the connections to processes that have ended."""
        for pid in [pid for pid in self._neighbours if not self._worker.socket_path(pid).exists()]:
            await self._neighbours.pop(pid).close()

    async def _forward(
        self, pid: int, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        if pid not in self._neighbours:
            await self._forget_the_gone()
            self._neighbours[pid] = aggregation.Neighbour(str(self._worker.socket_path(pid)))
        changes = proxying.Changes(
            auth.frontproxy.is_identity_header, auth.frontproxy.headers(user)
        )
        return await proxying.forward(
            self._neighbours[pid], request, info, changes, unreachable=_unreachable
        )


def _unreachable(message: str) -> web.StreamResponse:
    logger.warning("the worker that leads does not answer")
    return proxying.plain_text(message, 503)


async def start_runner(worker: Worker, server: web.Server) -> web.ServerRunner:
    """Serve requests that other workers forward, until the runner is cleaned up. Raises OSError."""
    runner = web.ServerRunner(server, shutdown_timeout=STOP_SECONDS)
    await runner.setup()
    await sites.Site(runner, sites.listen_locally(str(worker.socket_path(os.getpid())))).start()
    return runner
