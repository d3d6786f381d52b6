"""A stopped server is freed at once: a run of tests starts thousands in one process.

Objects in reference cycles wait for the garbage collector, which then takes a quarter of the time
of a test with its own server.
"""

import asyncio
import contextlib
import gc
import socket
import ssl
import weakref
from collections.abc import Iterator

import pytest
from patience import within

import inkube

OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}


@pytest.fixture
def no_collection() -> Iterator[None]:
    """The garbage collector does not run."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
async def test_the_large_parts_of_a_stopped_server_are_freed_without_the_collector():
    server = inkube.APIServer()
    async with server:
        await server.client.create(OBJECT)
        core = server.parts.core
        parts = {
            "registry": core.registry,
            "admission": core.registry.chain,
            "kinds": core.resources,
            "controllers": core.manager,
            "informers": core.manager.informers,
            "client": server.client,
            "streams": server.streams,
        }
        alive = {name: weakref.ref(part) for name, part in parts.items()}
        del core, parts
    del server
    assert [name for name, part in alive.items() if part() is not None] == []


async def hello(connection, records, sent):
    """Do a step of a TLS handshake: send what the client has to say."""
    with contextlib.suppress(ssl.SSLWantReadError):
        connection.do_handshake()
    sent.write(records.read())
    await sent.drain()


async def test_a_handshake_that_ends_after_the_stop_reaches_no_server():
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = context.wrap_bio(incoming, outgoing)
    async with inkube.APIServer(tls=True) as server:
        received, sent = await asyncio.open_connection("127.0.0.1", server.port)
        await hello(connection, outgoing, sent)
        incoming.write(await received.read(65536))
    await hello(connection, outgoing, sent)
    connection.write(b"GET /api HTTP/1.1\r\nHost: localhost\r\n\r\n")
    sent.write(outgoing.read())
    with contextlib.suppress(ConnectionResetError):
        async with within(5):
            incoming.write(await received.read())
    incoming.write_eof()
    with pytest.raises(ssl.SSLError):
        connection.read(65536)
    sent.close()


async def test_a_stop_during_the_start_waits_for_it():
    server = inkube.APIServer()
    starting = asyncio.ensure_future(server.__aenter__())
    await asyncio.sleep(0)
    async with within(5):
        await server.stop()
    assert starting.done()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", server.port)
    await starting


async def test_a_second_stop_ends_with_the_first():
    async with inkube.APIServer() as server:
        _, sent = await asyncio.open_connection("127.0.0.1", server.port)
        sent.write(b"POST /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\n")
        sent.write(b"Content-Length: 9\r\n\r\n{")
        await server.client.list("v1/namespaces")
        first = asyncio.ensure_future(server.stop(0.1))
        await asyncio.sleep(0)
        await server.stop()
        assert first.done()
        sent.close()


@pytest.mark.parametrize("turns", range(6))
async def test_a_cancelled_start_leaves_no_open_port(turns, monkeypatch):
    ports = []
    create = socket.create_server

    def noted(*arguments, **settings):
        ports.append(create(*arguments, **settings))
        return ports[-1]

    monkeypatch.setattr(socket, "create_server", noted)
    starting = asyncio.ensure_future(inkube.APIServer().__aenter__())
    for _ in range(turns):
        await asyncio.sleep(0)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    if starting.cancelled():
        assert [each.fileno() for each in ports] == [-1] * len(ports)
    else:
        await starting.result().stop()
