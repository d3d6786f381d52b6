"""log, exec, attach and portforward of pods: the checks in upstream's order, then the kubelet.

Without a kubelet for the pod's node, every request that passes the checks is rejected as upstream
rejects it. Follows pkg/registry/core/pod/{strategy.go,rest/log.go,rest/subresources.go}.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, NamedTuple, Protocol

from aiohttp import web

from inkube.apiserver import streaming
from inkube.apiserver.auth import Authorizer, attributes, require
from inkube.apiserver.handlers import Exchange
from inkube.apiserver.http import Query, httprequest
from inkube.apiserver.registry import Registry, keys
from inkube.apiserver.subresources import nodeless
from inkube.schemas import releases, status
from inkube.schemas.golang import DecodeError, rfc3339, strconv, truthy
from inkube.schemas.objects import Object

SESSIONS = 1000
"""The most streams of all clients together. One more returns 429."""


class LogQuery(NamedTuple):
    """The requested part of a log (PodLogOptions)."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    since_seconds: int | None = None
    since_time: str = ""
    tail_lines: int | None = None
    limit_bytes: int | None = None


Logs = Callable[[Object, str, LogQuery], AsyncGenerator[bytes, None]]


class LogSource(Protocol):
    """Has the logs of containers."""

    def logs(self, pod: Object, container: str, query: LogQuery) -> AsyncGenerator[bytes, None]:
        """Yield the log piece by piece, and b"" after some time without new output. Raises
        StatusError."""
        ...


class Kubelet(LogSource, Protocol):
    """Serves the containers of simulated nodes. Each method raises StatusError."""

    def answers(self, pod: Object) -> bool:
        """Return whether the node of the pod is simulated here."""
        ...

    async def exec(self, pod: Object, container: str, command: list[str], process: Any) -> int:
        """Run a command with the streams of `streaming.commands.Process`. Returns its exit code."""
        ...

    async def attach(self, pod: Object, container: str, process: Any) -> int:
        """Attach to the main process of a container. Returns its exit code."""
        ...

    async def forward(self, pod: Object, port: int, side: Any) -> None:
        """Serve one connection (`streaming.forwards.Side`) to a port."""
        ...

    def check_exec(self, pod: Object, container: str) -> None:
        """Check that a command can run in the container now. Raises StatusError."""
        ...


class Sessions:
    """All open streams. Their number is limited. When the server stops, those that do not end by
    themselves end at once."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._endless: set[asyncio.Task[Any]] = set()

    @contextlib.contextmanager
    def open(self, *, is_endless: bool = True) -> Any:
        """Count one more stream during the context. Raises StatusError 429."""
        if len(self._tasks) >= SESSIONS:
            raise status.StatusError(
                429, status.Reason.TOO_MANY_REQUESTS, f"{SESSIONS} streams are open already"
            )
        task = asyncio.current_task()
        assert task is not None, "requests are tasks"
        self._tasks.add(task)
        if is_endless:
            self._endless.add(task)
        try:
            yield
        finally:
            self._tasks.discard(task)
            self._endless.discard(task)

    def close(self) -> None:
        """End the streams that do not end by themselves."""
        for task in tuple(self._endless):
            task.cancel()


class PodStreams:
    """The handlers of the four subresources."""

    def __init__(
        self,
        registry: Registry,
        authorizer: Authorizer,
        kubelet: Callable[[], Kubelet | None],
        sessions: Sessions,
        recorded: Callable[[], LogSource | None] = lambda: None,
        *,
        minor: int = releases.NEWEST.minor,
    ) -> None:
        """`recorded` returns the logs of the dump that the server shows, if it shows one."""
        self._recorded = recorded
        self._logs_have_streams = minor >= nodeless.LOGS_HAVE_STREAMS
        self._registry = registry
        self._authorizer = authorizer
        self._kubelet = kubelet
        self._sessions = sessions

    def handlers(self) -> Mapping[tuple[str, str, str], Callable[[Exchange], Any]]:
        """(group, plural, subresource) → handler."""
        return {
            ("", "pods", "log"): self.log,
            ("", "pods", "exec"): self.exec,
            ("", "pods", "attach"): self.attach,
            ("", "pods", "portforward"): self.forward,
        }

    async def log(self, exchange: Exchange) -> web.StreamResponse:
        """Serve GET: the log of a container, as plain text or over WebSocket."""
        request = exchange.request
        if exchange.http.method != "GET":
            raise _not_allowed()
        has_streams = self._logs_have_streams
        query = _log_query(exchange.query, request.name, has_streams=has_streams)
        pod = self._registry.get(request).value
        container = nodeless.container_of(request, pod, exchange.query)
        logs = self._logs_of(pod, container)
        if logs is None:
            return web.Response(status=204, headers={"Cache-Control": "no-cache, private"})
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        response.enable_chunked_encoding()
        is_endless = query.follow and self._recorded() is None
        with self._sessions.open(is_endless=is_endless):
            pieces = logs(pod, container, query)
            try:
                # errors are raised before anything is sent
                first = await anext(pieces, b"")
                if streaming.sockets.is_upgrade(exchange.http):
                    return await streaming.logs.serve(exchange.http, first, pieces)
                await response.prepare(exchange.http)
                await self._send(exchange.http, response, first)
                async for piece in pieces:
                    await self._send(exchange.http, response, piece)
                await response.write_eof()
            except ConnectionError:
                if httprequest.is_connected(exchange.http):
                    raise  # of the log itself
            finally:
                await pieces.aclose()
        return response

    def _logs_of(self, pod: Object, container: str) -> Logs | None:
        """Return the function that reads the logs of a pod: from its dump, or its kubelet. None for
        an unscheduled pod. Raises StatusError."""
        recorded = self._recorded()
        if recorded is not None:
            return recorded.logs
        node = self._node(pod)
        if node is None:
            return None
        meta = pod["metadata"]
        path = f"containerLogs/{meta['namespace']}/{meta['name']}/{container}"
        return self._kubelet_of(pod, node, path).logs

    async def _send(
        self, request: web.BaseRequest, response: web.StreamResponse, piece: bytes
    ) -> None:
        if piece:
            await response.write(piece)
        elif not httprequest.is_connected(request):
            raise ConnectionResetError("the client has gone")

    async def exec(self, exchange: Exchange) -> web.StreamResponse:
        """Serve GET (WebSocket) or POST (SPDY): run a command in a container."""
        pod, container, kubelet = await self._of_container(exchange)
        wanted = self._stream_options(exchange)
        command = exchange.query.getall("command", [])
        if not command:
            raise status.bad_request("you must specify at least 1 command for the container")
        kubelet.check_exec(pod, container)

        async def run(process: Any) -> int:
            return await kubelet.exec(pod, container, list(command), process)

        return await self._serve(exchange.http, wanted, run)

    async def attach(self, exchange: Exchange) -> web.StreamResponse:
        """Serve GET or POST: attach to the main process of a container."""
        pod, container, kubelet = await self._of_container(exchange)
        wanted = self._stream_options(exchange)
        kubelet.check_exec(pod, container)

        async def run(process: Any) -> int:
            return await kubelet.attach(pod, container, process)

        return await self._serve(exchange.http, wanted, run)

    async def forward(self, exchange: Exchange) -> web.StreamResponse:
        """Serve GET or POST: connections to ports of the pod."""
        self._check_method(exchange)
        _check_ports(exchange.query)
        await self._check_verb(exchange)
        pod = self._registry.get(exchange.request).value
        path = f"portForward/{exchange.request.namespace}/{exchange.request.name}"
        kubelet = self._upgradable(exchange, pod, path)

        async def connect(port: int, side: Any) -> None:
            await kubelet.forward(pod, port, side)

        with self._sessions.open():
            ports = exchange.query.getall("ports", ())
            return await streaming.forwards.serve(exchange.http, ports, connect)

    async def _serve(
        self, request: web.BaseRequest, stream_options: Any, run: Any
    ) -> web.StreamResponse:
        with self._sessions.open():
            return await streaming.commands.serve(request, stream_options, run)

    async def _of_container(self, exchange: Exchange) -> tuple[Object, str, Kubelet]:
        await self._check_verb(exchange)
        request = exchange.request
        pod = self._registry.get(request).value
        container = nodeless.container_of(request, pod, exchange.query)
        path = f"{request.subresource}/{request.namespace}/{request.name}/{container}"
        return pod, container, self._upgradable(exchange, pod, path)

    def _upgradable(self, exchange: Exchange, pod: Object, path: str) -> Kubelet:
        """Return the kubelet for a valid request. Raises StatusError."""
        node = self._node(pod)
        if node is None:
            raise status.bad_request(f"pod {exchange.request.name} does not have a host assigned")
        if not self._answers(pod):
            nodeless.check_address(node)
        connection = exchange.http.headers.get("Connection", "").lower()
        if "upgrade" not in connection or "Upgrade" not in exchange.http.headers:
            raise status.bad_request("Upgrade request required")
        return self._kubelet_of(pod, node, path)

    def _check_method(self, exchange: Exchange) -> None:
        if exchange.http.method not in ("GET", "POST"):
            raise _not_allowed()

    async def _check_verb(self, exchange: Exchange) -> None:
        """Permit only GET and POST. A GET also needs the permission to create, like a POST.

        pkg/registry/core/pod/rest/subresources.go, ensureAuthorizedForVerb.
        """
        self._check_method(exchange)
        if exchange.http.method == "GET":
            await require(
                self._authorizer,
                attributes.of_object(exchange.request, "create", exchange.request.name),
            )

    def _node(self, pod: Object) -> Object | None:
        """Return the pod's node, or None for an unscheduled pod. Raises StatusError 404, which
        names the node as a pod, as upstream."""
        name = (pod.get("spec") or {}).get("nodeName")
        if not name:
            return None
        entry = self._registry.store.get(keys.key("nodes", "", name))
        if entry is None:
            raise status.not_found("", "pods", name)
        node: Object = entry.value
        return node

    def _kubelet_of(self, pod: Object, node: Object, path: str) -> Kubelet:
        kubelet = self._kubelet()
        if kubelet is None or not kubelet.answers(pod):
            raise nodeless.unreachable(node, path)
        return kubelet

    def _answers(self, pod: Object) -> bool:
        kubelet = self._kubelet()
        return kubelet is not None and kubelet.answers(pod)

    def _stream_options(self, exchange: Exchange) -> Any:
        query = exchange.query
        found = streaming.commands.StreamOptions(
            stdin=truthy(query.get("stdin") or None),
            stdout=truthy(query.get("stdout") or None),
            stderr=truthy(query.get("stderr") or None),
            tty=truthy(query.get("tty") or None),
        )
        if found.tty:  # a terminal has only one output
            found = found._replace(stderr=False)
        if not (found.stdin or found.stdout or found.stderr):
            raise status.bad_request("you must specify at least one of stdin, stdout, stderr")
        return found


def _not_allowed() -> status.StatusError:
    return status.method_not_allowed()


def _check_ports(query: Query) -> None:
    """Check the ports of a PodPortForwardOptions, which are read before the pod. Raises StatusError
    400, as `Convert_Slice_string_To_Slice_int32` of apimachinery words it."""
    for value in query.getall("ports", ()):
        for text in value.split(","):
            try:
                strconv.parse_uint(text, bits=16)
            except ValueError as error:
                raise status.bad_request(f"cannot convert to []int32: {error}") from error


def _log_query(query: Query, name: str, *, has_streams: bool) -> LogQuery:
    """Return the PodLogOptions in a query. Raises StatusError 400 and 422."""
    tail, limit = _number(query, "tailLines"), _number(query, "limitBytes")
    seconds, moment = _number(query, "sinceSeconds"), query.get("sinceTime", "")
    if moment:
        try:
            rfc3339.parse(moment)
        except DecodeError as error:
            raise status.bad_request(error.text) from error
    errors = nodeless.log_errors(query, has_streams=has_streams)
    if errors:
        raise status.invalid("", "PodLogOptions", name, errors)
    return LogQuery(
        follow=truthy(query.get("follow") or None),
        previous=truthy(query.get("previous") or None),
        timestamps=truthy(query.get("timestamps") or None),
        since_seconds=seconds,
        since_time=moment,
        tail_lines=tail,
        limit_bytes=limit,
    )


def _number(query: Query, name: str) -> int | None:
    """Return an integer in the query, or None. Raises StatusError 400 with Go's text."""
    text = query.get(name)
    if text is None:
        return None
    try:
        return strconv.parse_int(text)
    except ValueError as error:
        raise status.bad_request(str(error)) from error
