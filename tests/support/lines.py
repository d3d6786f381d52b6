"""The HTTP server of inkube with any handler, and plain connections to it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web
from multidict import CIMultiDict
from patience import SECONDS, within

from inkube.apiserver.http import fast, webserver
from inkube.apiserver.http.budget import Budget
from inkube.apiserver.http.cors import Origins
from inkube.apiserver.http.httpresponse import BodyResponse
from inkube.apiserver.http.plain import Handler, Server

needs_faster_loop = pytest.mark.skipif(
    not fast.is_tested(aiohttp.__version__),
    reason=f"the faster loop is off: INKUBE_HTTP, or aiohttp {aiohttp.__version__}",
)
GET = b"GET /%d HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /%d HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody"


def answer(text: str = "", **headers: str) -> BodyResponse:
    return BodyResponse(text.encode(), CIMultiDict({"Content-Type": "text/plain", **headers}))


@asynccontextmanager
async def serving(
    handler: Handler, stop_seconds: float = SECONDS, budget: Budget | None = None
) -> AsyncIterator[tuple[int, Server]]:
    """Start a server; yields its port, and stops it at the end of the block."""
    server = webserver.server(handler, Origins((), protects=False), budget or Budget())
    server.grace.seconds = stop_seconds
    runner = web.ServerRunner(server)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1], server
    finally:
        await runner.cleanup()


class Line:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, request: bytes = GET % 0) -> tuple[int, str]:
        self.writer.write(request)
        return await self.answered()

    async def answered(self) -> tuple[int, str]:
        async with within():
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
            size = next(
                int(line[15:]) for line in head.splitlines() if line.startswith("Content-L")
            )
            return int(head.split()[1]), (await self.reader.readexactly(size)).decode()

    async def is_over(self) -> bool:
        async with within():
            return await self.reader.read() == b""


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Line]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Line(reader, writer)
    finally:
        writer.close()
