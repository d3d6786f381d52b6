"""An error in a callback of a connection closes it at once, is logged once, and is the last one of
the faster loop: later connections use aiohttp's own. A client never waits for a lost response."""

import asyncio
import logging

import pytest
from aiohttp import web
from aiohttp.base_protocol import BaseProtocol
from lines import GET, answer, connected, needs_faster_loop, serving
from patience import within

from inkube.apiserver.http.fast import connections, fallback, versions

POST_PART = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nbody"
LARGE = 2**24
RAISED = AttributeError("no attribute '_renamed'")


@pytest.fixture(autouse=True)
def _no_unhandled_errors():
    """The errors that each test expects, and what they cause."""
    yield
    fallback.FALLBACK.is_on = False


def fail_once(monkeypatch, owner, name, skipped=0):
    """Let a method raise once, after `skipped` calls."""
    original, calls = getattr(owner, name), iter(range(1000))

    def method(*args, **options):
        if next(calls) == skipped:
            raise RAISED
        return original(*args, **options)

    monkeypatch.setattr(owner, name, method)


async def hello(request):
    return answer("hello")


async def hello_later(request):
    await asyncio.sleep(0)
    return answer("hello")


async def hello_large(request):
    return answer("h" * LARGE)


async def is_closed(reader):
    async with within():
        try:
            while await reader.read(2**16):
                pass
        except ConnectionError:
            return True
        return True


def errors(caplog):
    return [each for each in caplog.records if each.levelno >= logging.ERROR]


CALLBACKS = {
    "connection_made": (web.RequestHandler, "connection_made", hello, GET % 0),
    "data_received": (web.RequestHandler, "data_received", hello, GET % 0),
    "pause_writing": (BaseProtocol, "pause_writing", hello_large, GET % 0),
    "resume_writing": (BaseProtocol, "resume_writing", hello_large, GET % 0),
    "the start of a request": (connections.Connection, "_request", hello, GET % 0),
    "the end of a request": (connections.Connection, "_end_request", hello, GET % 0),
    "the task": (connections.Connection, "_next", hello, POST_PART),
    "the task, at its start": (connections.Connection, "_wait_in_task", hello, GET % 0),
    "the end of a request in the task": (
        connections.Connection, "_end_request", hello, POST_PART + b"parts" + GET % 0 + GET % 1,
    ),
}  # fmt: skip


@needs_faster_loop
@pytest.mark.parametrize("callback", CALLBACKS)
async def test_a_callback_that_raises_ends_its_connection_only(callback, monkeypatch, caplog):
    owner, name, handler, sent = CALLBACKS[callback]
    fail_once(monkeypatch, owner, name)
    async with serving(handler) as (port, server):
        async with connected(port) as line:
            line.writer.write(sent)
            assert await is_closed(line.reader)
        assert [each.exc_info[1] for each in errors(caplog)] == [RAISED]
        assert server.connection_loop == "plain"
        async with connected(port) as line:
            assert (await line.ask())[0] == 200
            (connection,) = server.connections
            assert not isinstance(connection, connections.Connection)
    assert len(errors(caplog)) == 1


@needs_faster_loop
async def test_a_request_that_cannot_continue_is_cancelled(monkeypatch, caplog):
    ended = asyncio.Event()

    async def handler(request):
        try:
            await asyncio.sleep(0)
            await asyncio.Event().wait()
        finally:
            ended.set()

    fail_once(monkeypatch, connections.Connection, "_run", skipped=1)
    async with serving(handler) as (port, _), connected(port) as line:
        line.writer.write(GET % 0)
        assert await is_closed(line.reader)
        async with within():
            await ended.wait()
    assert [each.exc_info[1] for each in errors(caplog)] == [RAISED]


@needs_faster_loop
async def test_the_end_of_an_idle_connection_is_a_callback_as_well(monkeypatch, caplog):
    fail_once(monkeypatch, web.RequestHandler, "_process_keepalive")
    async with serving(hello) as (port, server):
        server.settings["keepalive_timeout"] = 0.01
        async with connected(port) as line:
            assert (await line.ask())[0] == 200
            assert await line.is_over()
        assert server.connection_loop == "plain"
    assert [each.exc_info[1] for each in errors(caplog)] == [RAISED]


@needs_faster_loop
@pytest.mark.parametrize("name", ["eof_received", "connection_lost"])
async def test_the_end_of_a_client_may_fail_too(name, monkeypatch, caplog):
    fail_once(monkeypatch, web.RequestHandler, name)
    async with serving(hello) as (port, server):
        async with connected(port) as line:
            assert (await line.ask())[0] == 200
        async with within():
            while server.connection_loop == "fast":  # noqa: ASYNC110 # the loop has no event for it
                await asyncio.sleep(0)
        async with connected(port) as line:
            assert (await line.ask())[0] == 200
    assert [each.exc_info[1] for each in errors(caplog)] == [RAISED]


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (web.RequestHandler, "connection_made"),
        (web.RequestHandler, "data_received"),
        (web.RequestHandler, "start"),
    ],
)
async def test_a_connection_of_aiohttps_own_loop_ends_as_well(owner, name, monkeypatch, caplog):
    monkeypatch.setattr(versions, "TESTED", frozenset())
    fail_once(monkeypatch, owner, name)
    async with serving(hello) as (port, _):
        async with connected(port) as line:
            line.writer.write(GET % 0)
            assert await is_closed(line.reader)
        async with connected(port) as line:
            assert (await line.ask())[0] == 200
    assert [each.exc_info[1] for each in errors(caplog)] == [RAISED]


@pytest.mark.parametrize("loop", [pytest.param("fast", marks=needs_faster_loop), "plain"])
async def test_bytes_of_a_client_never_change_the_loop(loop, monkeypatch, caplog):
    if loop == "plain":
        monkeypatch.setattr(versions, "TESTED", frozenset())
    async with serving(hello) as (port, server):
        async with connected(port) as line:
            line.writer.write(b"GET http://[/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert await is_closed(line.reader)
        assert server.connection_loop == loop
    assert errors(caplog) == []


@needs_faster_loop
async def test_an_error_of_a_handler_is_a_response(caplog):
    async def handler(request):
        raise RAISED

    async with serving(handler) as (port, server), connected(port) as line:
        assert (await line.ask())[0] == 500
        assert server.connection_loop == "fast"
    assert errors(caplog) == []
