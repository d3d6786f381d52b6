"""Forwards a request: method, path, headers and body are sent to another server, whose response is
returned.

Bodies are forwarded piece by piece in both directions, with backpressure, and so are watches. If
the other server switches protocols, bytes are forwarded in both directions until one side ends. It
is used for aggregated API servers and ports of pods. Follows
apimachinery/pkg/util/proxy/upgradeaware.go.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import quote, urlencode

import aiohttp
from aiohttp import hdrs, web
from aiohttp.http import StreamWriter
from multidict import CIMultiDict

from inkube.apiserver import http
from inkube.apiserver.http import RequestInfo, httprequest
from inkube.apiserver.streaming.takeover import Feed, Takeover
from inkube.schemas import status

REQUEST_SECONDS = 60.0
"""--request-timeout: the time limit of requests other than watches and upgrades."""
STALL_SECONDS = 60.0
"""Seconds without progress after which a client that does not read is disconnected."""
PIECE = 64 * 1024
CONNECT_SECONDS = 10.0
"""Seconds until a connection must be established."""
BUFFER = 64 * 1024
"""Bytes of a response that are buffered for a slow client. At most twice as many are buffered."""
_MAX_HEADER = 64 * 1024
_LONG_RUNNING_VERBS = frozenset({"watch", "watchone", "proxy"})
_LONG_RUNNING_SUBRESOURCES = frozenset({"attach", "exec", "log", "portforward", "proxy"})
_IN_PATHS = "$&+,/:;=@~"  # not escaped by Go in a path, nor are letters, digits and `-_.`
_HOP_BY_HOP = frozenset(
    name.lower()
    for name in (
        hdrs.CONNECTION, "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate",
        "Proxy-Authorization", "TE", "Trailer", hdrs.TRANSFER_ENCODING, hdrs.UPGRADE,
    )
)  # fmt: skip
"""Hop-by-hop headers (httputil.ReverseProxy: hopHeaders)."""


class UnreachableError(Exception):
    """The other server cannot be reached. The text is Go's."""


class _Source(Protocol):
    async def read(self, limit: int, /) -> bytes: ...


class _Target(Protocol):
    async def write(self, data: bytes, /) -> None: ...


class Upstream(Protocol):
    """The server to which requests are forwarded."""

    def base(self) -> str:
        """Return scheme, host and port of the server. Raises UnreachableError."""
        ...

    def request(self, method: str, base: str, target: str, **options: Any) -> Any:
        """Send a request; an `async with` over the response."""
        ...


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of a request before it is forwarded."""

    drops_header: Callable[[str], bool]
    """Returns whether a header with that name is removed."""
    headers: CIMultiDict[str] = field(default_factory=CIMultiDict)
    """Headers that are added."""
    target: str = ""
    """The path and query for the other server, or "" for those of the request."""


def session(connector: aiohttp.BaseConnector) -> aiohttp.ClientSession:
    """Return a client that forwards everything unchanged."""
    return aiohttp.ClientSession(
        connector=connector,
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        max_field_size=_MAX_HEADER,
        max_line_size=_MAX_HEADER,
        read_bufsize=BUFFER,
        skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
    )


async def forward(
    upstream: Upstream,
    request: web.BaseRequest,
    info: RequestInfo,
    changes: Changes,
    *,
    unreachable: Callable[[str], web.StreamResponse],
) -> web.StreamResponse:
    """Forward a request, and send the response of the other server. Raises StatusError 504.

    `unreachable` creates the response for the reason why the server could not be reached. A
    response that does not end by itself ends when this server stops.
    """
    protocol = _upgrade(request)
    is_long_running = (
        info.verb in _LONG_RUNNING_VERBS
        or info.subresource in _LONG_RUNNING_SUBRESOURCES
        or bool(protocol)
    )
    limit = asyncio.timeout(None if is_long_running else REQUEST_SECONDS)
    response: web.StreamResponse | None = None
    try:
        async with limit, _until_the_stop(request, limit, is_long_running):
            base = upstream.base()
            headers = _headers(request, info, changes, protocol)
            options: dict[str, Any] = {"headers": headers}
            if request.can_read_body and isinstance(request, httprequest.Request):
                options["data"] = request.chunks()
            path = changes.target or target(info)
            async with upstream.request(info.method, base, path, **options) as upstream_response:
                headers = _end_to_end(upstream_response.headers)
                if upstream_response.status == 101:
                    response = Takeover(upstream_response.headers.get(hdrs.UPGRADE, ""), headers)
                    await _switch(request, upstream_response, response)
                    return response
                response = web.StreamResponse(
                    status=upstream_response.status,
                    reason=upstream_response.reason,
                    headers=headers,
                )
                await _copy(request, upstream_response, response)
                return response
    except UnreachableError:
        return unreachable("service unavailable")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        if not limit.expired():
            return unreachable(f"error trying to reach service: {http.dialing.dial_error(error)}")
        if is_long_running and response is not None and response.prepared:
            return response
        raise status.request_timeout() from error


@contextlib.asynccontextmanager
async def _until_the_stop(
    request: web.BaseRequest, limit: asyncio.Timeout, is_long_running: bool
) -> AsyncIterator[None]:
    """Let the limit of a long-running request expire when this server stops."""
    connection = request.protocol
    assert isinstance(connection, http.Connection), "as the server makes them"
    ending = connection.server.ending(lambda: limit.reschedule(0.0))
    with ending if is_long_running else contextlib.nullcontext():
        yield


def is_canonical(path: str) -> bool:
    """Return whether a path is unambiguous: no segment is empty or leads to another path."""
    return not {"", ".", ".."}.intersection(path.strip("/").split("/")) and path[:2] != "//"


def target(info: RequestInfo) -> str:
    """Return path and query, encoded again from the values that were parsed and authorized.

    The encoding equals that of url.URL.EscapedPath and url.Values.Encode. The result is
    unambiguous, so the other server reads the same values.
    """
    path = quote(info.path, safe=_IN_PATHS)
    names = sorted(set(info.query))
    pairs = [(name, value) for name in names for value in info.query.getall(name)]
    return f"{path}?{urlencode(pairs)}" if pairs else path


def query(info: RequestInfo) -> str:
    """Return the query, encoded again from its parsed values in their order, or "" without a
    query."""
    return urlencode(list(info.query.items()))


def plain_text(text: str, code: int) -> web.Response:
    """Return a response with the text and headers of Go's http.Error."""
    headers = {"X-Content-Type-Options": "nosniff"}
    return web.Response(text=f"{text}\n", status=code, headers=headers)


def _upgrade(request: web.BaseRequest) -> str:
    """Return the protocol to which a request wants to switch, or ""."""
    options = request.headers.get(hdrs.CONNECTION, "").lower().split(",")
    if "upgrade" not in (option.strip() for option in options):
        return ""
    return request.headers.get(hdrs.UPGRADE, "")


def _headers(
    request: web.BaseRequest, info: RequestInfo, changes: Changes, protocol: str
) -> CIMultiDict[str]:
    """Return the headers of the request, without those about the connection or the user."""
    connection_headers = request.headers.get(hdrs.CONNECTION, "").lower().split(",")
    dropped = _HOP_BY_HOP | {name.strip() for name in connection_headers} | {"host", "expect"}
    forwarded = CIMultiDict(
        (name, value)
        for name, value in request.headers.items()
        if name.lower() not in dropped and not changes.drops_header(name)
    )
    hops = forwarded.get("X-Forwarded-For")
    remote = request.remote or ""
    if remote:
        forwarded["X-Forwarded-For"] = f"{hops}, {remote}" if hops else remote
    forwarded["X-Forwarded-Host"] = request.host
    forwarded["X-Forwarded-Proto"] = request.scheme
    forwarded["X-Forwarded-Uri"] = quote(info.path, safe=_IN_PATHS)
    forwarded.extend(changes.headers)
    if protocol:
        forwarded[hdrs.CONNECTION], forwarded[hdrs.UPGRADE] = "Upgrade", protocol
    return forwarded


def _end_to_end(headers: Any) -> CIMultiDict[str]:
    connection_headers = headers.get(hdrs.CONNECTION, "").lower().split(",")
    dropped = _HOP_BY_HOP | {name.strip() for name in connection_headers}
    return CIMultiDict(
        (name, value) for name, value in headers.items() if name.lower() not in dropped
    )


async def _copy(
    request: web.BaseRequest,
    upstream_response: aiohttp.ClientResponse,
    response: web.StreamResponse,
) -> None:
    await response.prepare(request)
    async for piece in upstream_response.content.iter_any():
        for start in range(0, len(piece), PIECE):
            async with asyncio.timeout(STALL_SECONDS):
                await response.write(piece[start : start + PIECE])
    await response.write_eof()


async def _switch(
    request: web.BaseRequest, upstream_response: aiohttp.ClientResponse, ours: Takeover
) -> None:
    """Forward bytes in both directions until one side ends."""
    connection = upstream_response.connection
    if connection is None or connection.transport is None or connection.protocol is None:
        raise aiohttp.ServerDisconnectedError
    theirs = asyncio.StreamReader(PIECE)
    theirs.set_transport(connection.transport)  # so that it can pause a fast sender
    feed = Feed(theirs)
    connection.protocol.set_parser(feed, feed)
    writer = StreamWriter(connection.protocol, asyncio.get_running_loop())
    await ours.open(request)
    directions = (
        asyncio.ensure_future(_pipe(ours, writer)),
        asyncio.ensure_future(_pipe(theirs, ours)),
    )
    try:
        await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in directions:
            task.cancel()
        await asyncio.gather(*directions, return_exceptions=True)
        upstream_response.close()


async def _pipe(source: _Source, target: _Target) -> None:
    with contextlib.suppress(ConnectionError):
        while piece := await source.read(PIECE):
            await target.write(piece)
