"""A server is ready only after it has answered a request through its own socket."""

import socket

import aiohttp
import pytest
from aiohttp import web
from lines import answer, needs_faster_loop, serving
from patience import PATIENCE, within

from inkube import APIServer, Options
from inkube.apiserver import workers
from inkube.apiserver.access import security
from inkube.apiserver.http import selfcheck
from inkube.apiserver.http.fast import connections, fallback


@pytest.fixture(autouse=True)
def _no_unhandled_errors():
    """The errors that each test causes. The process forgets what it has checked."""
    selfcheck._ANSWERED.clear()
    yield
    fallback.FALLBACK.is_on = False


async def hello(request):
    return answer("hello")


async def loop_in_version(server):
    async with (
        within(),
        aiohttp.ClientSession() as session,
        session.get(f"{server.url}/version") as response,
    ):
        return (await response.json())["inkube"]["http"]


def number_of_requests(server):
    return server.parts.core.listener.server.requests_count


async def test_only_the_first_server_of_a_process_is_checked():
    async with APIServer() as server:
        assert number_of_requests(server) == 1
    async with APIServer() as server:
        assert number_of_requests(server) == 0


async def test_a_server_with_a_certificate_is_always_checked():
    for _ in range(2):
        async with APIServer(tls=True) as server:
            assert number_of_requests(server) == 1


async def test_a_server_for_other_computers_is_always_checked():
    async with serving(hello) as (port, server):
        for _ in range(2):
            await selfcheck.check(server, selfcheck.internet(("0.0.0.0", port), tls=False))
        assert server.requests_count == 2


@pytest.mark.parametrize("tls", [False, True])
async def test_a_worker_is_checked_through_a_connection_of_its_parent(tls, tmp_path):
    channel, parent = socket.socketpair()
    worker = workers.Worker(
        number=1,
        count=1,
        channel=channel,
        folder=tmp_path,
        address=("127.0.0.1", 6443),
        certificate=security.certificate(Options(tls=tls)),
        admin_token="",
    )
    options = Options(data=tmp_path / "data.db", tls=tls, worker=worker)
    with channel, parent:
        async with APIServer(options) as server:
            assert number_of_requests(server) == 1


@needs_faster_loop
async def test_a_loop_that_raises_is_replaced_before_the_server_is_ready(monkeypatch, caplog):
    def fail(*_):
        raise AttributeError("renamed")

    monkeypatch.setattr(connections.Connection, "_request", fail)
    async with APIServer() as server:
        assert await loop_in_version(server) == "plain"


@needs_faster_loop
async def test_a_silent_loop_is_replaced_before_the_server_is_ready(monkeypatch, caplog):
    monkeypatch.setattr(selfcheck, "SECONDS", 0.5 * PATIENCE)
    monkeypatch.setattr(connections.Connection, "_start_request", lambda *_: None)
    async with APIServer() as server:
        assert await loop_in_version(server) == "plain"
    assert "did not answer: no response within" in caplog.text


async def test_a_server_that_never_answers_does_not_start(monkeypatch):
    def fail(*_):
        raise AttributeError("renamed")

    monkeypatch.setattr(web.RequestHandler, "connection_made", fail)
    with pytest.raises(OSError, match=r"does not answer its own request to 127.0.0.1:\d+: .*aioh"):
        await APIServer().__aenter__()


async def test_a_door_that_cannot_be_reached_is_an_error():
    async with serving(hello) as (_, server):
        closed = socket.create_server(("127.0.0.1", 0))
        address = closed.getsockname()
        closed.close()
        with pytest.raises(OSError, match=rf"127.0.0.1:{address[1]}"):
            await selfcheck.check(server, selfcheck.internet(address, tls=False))


async def test_a_sandbox_without_outgoing_connections_is_no_error(caplog):
    async def connect():
        raise PermissionError("not here")

    async with serving(hello) as (_, server):
        await selfcheck.check(server, selfcheck.Door("somewhere", connect))
    assert "somewhere was not checked: not here" in caplog.text


@pytest.mark.parametrize("loop", [pytest.param("fast", marks=needs_faster_loop), "plain"])
async def test_version_names_the_loop_that_serves_connections(loop):
    async with APIServer(http=loop) as server:
        assert await loop_in_version(server) == loop
