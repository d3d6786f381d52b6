"""HTTP connections that change to a protocol other than WebSocket: access to their bytes.

aiohttp supports only WebSockets. Only this module uses the steps by which aiohttp reaches the bytes
of a connection.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from aiohttp import hdrs, web

BUFFER = 64 * 1024
"""Bytes that are buffered for the reader. At twice as many, the sender is paused."""


class Takeover(web.StreamResponse):
    """The response `101 Switching Protocols`, and then a `connections.Pipe`."""

    def __init__(self, protocol: str, headers: Mapping[str, str] | None = None) -> None:
        switch = {hdrs.CONNECTION: "Upgrade", hdrs.UPGRADE: protocol, **(headers or {})}
        super().__init__(status=101, headers=switch)
        self._reader = asyncio.StreamReader(BUFFER)
        self._request: web.BaseRequest | None = None

    async def open(self, request: web.BaseRequest) -> None:
        """Respond to the request and take over its connection. Raises ConnectionError."""
        self.force_close()
        await self.prepare(request)
        transport = request.transport
        if transport is None:
            raise ConnectionResetError("the client has gone")
        self._request = request
        self._reader.set_transport(transport)  # so that it can pause a fast sender
        feed: Any = Feed(self._reader)
        request.protocol.set_parser(feed)
        request.protocol.keep_alive(False)

    async def readexactly(self, count: int) -> bytes:
        """Return exactly `count` bytes. Raises asyncio.IncompleteReadError at the end."""
        return await self._reader.readexactly(count)

    async def read(self, limit: int) -> bytes:
        """Return the received bytes, at most `limit`, or b"" at the end."""
        return await self._reader.read(limit)

    async def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send data; waits if the client reads slowly. Raises ConnectionError."""
        request = self._request
        transport = request.transport if request is not None else None
        if request is None or transport is None or transport.is_closing():
            raise ConnectionResetError("the client has gone")
        transport.write(data)
        await request.writer.drain()


class Feed:
    """Receives bytes from aiohttp's protocols (client or server) instead of their own parsers."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Buffer received bytes."""
        self._reader.feed_data(data)
        return False, b""

    def feed_eof(self) -> None:
        """Note that the other side has ended."""
        self._reader.feed_eof()

    def set_exception(self, error: type[BaseException] | BaseException, *cause: object) -> None:
        """Note that the connection is lost."""
        self._reader.feed_eof()
