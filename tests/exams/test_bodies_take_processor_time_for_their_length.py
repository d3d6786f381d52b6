"""The most expensive bodies take processor time in proportion to their length, and next to none of
it in the event loop.

Measured by processor time, which other processes of a busy machine do not change. `make exams`
sends every body, at the maximum size.
"""

import asyncio
import time

import aiohttp
import bombs
import loopwork
import pytest
import pytest_asyncio
import served

from inkube import APIServer

pytestmark = pytest.mark.asyncio(loop_scope="module")
PART = 0.5 if served.LONG else 0.1
WHOLE, HALF = bombs.bombs(2 * PART), bombs.bombs(PART)
SHORT = (
    "rules that fit", "members in YAML", "bad labels", "owners", "containers", "ports of a service",
    "apply of variables",
)  # fmt: skip
LONGEST = 0.15
"""Seconds of processor time between two turns of the event loop."""
MOST = 2.5
"""Seconds of processor time for a body of the maximum size."""
RATIO = 3.5
"""The largest factor of the time for twice the length; linear is 2."""
SMALL = 0.05
"""Seconds below which a ratio says nothing."""
TRIES = 3


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server():
    async with APIServer() as server, aiohttp.ClientSession(server.url) as session:
        for path, body in bombs.setup():
            headers = {"Content-Type": "application/json"}
            async with session.post(path, data=body, headers=headers) as answer:
                assert answer.status == 201
        await server.settled()
        yield server


async def cost(server, bomb):
    """Return the longest turn of the event loop, and all other processor time of the process."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    head = (
        f"{bomb.method} {bomb.path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Content-Type: {bomb.media}\r\nContent-Length: {len(bomb.body)}\r\n\r\n"
    )
    try:
        async with loopwork.LoopWork.measured() as work:
            before = time.process_time()
            writer.write(head.encode() + bomb.body)
            code = int((await reader.readline()).split()[1])
            await reader.read()
            spent = time.process_time() - before
    finally:
        writer.close()
    assert code in (200, 201, 400, 413, 422, 500), "500 is etcd's, for what is too large"
    return work.longest, spent - work.total


@pytest.mark.parametrize("name", WHOLE if served.LONG else SHORT)
async def test_a_body_takes_time_for_its_length_outside_the_loop(server, name):
    for _ in range(TRIES):
        longest, half = await cost(server, HALF[name])
        longest_of_whole, whole = await cost(server, WHOLE[name])
        longest = max(longest, longest_of_whole)
        if longest < LONGEST and whole < RATIO * max(half, SMALL):
            break
    if served.LONG:
        size = len(WHOLE[name].body) / 2**20
        print(f"| {name} | {size:.1f} MiB | {whole:.2f} s | {longest * 1000:.0f} ms |")
    assert longest < LONGEST
    assert whole < RATIO * max(half, SMALL)
    assert whole < MOST
