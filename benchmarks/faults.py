"""The cost of ten Faults for requests that do not match, as a part of the cheapest request.

The check of the faults is measured separately and repeatedly, because it is smaller than the
variation of whole requests.
"""

import asyncio
import time
from collections.abc import Iterable

from benchmarks import figures, objects
from benchmarks.figures import Figure
from inkube import APIServer
from inkube.apiserver.http import requests
from inkube.apiserver.registry import ADMIN

LOOKS, GETS, FAULTS = 50_000, 4_000, 10
PATH = "/api/v1/namespaces/default"


def measure() -> Iterable[Figure]:
    look, get = asyncio.run(_measure())
    note = f"{look * 1e6:.2f} of {get * 1e6:.0f} µs of processor time"
    yield Figure("a fault, to a request it does not match", 100 * look / get, "%", 2, note=note)


async def _measure() -> tuple[float, float]:
    async with APIServer() as server:
        get = await _get(server)
        for number in range(FAULTS):
            match = {"verbs": ["update"], "resources": ["configmaps"], "names": [f"n{number}"]}
            spec = {"match": match, "answer": {"code": 500}}
            await server.client.create(
                objects.new("world.inkube.dev/v1", "Fault", f"f{number}", spec=spec)
            )
        info = requests.parse("GET", PATH)
        begun = time.process_time()
        for _ in range(LOOKS):
            assert await server.faults.injection_for(info, ADMIN, "bench/1", _nothing) is None
        return (time.process_time() - begun) / LOOKS, get


async def _nothing() -> None:
    raise AssertionError("no fault asks for labels")


async def _get(server: APIServer) -> float:
    """Return the seconds of processor time of a GET, including those of the client."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    request = f"GET {PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    length = 0
    begun = time.process_time()
    for number in range(GETS):
        writer.write(request)
        if number:
            await reader.readexactly(length)
        else:
            head = await reader.readuntil(b"\r\n\r\n")
            size = int(head.lower().split(b"content-length: ")[1].split()[0])
            await reader.readexactly(size)
            length = len(head) + size
    writer.close()
    return (time.process_time() - begun) / GETS


if __name__ == "__main__":
    figures.main(measure)
