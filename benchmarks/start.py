"""How long until a server answers, and what it takes of memory.

A cold start is a fresh interpreter that imports inkube, starts a server in its own loop and asks
it for /readyz; the interpreter's own start is not counted, modules are compiled as after any
installation. It is set beside the same with nothing but a bare aiohttp server, which is the floor.
The best of some rounds counts: other work on the machine disturbed it least.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import closing

from benchmarks import figures, servers
from benchmarks.figures import Figure
from benchmarks.servers import Request

ROUNDS = 5
_ASK = """
async def ready(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /readyz HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n")
    assert b" 200 " in await reader.readline()
    writer.close()
"""
_INKUBE = (
    """
import json, time
wall, processor = time.perf_counter(), time.process_time()
import asyncio
import inkube
"""
    + _ASK
    + """
async def main():
    async with inkube.APIServer() as server:
        await ready(server.port)
        cold = time.perf_counter() - wall, time.process_time() - processor
        before = time.perf_counter()
        async with inkube.APIServer() as other:
            await ready(other.port)
            print(json.dumps([*cold, time.perf_counter() - before]))
asyncio.run(main())
"""
)
_BARE = (
    """
import json, time
wall, processor = time.perf_counter(), time.process_time()
import asyncio
from aiohttp import web
"""
    + _ASK
    + """
async def handle(request):
    return web.Response(text="ok")
async def main():
    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    await ready(runner.addresses[0][1])
    print(json.dumps([time.perf_counter() - wall, time.process_time() - processor]))
    await runner.cleanup()
asyncio.run(main())
"""
)


def measure() -> Iterable[Figure]:
    """Cold start, a further server, memory of `inkube serve`."""
    ours, floors = [], []
    with tempfile.TemporaryDirectory() as bytecode:
        _milliseconds(_INKUBE, bytecode)  # compiles
        for _ in range(ROUNDS):
            ours.append(_milliseconds(_INKUBE, bytecode))
            floors.append(_milliseconds(_BARE, bytecode))
    wall, processor, further = map(min, zip(*ours, strict=True))
    bare, bare_processor = map(min, zip(*floors, strict=True))
    yield Figure(
        "import inkube to /readyz, cold",
        wall,
        "ms",
        at_most=300,
        note=f"CPU {processor:.0f} ms; bare aiohttp: {bare:.0f} ms, CPU {bare_processor:.0f} ms",
    )
    yield Figure("a further server in the process", further, "ms", at_most=20)
    with servers.inkube() as server, closing(server.connect()) as connection:
        servers.ask(connection, Request("GET", "/api/v1/namespaces"))
        time.sleep(0.3)
        yield Figure("memory of `inkube serve` after start", server.mib, "MiB", at_most=80)


def _milliseconds(program: str, bytecode: str) -> list[float]:
    """What a program prints. Bytecode goes where nobody else's settings keep it from being used."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=30, env=environment
    )
    return [seconds * 1000 for seconds in json.loads(done.stdout)]


if __name__ == "__main__":
    figures.main(measure)
