"""WebSockets over aiohttp: the upgrade, and refusals as a Status."""

import base64
import binascii
import contextlib
from collections.abc import Sequence

from aiohttp import hdrs, web
from aiohttp.http import WSMessage, WSMsgType

from inkube.schemas import status

LARGEST = 1024 * 1024
"""Bytes of one message that a client may send."""
PIECE = 32 * 1024
"""Bytes of output in one message, or in one frame of SPDY: a kubelet copies with a buffer of that
size, and clients refuse messages of some MiB."""
BEARER = "base64url.bearer.authorization.k8s.io."
"""A subprotocol that is none: a browser cannot send headers, so a token comes behind this."""


def is_wanted(request: web.BaseRequest) -> bool:
    """Whether a request asks to become a WebSocket."""
    headers = request.headers
    upgrades = "upgrade" in headers.get(hdrs.CONNECTION, "").lower()
    return upgrades and headers.get(hdrs.UPGRADE, "").strip().lower() == "websocket"


def offered(request: web.BaseRequest) -> list[str]:
    """The subprotocols that a client can speak, the one it likes best first; none is a token."""
    return [each for each in _named(request) if not each.startswith(BEARER)]


def token(request: web.BaseRequest) -> str:
    """The bearer token among the subprotocols, "" when there is none. Raises ValueError.

    Follows apiserver/pkg/authentication/request/websocket/protocol.go.
    """
    found = [each.removeprefix(BEARER) for each in _named(request) if each.startswith(BEARER)]
    if not found:
        return ""
    if len(found) > 1:
        raise ValueError("multiple base64.bearer.authorization tokens specified")
    padded = found[0] + "=" * (-len(found[0]) % 4)
    try:
        text = base64.b64decode(padded, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise ValueError("invalid base64.bearer.authorization token encoding") from error
    if text and not offered(request):
        raise ValueError("missing additional subprotocol")
    return text


def _named(request: web.BaseRequest) -> list[str]:
    headers = request.headers.getall(hdrs.SEC_WEBSOCKET_PROTOCOL, ())
    return [part.strip() for header in headers for part in header.split(",") if part.strip()]


def message(data: bytes, kind: WSMsgType = WSMsgType.TEXT) -> bytes:
    """One message of a server, whole, as it goes over the connection (RFC 6455, 5.2)."""
    size = len(data)
    if size < 126:
        return bytes((0x80 | kind, size)) + data
    if size < 65536:
        return bytes((0x80 | kind, 126)) + size.to_bytes(2, "big") + data
    return bytes((0x80 | kind, 127)) + size.to_bytes(8, "big") + data


class Channels:
    """Numbered channels in the messages of a WebSocket.

    The subprotocol says how a message is written, whatever the opcode of its frames: a byte for the
    channel and the bytes, or a digit and base64 (apimachinery/pkg/util/httpstream/wsstream).
    """

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket
        self._is_base64 = "base64" in (socket.ws_protocol or "")

    async def send(self, channel: int, data: bytes) -> None:
        """One message. Raises ConnectionError."""
        if self._is_base64:
            await self._socket.send_str(f"{channel}{base64.b64encode(data).decode()}")
        else:
            await self._socket.send_bytes(bytes((channel,)) + data)

    async def write(self, channel: int, data: bytes) -> None:
        """Output, in as many messages as it takes. Raises ConnectionError."""
        for at in range(0, len(data), PIECE):
            await self.send(channel, data[at : at + PIECE])

    def read(self, message: WSMessage) -> tuple[int, bytes] | None:
        """The channel of a message and what came in it; None where it makes no sense."""
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
    """Answer pings and throw away all else that comes, until the client closes or is away."""
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
    """The open WebSocket, in the first subprotocol of the client that is among `protocols`.

    A client without subprotocols is accepted if `is_optional`. Without `answers_pings`, the reader
    receives pings and pongs. Raises StatusError 400 for a bad handshake and 403 when there is no
    common subprotocol, as `wsstream` of apiserver answers.
    """
    wanted = offered(request)
    if not (is_optional and not wanted) and not any(one in protocols for one in wanted):
        text = f"unable to upgrade: unable to negotiate protocol: client supports {_list(wanted)}"
        raise status.StatusError(
            403, status.Reason.FORBIDDEN, f"{text}, server accepts {_list(protocols)}"
        )
    # what is sent is small or compressed already; kubectl offers no compression
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
