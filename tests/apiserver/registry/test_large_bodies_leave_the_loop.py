"""What a large body costs is paid beside the event loop, whatever it asks for.

The loop's own share is counted in calls of functions on its thread: four times the body must not
make it call more than what reading and answering in pieces takes.
"""

import io
import sys

import bombs
from aiohttp import ClientSession

from inkube import APIServer

SMALL, LARGE = bombs.bombs(0.02), bombs.bombs(0.08)
MORE = 4_000
"""Calls: the operations of a JSON patch and the ports of a Service are looked through, one call for
each."""


async def _send(session, bomb):
    headers = {"Content-Type": bomb.media}
    body = io.BytesIO(bomb.body)
    asked = session.request(bomb.method, bomb.path, data=body, headers=headers)
    async with asked as answer:
        await answer.read()
        return answer.status


async def _calls(session, bomb):
    """How many functions this thread calls until the answer is there."""
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
            await _send(session, small)  # what is imported once is no body's cost
            few, many = await _calls(session, small), await _calls(session, LARGE[name])
            more[name] = many - few
    assert {name: count for name, count in more.items() if count > MORE} == {}, more
