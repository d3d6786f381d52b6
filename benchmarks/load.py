"""Load from this process: many open connections, each of which sends when it has its response.

A protocol on uvloop that only reads the length of a response, so that the server is the bottleneck.
"""

import asyncio
import re
import ssl
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple, cast

import uvloop

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
CONNECTIONS = 64


class _Connection(asyncio.Protocol):
    """Sends the requests of `requests`, one after the other. `done` counts the responses."""

    def __init__(
        self, requests: Iterator[bytes], done: asyncio.Future[None], wanted: bytes
    ) -> None:
        self._requests = requests
        self._done = done
        self._wanted = wanted
        self._buffer = bytearray()
        self.answers = 0
        self.failures = 0
        self._greeting: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is not a subclass

    async def greet(self, request: bytes) -> None:
        """Send a request that is not counted, and wait for its response."""
        self._greeting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        await self._greeting
        self._greeting = None

    def begin(self) -> None:
        """Send the first counted request."""
        self._send()

    def _send(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self._transport.close()
        else:
            self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        length = _LENGTH.search(self._buffer, 0, end)
        if length is None:  # the response is chunked
            if not self._buffer.endswith(b"\r\n0\r\n\r\n"):
                return
        elif len(self._buffer) < end + 4 + int(length[1]):
            return
        if self._greeting is not None:
            self._buffer.clear()
            self._greeting.set_result(None)
            return
        self.answers += 1
        self.failures += not self._buffer.startswith(self._wanted, len("HTTP/1.1 "))
        self._buffer.clear()
        self._send()

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_result(None)
        if self._greeting is not None and not self._greeting.done():
            self._greeting.set_exception(ConnectionError("the server hung up"))


class Load(NamedTuple):
    """The form of a load. `wanted` is the start of the status line, and `tls` trusts a server.

    `begin` is called when all connections are open and have received the response to `greeting`, if
    it is set: a server finishes a TLS handshake only after its client.
    """

    connections: int = CONNECTIONS
    wanted: bytes = b"2"
    tls: ssl.SSLContext | None = None
    begin: Callable[[], None] = lambda: None
    greeting: bytes = b""


MANY = Load()


async def run(port: int, requests: Iterator[bytes], how: Load = MANY) -> tuple[int, float]:
    """Return the number of responses, and the seconds that they took."""
    loop = asyncio.get_running_loop()
    made = []
    for _ in range(how.connections):
        done = loop.create_future()
        connection = _Connection(requests, done, how.wanted)
        await loop.create_connection(lambda c=connection: c, "127.0.0.1", port, ssl=how.tls)
        made.append((connection, done))
    if how.greeting:
        await asyncio.gather(*(connection.greet(how.greeting) for connection, _ in made))
    how.begin()
    began = time.perf_counter()
    for connection, _ in made:
        connection.begin()
    await asyncio.gather(*(done for _, done in made))
    taken = time.perf_counter() - began
    failures = sum(connection.failures for connection, _ in made)
    if failures:
        raise RuntimeError(f"{failures} requests failed")
    return sum(connection.answers for connection, _ in made), taken


def send(port: int, requests: Iterator[bytes], how: Load = MANY) -> float:
    """Send all requests, and return the responses per second. Raises RuntimeError for an unexpected
    response."""
    answers, taken = uvloop.run(run(port, requests, how))
    return answers / taken


def for_seconds(seconds: float, make: Callable[[], bytes]) -> Iterator[bytes]:
    """Yield requests until the time is over, which starts with the first request."""
    yield make()
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        yield make()
