"""Responses byte for byte: length, date, connection; HEAD, HTTP/1.0, slow and disconnected
clients."""

import asyncio
import gzip
import json
import select
import socket
from email.utils import parsedate_to_datetime

import pytest
import pytest_asyncio
from patience import within

from inkube.apiserver.http import httpresponse

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
BOATS = "/apis/example.com/v1/namespaces/default/boats"
BIG = "x" * 100_000

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def _boats(server):
    for name in ("a", "b"):
        head = {"apiVersion": "example.com/v1", "kind": "Boat"}
        metadata = {"name": name, "namespace": "default"}
        await server.client.create({**head, "metadata": metadata, "spec": {"size": 1}})


@pytest_asyncio.fixture(loop_scope="module")
async def line(server):
    """A connection: its writer and reader."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    yield Line(reader, writer)
    writer.close()


class Line:
    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    def send(self, first, *headers):
        text = "\r\n".join([first, "Host: localhost", *headers])
        self.writer.write(f"{text}\r\n\r\n".encode())

    async def head(self):
        """Return the status line, and the headers with lowercase names."""
        async with within():
            text = await self.reader.readuntil(b"\r\n\r\n")
        first, *rest = text.decode().strip().split("\r\n")
        return first, {k.lower(): v for k, v in (each.split(": ", 1) for each in rest)}

    async def answer(self):
        first, headers = await self.head()
        if headers.get("transfer-encoding") == "chunked":
            return first, headers, b"".join([chunk async for chunk in self.chunks()])
        return first, headers, await self.reader.readexactly(int(headers["content-length"]))

    async def chunks(self):
        while True:
            size = int(await self.reader.readline(), 16)
            chunk = await self.reader.readexactly(size + 2)
            if not size:
                return
            yield chunk[:-2]

    async def is_over(self):
        async with within():
            return await self.reader.read() == b""


async def test_an_answer_has_exactly_five_headers(line):
    line.send(f"GET {BOATS}/a HTTP/1.1")
    first, headers, body = await line.answer()
    assert first == "HTTP/1.1 200 OK"
    assert body.startswith(b'{"apiVersion":"example.com/v1"')
    assert set(headers) == {
        "audit-id", "cache-control", "content-length", "content-type", "date"
    }  # fmt: skip
    assert headers["content-type"] == "application/json"
    assert parsedate_to_datetime(headers["date"]).utcoffset().seconds == 0


async def test_a_refusal_has_its_code_and_reason(line):
    line.send(f"GET {BOATS}/none HTTP/1.1")
    first, _, body = await line.answer()
    assert first == "HTTP/1.1 404 Not Found"
    assert b'"reason":"NotFound"' in body


async def test_head_has_the_length_and_no_body(line):
    line.send(f"GET {BOATS}/a HTTP/1.1")
    _, wanted, _ = await line.answer()
    line.send(f"HEAD {BOATS}/a HTTP/1.1")
    first, headers = await line.head()
    assert first == "HTTP/1.1 200 OK"
    assert headers["content-length"] == wanted["content-length"]
    line.send(f"GET {BOATS}/a HTTP/1.1")
    assert (await line.head())[0] == "HTTP/1.1 200 OK", "it follows the head at once"


async def test_requests_sent_ahead_are_answered_in_order(line):
    for name in ("a", "none", "b"):
        line.send(f"GET {BOATS}/{name} HTTP/1.1")
    found = [await line.answer() for _ in range(3)]
    assert [first.split()[1] for first, *_ in found] == ["200", "404", "200"]
    assert b'"name":"b"' in found[2][2]


async def test_a_request_with_connection_close_ends_the_connection(line):
    line.send(f"GET {BOATS}/a HTTP/1.1", "Connection: close")
    _, headers, _ = await line.answer()
    assert headers["connection"] == "close"
    assert await line.is_over()


async def test_a_request_of_http_1_0_ends_the_connection(line):
    line.send(f"GET {BOATS}/a HTTP/1.0")
    first, headers, _ = await line.answer()
    assert first == "HTTP/1.0 200 OK"
    assert "connection" not in headers
    assert await line.is_over()


async def test_http_1_0_with_keep_alive_keeps_the_connection(line):
    for _ in range(2):
        line.send(f"GET {BOATS}/a HTTP/1.0", "Connection: keep-alive")
        first, headers, _ = await line.answer()
        assert (first, headers["connection"]) == ("HTTP/1.0 200 OK", "keep-alive")


async def test_slow_readers_get_all_of_a_long_list_and_others_may_leave(server, line, config_map):
    for number in range(60):
        await server.client.create(config_map(f"big{number}", text=BIG))
    where = CONFIG_MAPS
    for _ in range(3):
        _, leaver = await asyncio.open_connection("127.0.0.1", server.port)
        leaver.write(f"GET {where} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        leaver.transport.abort()
    line.send(f"GET {where} HTTP/1.1")
    _, _, body = await line.answer()
    assert body.count(BIG.encode()) >= 60
    assert body.endswith(b"]}\n")
    line.send(f"GET {where} HTTP/1.1", "Accept-Encoding: gzip")
    _, headers, packed = await line.answer()
    assert headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed) == body
    line.send(f"HEAD {BOATS} HTTP/1.1")
    assert (await line.head())[0] == "HTTP/1.1 200 OK", "the connection goes on"
    line.send(f"GET {where} HTTP/1.0", "Accept-Encoding: gzip", "Connection: keep-alive")
    _, headers = await line.head()
    assert "content-encoding" not in headers, "there are no chunks in HTTP/1.0"
    assert await line.reader.read() == body


async def test_a_client_that_reads_nothing_is_disconnected(server, config_map, monkeypatch):
    for number in range(12):
        await server.client.create(config_map(f"untaken{number}", text=BIG * 10))
    monkeypatch.setattr(httpresponse, "STALL_SECONDS", 0.05)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        head = f"GET {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\n\r\n"
        connection.sendall(head.encode())
        hung_up = select.poll()
        hung_up.register(connection, 0)  # errors and ends are always reported
        assert await asyncio.to_thread(hung_up.poll, 10_000)


async def test_a_client_that_expects_continue_receives_it(line):
    body = json.dumps({"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "x"}})
    head = ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    line.send(f"POST {BOATS} HTTP/1.1", *head, "Expect: 100-continue")
    assert (await line.head())[0] == "HTTP/1.1 100 Continue"
    line.writer.write(body.encode())
    assert (await line.answer())[0] == "HTTP/1.1 201 Created"


async def test_no_continue_is_sent_for_a_body_that_is_refused_unread(line):
    head = ["Content-Type: application/json", "Content-Length: 10", "Expect: 100-continue"]
    line.send("POST /apis/none.io/v1/things HTTP/1.1", *head)
    first, headers, _ = await line.answer()
    assert (first, headers["connection"]) == ("HTTP/1.1 404 Not Found", "close")


@pytest.mark.parametrize(
    ("first", "header", "expected"),
    [
        ("POST /api/v1/namespaces HTTP/1.1", "Expect: wonders", "417 Expectation Failed"),
        ("GET /version HTTP/2.0", "Accept: */*", "505 HTTP Version Not Supported"),
    ],
)
async def test_unsupported_http_features_are_refused_with_a_reason(line, first, header, expected):
    line.send(first, header)
    got, headers, _ = await line.answer()
    assert (got, headers["connection"]) == (f"HTTP/1.1 {expected}", "close")
    assert await line.is_over()
