"""The end of forwarded requests: by a limit, and by the stop of this or of the other server."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest
from aggregated import GROUP, NAME, PREFIX
from aiohttp import web
from patience import within

from inkube import APIServer
from inkube.apiserver.aggregation.upstreams import Upstream
from inkube.apiserver.streaming import UnreachableError, proxying
from inkube.schemas.aggregation import Registration

LONG = 3600.0
"""Seconds that a stop may take: more than a test may."""


class Slow:
    """A server in this process. Its requests begin, and end when `go` is set; a watch never
    does."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path != f"{PREFIX}/things":
            return web.json_response({}, status=404)
        self.begun.set()
        if not request.query.get("watch"):
            await self.go.wait()
            return web.Response(text="slow")
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"event\n")
        await asyncio.Event().wait()
        return response


async def refuses(port: int) -> None:
    """Return when nothing listens to the port any more."""
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionError:
            return
        writer.close()
        await asyncio.sleep(0)


async def test_forwarded_watches_end_at_once() -> None:
    async with aiohttp.ClientSession() as session, within():
        async with APIServer(aggregated={NAME: Slow()}) as server:
            watch = await session.get(f"{server.url}{PREFIX}/things?watch=1")
            assert await watch.content.readline() == b"event\n"
            await server.stop(LONG)
        assert await watch.content.read() == b""


async def test_other_forwarded_requests_are_answered() -> None:
    slow = Slow()
    async with (
        within(),
        aiohttp.ClientSession() as session,
        APIServer(aggregated={NAME: slow}) as server,
    ):
        asked = asyncio.ensure_future(session.get(f"{server.url}{PREFIX}/things"))
        await slow.begun.wait()
        stopping = asyncio.ensure_future(server.stop(LONG))
        await refuses(server.port)
        slow.go.set()
        answer = await asked
        assert (answer.status, await answer.text()) == (200, "slow")
        await stopping


async def test_a_stop_that_is_cancelled_waits_for_no_request() -> None:
    slow = Slow()
    async with (
        within(),
        aiohttp.ClientSession() as session,
        APIServer(aggregated={NAME: slow}) as server,
    ):
        asked = asyncio.ensure_future(session.post(f"{server.url}{PREFIX}/things"))
        await slow.begun.wait()
        stopping = asyncio.ensure_future(server.stop(LONG))
        await refuses(server.port)
        stopping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopping
        with pytest.raises(aiohttp.ClientConnectionError):
            await asked


async def test_a_forwarded_request_that_takes_too_long_is_504(monkeypatch: Any) -> None:
    monkeypatch.setattr(proxying, "REQUEST_SECONDS", 0.01)
    async with (
        aiohttp.ClientSession() as session,
        APIServer(aggregated={NAME: Slow()}) as server,
        session.get(f"{server.url}{PREFIX}/things") as answer,
    ):
        assert (answer.status, json.loads(await answer.read())["reason"]) == (504, "Timeout")


async def test_nothing_is_sent_to_a_server_that_is_gone() -> None:
    unused: Any = None
    spec = {"group": GROUP, "version": "v1", "service": {"namespace": "a", "name": "b"}}
    registration = Registration.of({"metadata": {"name": NAME}, "spec": spec})
    upstream = Upstream(registration, unused, unused, path="/tmp/unused")
    assert upstream.base()
    await upstream.close()
    with pytest.raises(UnreachableError):
        upstream.base()
