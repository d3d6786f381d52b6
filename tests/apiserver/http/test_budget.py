"""The data buffered for slow clients is limited, for all of them together."""

import asyncio
import contextlib
import socket

import pytest
from lines import GET, answer, connected, serving
from patience import until, within

from inkube import APIServer
from inkube.apiserver.http.budget import Budget

MAPS = "/api/v1/namespaces/default/configmaps"


class Reader:
    """A client with this number of buffered bytes."""

    def __init__(self, unread):
        self.unread = unread
        self.is_cut_off = False

    def disconnect(self):
        self.is_cut_off = True
        self.unread = 0


def waiting(budget, *sizes):
    readers = [Reader(size) for size in sizes]
    for reader in readers:
        budget.add(reader)
    return readers


def test_the_client_that_read_nothing_for_longest_is_disconnected():
    budget = Budget(1_000)
    readers = waiting(budget, 400, 400, 400, 400)
    assert [reader.is_cut_off for reader in readers] == [True, True, False, False]
    assert budget.unsent == 800


def test_a_client_that_reads_stays_connected():
    budget = Budget(1_000)
    reads, sleeps = waiting(budget, 500, 400)
    reads.unread = 300
    (new,) = waiting(budget, 500)
    assert (reads.is_cut_off, sleeps.is_cut_off, new.is_cut_off) == (False, True, False)
    assert budget.unsent == 800


def test_a_slow_reader_is_disconnected_if_memory_is_still_over_the_limit():
    budget = Budget(1_000)
    first, second = waiting(budget, 500, 500)
    first.unread = second.unread = 499
    (new,) = waiting(budget, 400)
    assert (first.is_cut_off, second.is_cut_off, new.is_cut_off) == (True, False, False)


def test_a_single_response_larger_than_the_limit_is_sent():
    budget = Budget(1_000)
    (large,) = waiting(budget, 5_000)
    assert not large.is_cut_off
    budget.remove(large)
    budget.remove(large)
    assert budget.unsent == 0


def test_a_client_that_continues_to_read_is_not_counted():
    budget = Budget(1_000)
    first, second = waiting(budget, 600, 300)
    budget.remove(first)
    (third,) = waiting(budget, 600)
    assert budget.unsent == 900
    assert not any(reader.is_cut_off for reader in (second, third))


@pytest.fixture
async def full_server(config_map):
    async with APIServer() as server:
        for number in range(20):
            await server.client.create(config_map(f"c{number}", text="x" * 200_000))
        yield server


async def begun(server, path):
    """Return a client that reads the first byte of a response and then stops reading."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(connection, ("127.0.0.1", server.port))
    await loop.sock_sendall(connection, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert await loop.sock_recv(connection, 1)
    return connection


async def is_reset(connection):
    loop = asyncio.get_running_loop()
    try:
        while await loop.sock_recv(connection, 2**16):
            pass
    except ConnectionResetError:
        return True
    return False


@pytest.mark.parametrize("query", ["", "?pretty=1", "?watch=1"])
async def test_clients_that_do_not_read_are_cut_off_and_others_are_answered(full_server, query):
    server = full_server
    server.parts.core.listener.budget._limit = 1_000_000
    with contextlib.ExitStack() as stack:
        sleeping = [stack.enter_context(await begun(server, f"{MAPS}{query}")) for _ in range(30)]
        async with within():
            await until(lambda: server.parts.core.listener.budget.unsent)
            assert await is_reset(sleeping[0])
            async with connected(server.port) as line:
                line.writer.write(f"GET {MAPS} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
                answer = await line.reader.read()
        assert len(answer) > 20 * 200_000
        assert server.parts.core.listener.budget.unsent <= 1_000_000


async def test_a_connection_that_is_closed_counts_no_more(full_server):
    server = full_server
    for connection in [await begun(server, MAPS) for _ in range(5)]:
        connection.close()
    await until(lambda: not server.parts.core.listener.budget.unsent)


async def test_short_answers_that_nobody_reads_wait_for_their_reader():
    async def handler(request):
        return answer("x" * 60_000)

    budget = Budget()
    async with serving(handler, budget=budget) as (port, _), connected(port) as line:
        transport = line.writer.transport
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        for number in range(200):
            line.writer.write(GET % number)
        await until(lambda: budget.unsent)
        assert budget.unsent <= 3 * 64 * 1024
        transport.resume_reading()
        for _ in range(200):
            assert (await line.answered())[1] == "x" * 60_000
