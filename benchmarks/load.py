"""Load from this process: many kept-open connections, each sending as soon as it was answered.

A protocol on uvloop that looks for the length of an answer and nothing else, so that it is the
server that is measured.
"""

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from typing import cast

import uvloop

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
CONNECTIONS = 64


class _Connection(asyncio.Protocol):
    """Sends what `requests` gives, one after the other; `done` has the number of answers."""

    def __init__(self, requests: Iterator[bytes], done: asyncio.Future[None]) -> None:
        self._requests = requests
        self._done = done
        self._buffer = b""
        self.answers = 0
        self.failures = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass
        self._send()

    def _send(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self._transport.close()
        else:
            self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        end = self._buffer.find(b"\r\n\r\n")
        length = _LENGTH.search(self._buffer, 0, end) if end > 0 else None
        if length is None or len(self._buffer) < end + 4 + int(length[1]):
            return
        self.answers += 1
        self.failures += self._buffer[9:10] != b"2"
        self._buffer = b""
        self._send()

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_result(None)


async def run(port: int, requests: Iterator[bytes]) -> int:
    loop = asyncio.get_running_loop()
    made = []
    for _ in range(CONNECTIONS):
        done = loop.create_future()
        connection = _Connection(requests, done)
        await loop.create_connection(lambda c=connection: c, "127.0.0.1", port)
        made.append((connection, done))
    await asyncio.gather(*(done for _, done in made))
    failures = sum(connection.failures for connection, _ in made)
    if failures:
        raise RuntimeError(f"{failures} requests failed")
    return sum(connection.answers for connection, _ in made)


def send(port: int, requests: Iterator[bytes]) -> float:
    """Send all of them; the answers per second. Raises RuntimeError when one is no success."""
    started = time.perf_counter()
    answers = uvloop.run(run(port, requests))
    return answers / (time.perf_counter() - started)


def for_seconds(seconds: float, make: Callable[[], bytes]) -> Iterator[bytes]:
    """Requests until the time is up."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        yield make()
