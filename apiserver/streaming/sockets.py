"""WebSockets over aiohttp: the upgrade, and refusals as a Status."""

from collections.abc import Sequence

from aiohttp import web

from inkube.schemas import status

LARGEST = 1024 * 1024
"""Bytes of one message that a client may send."""


def is_wanted(request: web.BaseRequest) -> bool:
    """Whether a request asks to become a WebSocket."""
    return request.headers.get("Upgrade", "").strip().lower() == "websocket"


def offered(request: web.BaseRequest) -> list[str]:
    """The subprotocols that a client can speak, the one it likes best first."""
    headers = request.headers.getall("Sec-WebSocket-Protocol", ())
    return [part.strip() for header in headers for part in header.split(",") if part.strip()]


async def accept(
    request: web.BaseRequest,
    protocols: Sequence[str],
    *,
    is_optional: bool = False,
    max_size: int = LARGEST,
) -> web.WebSocketResponse:
    """The open WebSocket, in the first subprotocol of the client that is among `protocols`.

    A client that names none passes where `is_optional`. Raises StatusError 400 for a bad handshake
    and 403 when there is no common subprotocol, as `wsstream` of apiserver answers.
    """
    wanted = offered(request)
    if not (is_optional and not wanted) and not any(one in protocols for one in wanted):
        text = f"unable to upgrade: unable to negotiate protocol: client supports {_list(wanted)}"
        raise status.StatusError(
            403, status.Reason.FORBIDDEN, f"{text}, server accepts {_list(protocols)}"
        )
    # what is sent is small or compressed already; kubectl offers no compression
    socket = web.WebSocketResponse(
        protocols=protocols, autoping=True, compress=False, max_msg_size=max_size
    )
    try:
        await socket.prepare(request)
    except web.HTTPBadRequest as error:
        raise status.bad_request(error.text or "bad WebSocket handshake") from error
    return socket


def _list(protocols: Sequence[str]) -> str:
    return f"[{' '.join(protocols)}]"
