"""A SPDY session: frames from a pipe become streams, and writes to streams become frames.

    async with Connection(pipe) as connection:
        stream = await connection.accept()
        await stream.read(); await stream.write(b"…"); await stream.end()

The number of streams and of waiting frames in each is bounded. While a stream is full, nothing is
read from the pipe, so the sender's connection fills up: kubectl's SPDY has no other flow control.
"""

import asyncio
from collections.abc import Mapping
from typing import Protocol, Self

from aiohttp import web
from aiohttp.http import WSMsgType

from inkube.apiserver.streaming import sockets, spdy
from inkube.apiserver.streaming.spdy import ProtocolError

STREAMS = 64
"""The most open streams of one session. More are refused."""
FRAME_QUEUE_SIZE = 16
"""The limit of frames of a stream that are not read yet."""


class Pipe(Protocol):
    """Bytes in both directions."""

    async def readexactly(self, count: int) -> bytes:
        """Return exactly `count` bytes. Raises asyncio.IncompleteReadError if the other side has
        disconnected."""
        ...

    async def write(self, data: bytes) -> None:
        """Send data; waits if the client reads slowly. Raises ConnectionError."""
        ...


class Tunnel:
    """A pipe in the binary messages of a WebSocket."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket
        self._buffer = bytearray()

    async def readexactly(self, count: int) -> bytes:
        """Return exactly `count` bytes from the next binary or text messages. Raises
        asyncio.IncompleteReadError if the other side has disconnected."""
        while len(self._buffer) < count:
            message = await self._socket.receive()
            if message.type not in (WSMsgType.BINARY, WSMsgType.TEXT):
                raise asyncio.IncompleteReadError(bytes(self._buffer), count)
            text = message.data
            self._buffer += text.encode() if isinstance(text, str) else text
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    async def write(self, data: bytes) -> None:
        """Send data as one binary message. Raises ConnectionError."""
        await self._socket.send_bytes(data)


class Stream:
    """One stream of a session."""

    def __init__(self, connection: "Connection", number: int, headers: Mapping[str, str]) -> None:
        self.number = number
        self.headers = headers
        self._connection = connection
        self._frames: asyncio.Queue[bytes] = asyncio.Queue(FRAME_QUEUE_SIZE)
        self._read_ended = False
        self._write_ended = False

    async def read(self) -> bytes:
        """Return the next bytes, or b"" at the end."""
        if self._read_ended:
            return b""
        data = await self._frames.get()
        self._read_ended = not data
        return data

    async def write(self, data: bytes) -> None:
        """Send data in frames. Does nothing after the end."""
        for at in range(0, len(data), sockets.PIECE):
            if self._write_ended:
                return
            piece = data[at : at + sockets.PIECE]
            await self._connection.send(spdy.data(self.number, piece))

    async def end(self) -> None:
        """End the direction to the client."""
        if not self._write_ended:
            self._write_ended = True
            await self._connection.send(spdy.data(self.number, b"", ends=True))
            self._connection.look_at(self)

    async def feed(self, data: bytes) -> None:
        """Process the received bytes; b"" is their end."""
        await self._frames.put(data)

    def abort(self) -> None:
        """End the stream because the other side has disconnected or reset it."""
        self._write_ended = True
        while True:  # drop waiting data, so that a reader receives the end
            try:
                self._frames.put_nowait(b"")
                return
            except asyncio.QueueFull:
                self._frames.get_nowait()

    @property
    def is_closed(self) -> bool:
        """Whether both sides have ended."""
        return self._read_ended and self._write_ended


class Connection:
    """One session over a pipe. Entering it starts to read."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._headers = spdy.Headers()
        self._streams: dict[int, Stream] = {}
        self._accepted: asyncio.Queue[Stream | None] = asyncio.Queue(STREAMS + 1)
        self._reader: asyncio.Task[None] | None = None
        self._last = 0

    async def __aenter__(self) -> Self:
        self._reader = asyncio.create_task(self._read(), name="SPDY session")
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._reader is not None, "entered before"
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)
        for stream in self._streams.values():
            stream.abort()

    async def accept(self) -> Stream | None:
        """Return the next stream that the client opens, or None when the session has ended."""
        return await self._accepted.get()

    async def closed(self) -> None:
        """Return when the other side has disconnected."""
        assert self._reader is not None, "entered before"
        await asyncio.wait({self._reader})

    async def send(self, frame: bytes) -> None:
        """Write a frame. Raises ConnectionError."""
        await self._pipe.write(frame)

    def look_at(self, stream: Stream) -> None:
        """Remove a stream that has ended."""
        if stream.is_closed:
            self._streams.pop(stream.number, None)

    async def _read(self) -> None:
        try:
            while await self._frame():
                pass
        except (asyncio.IncompleteReadError, ConnectionError, ProtocolError):
            pass  # the other side has disconnected or violates the protocol; both end the session
        finally:
            for stream in self._streams.values():
                stream.abort()
            while self._accepted.full():
                self._accepted.get_nowait()
            self._accepted.put_nowait(None)

    async def _frame(self) -> bool:
        """Read one frame. Returns False after the last."""
        head = spdy.read_head(await self._pipe.readexactly(spdy.HEAD))
        payload = await self._pipe.readexactly(head.length) if head.length else b""
        if head.kind == 0:
            await self._data(head, payload)
        elif head.kind == spdy.SYN_STREAM:
            await self._open(head, payload)
        elif head.kind == spdy.PING:
            await self.send(spdy.ping(spdy.number(payload)))
        elif head.kind == spdy.RST_STREAM:
            stream = self._streams.pop(spdy.number(payload), None)
            if stream is not None:
                stream.abort()
        elif head.kind == spdy.HEADERS:
            self._headers.unpack(payload[4:])  # the compression state of both sides must stay equal
        return head.kind != spdy.GOAWAY

    async def _data(self, head: spdy.Head, payload: bytes) -> None:
        stream = self._streams.get(head.stream)
        if stream is None:
            return  # already ended by this side
        if payload:
            await stream.feed(payload)
        if head.ends:
            await stream.feed(b"")

    async def _open(self, head: spdy.Head, payload: bytes) -> None:
        opened = self._headers.syn_stream(head, payload)
        if opened.stream <= self._last or opened.stream % 2 == 0:
            raise ProtocolError(f"stream {opened.stream} is not the next")
        self._last = opened.stream
        for stream in list(self._streams.values()):
            self.look_at(stream)
        if len(self._streams) >= STREAMS or self._accepted.full():
            await self.send(spdy.reset(opened.stream, spdy.REFUSED_STREAM))
            return
        stream = Stream(self, opened.stream, opened.headers)
        self._streams[opened.stream] = stream
        await self.send(self._headers.syn_reply(opened.stream))
        if opened.ends:
            await stream.feed(b"")
        self._accepted.put_nowait(stream)
