"""Large bodies are processed outside the event loop, in every kind of request.

The work in the loop is measured as the number of function calls on its thread. A body of four times
the size may add only the calls for reading and sending in pieces.
"""

import io
import sys

import bombs
import engines
from aiohttp import ClientSession

from inkube import APIServer

pytestmark = engines.only_fast
SMALL, LARGE = bombs.bombs(0.02), bombs.bombs(0.08)
MORE = 4_000
"""Allowed additional calls: one for each operation of the JSON patch and each port of the
Service."""


async def _send(session, bomb):
    headers = {"Content-Type": bomb.media}
    body = io.BytesIO(bomb.body)
    asked = session.request(bomb.method, bomb.path, data=body, headers=headers)
    async with asked as answer:
        await answer.read()
        return answer.status


async def _calls(session, bomb):
    """Return the number of function calls on this thread until the response."""
    count = 0

    def on_event(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(on_event)
    try:
        code = await _send(session, bomb)
    finally:
        sys.setprofile(None)
    assert code in (200, 201, 400, 413, 422, 500)
    return count


async def test_four_times_the_body_is_no_more_work_for_the_loop():
    async with APIServer() as server, ClientSession(server.url) as session:
        for path, body in bombs.setup():
            assert await _send(session, bombs.Bomb("POST", path, body)) == 201
        more = {}
        for name, small in SMALL.items():
            await _send(session, small)  # imports, which the first request causes
            few, many = await _calls(session, small), await _calls(session, LARGE[name])
            more[name] = many - few
    assert {name: count for name, count in more.items() if count > MORE} == {}, more
