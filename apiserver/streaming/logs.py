"""Logs over WebSocket: the output of a container in messages of bytes or of base64.

Follows apimachinery/pkg/util/httpstream/wsstream/stream.go: an empty message comes first.

    binary.k8s.io, or no subprotocol    bytes
    base64.binary.k8s.io                text, the bytes in base64: for browsers
"""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator

from aiohttp import web

from inkube.apiserver.http import httprequest
from inkube.apiserver.streaming import sockets

BINARY, BASE64 = "binary.k8s.io", "base64.binary.k8s.io"
FAREWELL = 1.0
"""Seconds for the client's closing handshake after the end of the log."""


async def serve(
    request: web.BaseRequest, first: bytes, pieces: AsyncIterator[bytes]
) -> web.StreamResponse:
    """Send the pieces. An empty piece only checks whether the client is connected.

    Raises StatusError, and the errors of the pieces.
    """
    socket = await sockets.accept(request, (BINARY, BASE64), is_optional=True)
    listener = asyncio.create_task(sockets.ignore(socket))
    try:
        await _send(socket, b"")
        if first:
            await _send(socket, first)
        async for piece in pieces:
            if listener.done():
                break
            if piece:
                await _send(socket, piece)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL):
                await socket.close()
    except ConnectionError:
        if httprequest.is_connected(request) and not socket.closed:
            raise  # an error of the log itself
    finally:
        listener.cancel()
        await asyncio.gather(listener, return_exceptions=True)
    return socket


async def _send(socket: web.WebSocketResponse, piece: bytes) -> None:
    if socket.ws_protocol == BASE64:
        await socket.send_str(base64.b64encode(piece).decode())
    else:
        await socket.send_bytes(piece)
