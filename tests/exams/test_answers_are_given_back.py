"""Memory of responses is freed when clients request much and disconnect."""

import contextlib
import socket

import pytest
import served

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
COUNT = 400 if served.LONG else 120
GROWTH = 60  # MiB


@pytest.fixture
def full_server(serve):
    """A server whose list of ConfigMaps has 7 MB."""
    with serve("--in-memory") as server, contextlib.closing(server.connect()) as connection:
        for number in range(70):
            head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number}"}}
            body = {**head, "data": {"text": "x" * 100_000}}
            assert served.ask(connection, "POST", CONFIG_MAPS, body).code == 201
        served.ask(connection, "GET", CONFIG_MAPS)
        yield server


def begin(server, *headers):
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", server.port))
    text = "\r\n".join([f"GET {CONFIG_MAPS} HTTP/1.1", "Host: localhost", *headers, "", ""])
    connection.sendall(text.encode())
    return connection


def started(connection):
    """Wait until the response has begun."""
    assert connection.recv(1)
    return connection


@pytest.mark.parametrize("header", ["Accept: application/json", "Accept-Encoding: gzip"])
def test_abandoned_answers_are_freed(full_server, header):
    before = full_server.resident
    for _ in range(COUNT):
        started(begin(full_server, header)).close()
    assert full_server.ask("GET", "/readyz").code == 200
    assert full_server.resident - before <= GROWTH


def test_answers_that_nobody_reads_wait_in_a_bounded_buffer(full_server):
    before = full_server.resident
    with contextlib.ExitStack() as stack:
        for connection in [begin(full_server) for _ in range(COUNT)]:
            stack.enter_context(started(connection))
        assert full_server.ask("GET", "/readyz").code == 200
        assert full_server.resident - before <= GROWTH * COUNT / 120
