"""Watches over WebSocket: every event is a message, of text for JSON and of bytes for protobuf.

For browsers and proxies that do not support streams of HTTP. Messages of the client are ignored.
Follows apiserver/pkg/endpoints/handlers/watch.go (HandleWS) and the handshake of
golang.org/x/net/websocket: an Origin, and at most one subprotocol, which the response repeats.
"""

import asyncio
import contextlib
from collections.abc import Callable

from aiohttp import hdrs, web
from aiohttp.http import WSMsgType

from inkube.apiserver import streaming
from inkube.apiserver.watching.frames import Wire
from inkube.schemas import status

FAREWELL = 1.0
"""Seconds to wait for the client's closing handshake."""


def _text(frame: bytes) -> bytes:
    return streaming.sockets.message(frame)


def _binary(frame: bytes) -> bytes:
    """Return a frame as a message, without its length prefix: a message has a length itself."""
    return streaming.sockets.message(frame[4:], WSMsgType.BINARY)


TEXT = Wire("text", _text)
BINARY = Wire("binary", _binary)


class Socket:
    """A watch over a WebSocket (`stream.Connection`). `open` raises StatusError 400 and 403 for an
    invalid handshake."""

    def __init__(self, request: web.BaseRequest, *, is_text: bool) -> None:
        self.wire = TEXT if is_text else BINARY
        self.response: web.StreamResponse = web.StreamResponse(status=101)
        if "://" not in request.headers.get(hdrs.ORIGIN, ""):
            raise status.forbidden("", "", "", "a watch over WebSocket takes an Origin header")
        self._protocols = streaming.sockets.subprotocols(request)
        if len(self._protocols) > 1:
            raise status.bad_request(
                "missing or bad WebSocket-Protocol: a watch over WebSocket takes one, "
                f"not {len(self._protocols)}"
            )
        self._request = request
        self._listener: asyncio.Task[None] | None = None

    async def open(self, request: web.BaseRequest, on_disconnect: Callable[[], None]) -> None:
        socket = await streaming.sockets.accept(request, self._protocols, is_optional=True)
        self.response = socket
        self._listener = asyncio.create_task(_listen(socket, on_disconnect))

    def sink(self, request: web.BaseRequest) -> asyncio.Transport | None:
        return request.transport

    async def drain(self) -> None:
        await self._request.writer.drain()

    async def finish(self) -> None:
        socket = self.response
        if isinstance(socket, web.WebSocketResponse):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FAREWELL):
                    await socket.close()

    def release(self) -> None:
        if self._listener is not None:
            self._listener.cancel()


async def _listen(socket: web.WebSocketResponse, on_disconnect: Callable[[], None]) -> None:
    await streaming.sockets.ignore(socket)
    on_disconnect()
