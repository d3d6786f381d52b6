"""WebSockets over aiohttp: the upgrade, and its rejection with a Status."""

import base64
import binascii
import contextlib
from collections.abc import Sequence

from aiohttp import hdrs, web
from aiohttp.http import WSMessage, WSMsgType

from inkube.schemas import status

LARGEST = 1024 * 1024
"""The largest message of a client, in bytes."""
PIECE = 32 * 1024
"""Bytes of output in one message, or in one frame of SPDY. A kubelet copies with a buffer of this
size, and clients refuse messages of some MiB."""
BEARER = "base64url.bearer.authorization.k8s.io."
"""The prefix of a subprotocol that contains a token, because a browser cannot send headers."""


def is_upgrade(request: web.BaseRequest) -> bool:
    """Return whether a request wants to become a WebSocket."""
    headers = request.headers
    upgrades = "upgrade" in headers.get(hdrs.CONNECTION, "").lower()
    return upgrades and headers.get(hdrs.UPGRADE, "").strip().lower() == "websocket"


def subprotocols(request: web.BaseRequest) -> list[str]:
    """Return the subprotocols of a client in order of preference, without tokens."""
    return [each for each in _protocol_names(request) if not each.startswith(BEARER)]


def token(request: web.BaseRequest) -> str:
    """Return the bearer token in the subprotocols, or "" without one. Raises ValueError.

    Follows apiserver/pkg/authentication/request/websocket/protocol.go.
    """
    tokens = [
        each.removeprefix(BEARER) for each in _protocol_names(request) if each.startswith(BEARER)
    ]
    if not tokens:
        return ""
    if len(tokens) > 1:
        raise ValueError("multiple base64.bearer.authorization tokens specified")
    padded = tokens[0] + "=" * (-len(tokens[0]) % 4)
    try:
        text = base64.b64decode(padded, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise ValueError("invalid base64.bearer.authorization token encoding") from error
    if text and not subprotocols(request):
        raise ValueError("missing additional subprotocol")
    return text


def _protocol_names(request: web.BaseRequest) -> list[str]:
    headers = request.headers.getall(hdrs.SEC_WEBSOCKET_PROTOCOL, ())
    return [part.strip() for header in headers for part in header.split(",") if part.strip()]


def message(data: bytes, kind: WSMsgType = WSMsgType.TEXT) -> bytes:
    """Return one complete message of a server, as sent over the connection (RFC 6455, 5.2)."""
    size = len(data)
    if size < 126:
        return bytes((0x80 | kind, size)) + data
    if size < 65536:
        return bytes((0x80 | kind, 126)) + size.to_bytes(2, "big") + data
    return bytes((0x80 | kind, 127)) + size.to_bytes(8, "big") + data


class Channels:
    """Numbered channels in the messages of a WebSocket.

    The subprotocol defines the form of a message, independent of the opcode of its frames: a byte
    for the channel and the data, or a digit and base64 (apimachinery/pkg/util/httpstream/wsstream).
    """

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket
        self._is_base64 = "base64" in (socket.ws_protocol or "")

    async def send(self, channel: int, data: bytes) -> None:
        """Send one message. Raises ConnectionError."""
        if self._is_base64:
            await self._socket.send_str(f"{channel}{base64.b64encode(data).decode()}")
        else:
            await self._socket.send_bytes(bytes((channel,)) + data)

    async def write(self, channel: int, data: bytes) -> None:
        """Send output, in as many messages as necessary. Raises ConnectionError."""
        for at in range(0, len(data), PIECE):
            await self.send(channel, data[at : at + PIECE])

    def read(self, message: WSMessage) -> tuple[int, bytes] | None:
        """Return the channel and the content of a message, or None if it is invalid."""
        if message.type not in (WSMsgType.BINARY, WSMsgType.TEXT) or not message.data:
            return None
        data: bytes = message.data.encode() if isinstance(message.data, str) else message.data
        if not self._is_base64:
            return data[0], data[1:]
        try:
            return int(data[:1]), base64.b64decode(data[1:])
        except (binascii.Error, ValueError):
            return None


async def ignore(socket: web.WebSocketResponse) -> None:
    """Answer pings and ignore all other messages, until the client closes or disconnects."""
    with contextlib.suppress(ConnectionError):
        async for _ in socket:
            pass


async def accept(
    request: web.BaseRequest,
    protocols: Sequence[str],
    *,
    is_optional: bool = False,
    max_size: int = LARGEST,
    answers_pings: bool = True,
) -> web.WebSocketResponse:
    """Return the open WebSocket, with the first subprotocol of the client that is in `protocols`.

    A client without subprotocols is accepted if `is_optional`. Without `answers_pings`, the reader
    receives pings and pongs. Raises StatusError 400 for an invalid handshake and 403 without a
    common subprotocol, as `wsstream` of apiserver.
    """
    offered = subprotocols(request)
    if not (is_optional and not offered) and not any(one in protocols for one in offered):
        text = f"unable to upgrade: unable to negotiate protocol: client supports {_list(offered)}"
        raise status.StatusError(
            403, status.Reason.FORBIDDEN, f"{text}, server accepts {_list(protocols)}"
        )
    # data is short or already compressed; kubectl offers no compression
    socket = web.WebSocketResponse(
        protocols=protocols, autoping=answers_pings, compress=False, max_msg_size=max_size
    )
    try:
        await socket.prepare(request)
    except web.HTTPBadRequest as error:
        raise status.bad_request(error.text or "bad WebSocket handshake") from error
    return socket


def _list(protocols: Sequence[str]) -> str:
    return f"[{' '.join(protocols)}]"
