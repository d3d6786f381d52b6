"""Port-forward: connections of a client to ports of a pod, over SPDY or WebSocket channels.

    SPDY/3.1                     kubectl up to 1.30: the bare connection
    SPDY/3.1+portforward.k8s.io  kubectl from 1.31: frames of SPDY inside of a WebSocket
    v4.channel.k8s.io            other clients: channels 2i (data), 2i+1 (errors) of the i-th port
    v4.base64.channel.k8s.io     the same for browsers

Follows kubelet/pkg/cri/streaming/portforward and apiserver/pkg/util/proxy.
"""

import asyncio
import contextlib
import struct
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import NamedTuple, Protocol

from aiohttp import web

from inkube.apiserver.streaming import sockets
from inkube.apiserver.streaming.connections import Connection, Pipe, Stream, Tunnel
from inkube.apiserver.streaming.takeover import Takeover
from inkube.schemas import status
from inkube.schemas.status import StatusError

TUNNEL = "SPDY/3.1+portforward.k8s.io"
CHANNELS = ("v4.channel.k8s.io", "v4.base64.channel.k8s.io")
SPDY_PROTOCOL = "portforward.k8s.io"
PORTS = 16
"""The most ports of one request over channels."""
QUEUE_SIZE = 16


class Side(Protocol):
    """The client's side of one connection."""

    async def read(self) -> bytes:
        """Return the next bytes of the client, or b"" at the end."""
        ...

    async def write(self, data: bytes) -> None:
        """Send bytes to the client."""
        ...


Forward = Callable[[int, Side], Awaitable[None]]
"""Serves one connection to a port. A StatusError is sent to the client, and ends the connection."""


async def serve(
    request: web.BaseRequest, ports: Sequence[str], forward: Forward
) -> web.StreamResponse:
    """Upgrade the connection and serve ports on it. Raises StatusError before the upgrade.

    `ports` are those of the query; clients of SPDY name theirs later, stream by stream.
    """
    if sockets.is_upgrade(request):
        if TUNNEL in sockets.subprotocols(request):
            socket = await sockets.accept(request, (TUNNEL,))
            await _serve_spdy(Tunnel(socket), forward)
            with contextlib.suppress(ConnectionError):
                await socket.close()
            return socket
        return await _serve_channels(request, _ports(ports), forward)
    if request.headers.get("Upgrade", "").strip().lower() == "spdy/3.1":
        pipe = Takeover("SPDY/3.1", {"X-Stream-Protocol-Version": SPDY_PROTOCOL})
        with contextlib.suppress(ConnectionError):
            await pipe.open(request)
            await _serve_spdy(pipe, forward)
        return pipe
    raise status.bad_request("Upgrade request required")


class _Pair(NamedTuple):
    """The two streams of one connection."""

    error: Stream
    data: Stream


async def _serve_spdy(pipe: Pipe, forward: Forward) -> None:
    async with Connection(pipe) as connection:
        half: dict[str, Stream] = {}
        tasks: set[asyncio.Task[None]] = set()
        try:
            while (stream := await connection.accept()) is not None:
                pair = _pair_with(half, stream)
                if pair is not None:
                    task = asyncio.create_task(_serve_pair(pair, forward), name="port-forward")
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _pair_with(half: dict[str, Stream], stream: Stream) -> _Pair | None:
    """Return both streams of a connection if this is the second one, else None."""
    kind = stream.headers.get("streamtype", "")
    # old clients send no request id: their data stream follows the error stream
    request = stream.headers.get("requestid") or str(
        stream.number if kind == "error" else stream.number - 2
    )
    other = half.pop(request, None)
    if other is None:
        half[request] = stream
        return None
    if kind == "data":
        return _Pair(other, stream)
    return _Pair(stream, other)


async def _serve_pair(pair: _Pair, forward: Forward) -> None:
    with contextlib.suppress(ConnectionError):
        try:
            port = int(pair.data.headers.get("port", ""))
            await forward(port, pair.data)
        except ValueError:
            await pair.error.write(b"no port is named")
        except StatusError as error:
            await pair.error.write(error.message.encode())
        await pair.data.end()
        await pair.error.end()


class _Channel:
    """One port over channels of a WebSocket."""

    def __init__(self, channels: sockets.Channels, number: int) -> None:
        self._channels = channels
        self._number = number
        self.incoming: asyncio.Queue[bytes] = asyncio.Queue(QUEUE_SIZE)
        self._ended = False

    async def read(self) -> bytes:
        if self._ended:
            return b""
        data = await self.incoming.get()
        self._ended = not data
        return data

    async def write(self, data: bytes) -> None:
        await self._channels.write(2 * self._number, data)

    async def send_message(self, text: bytes) -> None:
        """Send a message on a channel: first its port, later errors."""
        await self._channels.send(2 * self._number + 1, text)


async def _serve_channels(
    request: web.BaseRequest, ports: Sequence[int], forward: Forward
) -> web.StreamResponse:
    socket = await sockets.accept(request, CHANNELS, is_optional=True)
    channels = sockets.Channels(socket)
    served = [_Channel(channels, number) for number in range(len(ports))]
    with contextlib.suppress(ConnectionError):
        for channel, port in zip(served, ports, strict=True):
            number = struct.pack("<H", port)
            await channel.write(number)
            await channel.send_message(number)
        tasks = [
            asyncio.create_task(_serve_channel(channel, port, forward), name="port-forward")
            for channel, port in zip(served, ports, strict=True)
        ]
        try:
            await _distribute(_listen(socket, channels, served), tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await socket.close()
    return socket


async def _distribute(
    listen: Coroutine[None, None, None], tasks: "list[asyncio.Task[None]]"
) -> None:
    """Distribute the received messages until the client disconnects or every port is closed."""
    listener = asyncio.create_task(listen)
    pending = {*tasks, listener}
    try:
        while len(pending) > 1 and listener in pending:
            _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
    finally:
        listener.cancel()
        await asyncio.gather(listener, return_exceptions=True)


async def _listen(
    socket: web.WebSocketResponse, channels: sockets.Channels, ports: Sequence[_Channel]
) -> None:
    async for message in socket:
        received = channels.read(message)
        if received is None:
            continue
        number, is_error = divmod(received[0], 2)
        if not is_error and number < len(ports) and received[1]:
            await ports[number].incoming.put(received[1])
    for channel in ports:
        await channel.incoming.put(b"")


async def _serve_channel(channel: _Channel, port: int, forward: Forward) -> None:
    with contextlib.suppress(ConnectionError):
        try:
            await forward(port, channel)
        except StatusError as error:
            await channel.send_message(error.message.encode())


def _ports(values: Sequence[str]) -> list[int]:
    """Return the requested ports. Raises StatusError 400."""
    texts = [text for value in values for text in value.split(",")]
    if not texts:
        raise status.bad_request("you must specify at least 1 port")
    if len(texts) > PORTS:
        raise status.bad_request(f"at most {PORTS} ports of one request are forwarded")
    ports = []
    for text in texts:
        if not text.isdecimal() or not 0 < int(text) < 65536:
            raise status.bad_request(f"unable to parse {text!r} as a port")
        ports.append(int(text))
    return ports
