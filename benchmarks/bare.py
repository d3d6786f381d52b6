"""The minimal aiohttp handler for comparisons: `python -m benchmarks.bare FILE`.

aiohttp's low-level server on uvloop without a router. It reads the body and responds with the bytes
of FILE.
"""

import asyncio
import sys
from pathlib import Path

import uvloop
from aiohttp import web

HEADERS = {"Content-Type": "application/json"}


async def serve(answer: bytes) -> None:
    """Print the address and serve until terminated."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        created = 201 if request.method == "POST" else 200
        await request.read()
        return web.Response(body=answer, status=created, headers=HEADERS)

    runner = web.ServerRunner(web.Server(handle, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(Path(sys.argv[1]).read_bytes()))
