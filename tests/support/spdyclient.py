"""A client of SPDY/3.1 like kubectl's: it upgrades a request and opens streams."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from yarl import URL

from inkube.apiserver.streaming import spdy


class Client:
    """One session. `streams` maps the type of each open stream to its number."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._headers = spdy.Headers()
        self.streams: dict[str, int] = {}
        self._next = 1

    async def open(self, name: str, **headers: str) -> int:
        """Open a stream with this value of the header `streamtype`, and return its number."""
        number, self._next = self._next, self._next + 2
        self.streams[name] = number
        await self.send(self._headers.open(number, {"streamtype": name, **headers}))
        return number

    async def write(self, name: str, data: bytes, *, ends: bool = False) -> None:
        await self.send(spdy.data(self.streams[name], data, ends=ends))

    async def send(self, frame: bytes) -> None:
        self._writer.write(frame)
        await self._writer.drain()

    async def frames(self) -> AsyncIterator[tuple[spdy.Head, bytes]]:
        """Yield every frame of the server as its head and payload, until the server ends the
        connection."""
        while True:
            try:
                head = spdy.read_head(await self._reader.readexactly(spdy.HEAD))
                yield head, await self._reader.readexactly(head.length)
            except (asyncio.IncompleteReadError, ConnectionResetError):
                return

    async def read_all(self) -> dict[str, bytes]:
        """Return the data of each stream by its type, after the server has ended all streams."""
        names = {number: name for name, number in self.streams.items()}
        found, ended = dict.fromkeys(self.streams, b""), set[int]()
        async for head, payload in self.frames():
            if head.kind == 0:
                found[names[head.stream]] += payload
                if head.ends:
                    ended.add(head.stream)
            if ended == set(names):
                break
        return found


@asynccontextmanager
async def connected(
    url: str, protocols: Sequence[str] = ("v4.channel.k8s.io",)
) -> AsyncIterator[tuple[int, Client]]:
    """Send the upgrade, and yield the code of the response and the session."""
    address = URL(url)
    reader, writer = await asyncio.open_connection(address.host, address.port)
    lines = [
        f"POST {address.raw_path_qs} HTTP/1.1", f"Host: {address.authority}",
        "Connection: Upgrade", "Upgrade: SPDY/3.1", "Content-Length: 0",
        *(f"X-Stream-Protocol-Version: {each}" for each in protocols), "", "",
    ]  # fmt: skip
    writer.write("\r\n".join(lines).encode())
    head = await reader.readuntil(b"\r\n\r\n")
    try:
        yield int(head.split()[1]), Client(reader, writer)
    finally:
        writer.close()
