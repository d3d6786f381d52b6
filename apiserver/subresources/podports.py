"""Forwards a request to a port of a pod. Loaded at the first use, because it imports an HTTP
client.

Follows pkg/registry/core/rest/proxy and apimachinery/pkg/util/proxy/upgradeaware.go.
"""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
from aiohttp import hdrs, web
from multidict import CIMultiDict
from yarl import URL

from inkube.apiserver.handlers import Exchange
from inkube.apiserver.streaming import proxying
from inkube.apiserver.subresources import connects
from inkube.schemas import status
from inkube.schemas.status import StatusError

_PIECE = 64 * 1024
Connect = Callable[[Any], Awaitable[None]]
"""Serves one connection, a `streaming.forwards.Side`. Raises StatusError."""


async def forward(exchange: Exchange, target: Connect | str, scheme: str) -> web.StreamResponse:
    """Return the response of a port whose connections `target` serves, or of a `HOST:PORT`. Raises
    StatusError 503, 504.

    A request without a path is redirected to the root.
    """
    request, path = exchange.http, exchange.info.path
    _, rest = connects.split_proxy_path(exchange.info)
    query = proxying.query(exchange.info)
    if not rest and request.method in ("GET", "HEAD"):
        location = f"{path}/?{query}" if query else f"{path}/"
        return web.Response(status=301, headers={hdrs.LOCATION: location})
    asked = quote(rest or "/", safe="/$&+,:;=@~")
    changes = proxying.Changes(
        drops_header=lambda header: header.lower() == "authorization",
        headers=CIMultiDict({hdrs.HOST: request.host}),
        target=f"{asked}?{query}" if query else asked,
    )
    there = _address_port(target, scheme) if isinstance(target, str) else _pod_port(target, scheme)
    async with there as port:
        return await proxying.forward(
            port, request, exchange.info, changes, unreachable=port.unavailable
        )


class _Side:
    """The client's side of a connection to a port."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def read(self) -> bytes:
        return await self._reader.read(_PIECE)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()


class _Port:
    """A port of a pod or an address, as an upstream for `proxying.forward`."""

    def __init__(self, base: str, session: aiohttp.ClientSession) -> None:
        self._base = base
        self._session = session
        self.refusal = ""
        """The reason why the pod accepted no connection."""

    def base(self) -> str:
        return self._base

    def request(self, method: str, base: str, target: str, **options: Any) -> Any:
        """Send a request without redirects; an `async with` over the response."""
        url = URL(base + target, encoded=True)
        return self._session.request(method, url, allow_redirects=False, ssl=False, **options)

    def unavailable(self, message: str) -> web.StreamResponse:
        """Raise StatusError 503 with the reason why the pod accepted no connection,
        or else `message`."""
        raise status.unavailable(self.refusal or message)


@contextlib.asynccontextmanager
async def _pod_port(connect: Connect, scheme: str) -> AsyncIterator[_Port]:
    """Yield a port whose connections `connect` serves."""
    with tempfile.TemporaryDirectory(prefix="inkube-") as folder:
        path = str(Path(folder) / "port")
        async with proxying.session(aiohttp.UnixConnector(path)) as session:
            port = _Port(f"{scheme}://pod", session)

            async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                with contextlib.closing(writer), contextlib.suppress(ConnectionError):
                    try:
                        await connect(_Side(reader, writer))
                    except StatusError as error:
                        port.refusal = f"error trying to reach service: {error.message}"

            server = await asyncio.start_unix_server(serve, path)
            try:
                yield port
            finally:
                server.close()  # without `wait_closed`: the session keeps its connections


@contextlib.asynccontextmanager
async def _address_port(address: str, scheme: str) -> AsyncIterator[_Port]:
    """Yield a port to which this process can connect."""
    async with proxying.session(aiohttp.TCPConnector()) as session:
        yield _Port(f"{scheme}://{address}", session)
