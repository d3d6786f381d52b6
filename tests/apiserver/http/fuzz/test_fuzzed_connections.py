"""Random bytes on a socket, almost HTTP or not: the server responds or closes, and keeps running.

`INKUBE_FUZZ=20000 pytest …` runs longer; `INKUBE_FUZZ_SEED` repeats a run.
"""

import asyncio
import os
import random

import pytest

ROUNDS = int(os.environ.get("INKUBE_FUZZ", "400"))
pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300 + ROUNDS / 10)]
SEED = int(os.environ.get("INKUBE_FUZZ_SEED", "1"))
PATIENCE = 0.05  # most damaged requests get no response

BODY = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"raw"}}'
MAPS = b"/api/v1/namespaces/default/configmaps"
WATCHES = [
    b"?watch=1&timeoutSeconds=1", b"?watch=true&resourceVersion=1&timeoutSeconds=1",
    b"?watch=1&allowWatchBookmarks=true&timeoutSeconds=1", b"?watch=1&timeoutSeconds=-1",
    b"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1",
]  # fmt: skip
PATHS = [
    b"/", b"*", b"", b"//", b"/api", b"/apis", b"/api/v1", b"/readyz", b"/version", b"/metrics",
    b"/openapi/v2", b"/openapi/v3", b"/openapi/v3/api/v1", b"/apis/example.com/v1", MAPS,
    MAPS + b"/raw", MAPS + b"/raw/status", MAPS + b"/raw/scale", MAPS + b"/%00", MAPS + b"/%ff",
    MAPS + b"/%2e%2e", MAPS + b"/../../../..", b"/api/v1/%6eamespaces", MAPS + b"/%", MAPS + b"/%z",
    b"/api/v1/watch/namespaces/default/configmaps?timeoutSeconds=1", b"/api/v1/proxy/pods",
    b"/api/v1/namespaces/default/pods/x/log", b"/api/v1/namespaces/a/b/c/d/e/f/g/h",
    b"http://127.0.0.1/api", b"http://[::1", b"http://evil.example/api", b"/" + b"a/" * 500,
    b"/\xff\xfe", b"/" + b"x" * 9000, b"/api?" + b"a=1&" * 1500, b"/?\x00", b"/#", b"/;a=b",
    *(MAPS + watch for watch in WATCHES),
]  # fmt: skip
METHODS = [
    b"GET", b"GET", b"GET", b"POST", b"PUT", b"PATCH", b"DELETE", b"HEAD", b"OPTIONS", b"TRACE",
    b"CONNECT", b"PROPFIND", b"get", b"FOO", b"", b"G\x00T", b"GET" * 200,
]  # fmt: skip
HEADERS = [
    b"Host: 127.0.0.1", b"Host: evil.example", b"Host:", b"Host: [::1", b"Host: \xff", b"Host: a b",
    b"Accept: */*", b"Accept: application/json;as=Table;g=meta.k8s.io;v=v1", b"Accept: \xff\xfe",
    b"Accept: " + b"a/b;q=1," * 400, b"Accept: application/yaml;q=nan", b"Accept: a;q=1e999",
    b"Accept-Encoding: gzip", b"Accept-Encoding: \xff", b"Content-Type: application/json",
    b"Content-Type: application/apply-patch+yaml", b"Content-Type: multipart/form-data",
    b"Content-Type: \xff\x80", b"Content-Encoding: gzip", b"Content-Encoding: br",
    b"Content-Length: 5", b"Content-Length: -1", b"Content-Length: 99999999999999999999",
    b"Content-Length: a", b"Content-Length: 5\r\nContent-Length: 6", b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: gzip, chunked", b"Transfer-Encoding: \x00", b"Connection: upgrade",
    b"Upgrade: websocket", b"Upgrade: h2c", b"Expect: 100-continue", b"Expect: 200-ok",
    b"Range: bytes=0-1", b"Authorization: Bearer \xff", b"Authorization: Basic \x00",
    b"Authorization: Bearer " + b"x" * 7000, b"Impersonate-User: \xff", b"Impersonate-User: a",
    b"User-Agent: \xff\xfe/1", b"User-Agent: " + b"u" * 8100, b"Cookie: a=b; c",
    b"X: " + b"x" * 9000,
    b"Origin: null", b"Origin: http://evil.example", b": no name", b"no colon", b"X:\x00",
    b"X\x00: a", b" folded: a", b"If-None-Match: *",
    b"If-Modified-Since: x", b"X-Forwarded-For: \xe2\x28\xa1",
]  # fmt: skip


def request(rng):
    """Return a complete and mostly valid request."""
    method = rng.choice(METHODS[:8] if rng.random() < 0.8 else METHODS)
    path = rng.choice(PATHS)
    version = b"HTTP/1.1" if rng.random() < 0.9 else rng.choice([b"HTTP/1.0", b"HTTP/2", b"", b"X"])
    headers = rng.choices(HEADERS, k=rng.choice([0, 0, 1, 2, 3]))
    if rng.random() < 0.95 and not any(header.startswith(b"Host") for header in headers):
        headers.append(b"Host: 127.0.0.1")
    body = b""
    if method in (b"POST", b"PUT", b"PATCH", b"DELETE"):
        body = BODY
        chosen = rng.random()
        if chosen < 0.6:
            headers.append(b"Content-Length: %d" % len(body))
        elif chosen < 0.9:
            headers.append(b"Transfer-Encoding: chunked")
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    head = b" ".join([method, path, version])
    return b"\r\n".join([head, *headers, b"", b""]) + body


def damage(rng, data):
    """Return the request as a broken client sends it."""
    data = bytearray(data)
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(data) + 1)
        action = rng.randrange(6)
        if action == 0:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif action == 1:
            del data[at : at + rng.randrange(20)]
        elif action == 2:
            data[at:at] = rng.choice(
                [b"\r\n", b"\n", b"\r", b"\x00", b" ", b"%", b":", b"\xff" * 3]
            )
        elif action == 3:
            data[at:at] = data[at : at + rng.randrange(200)]
        elif action == 4 and rng.random() < 0.3:
            del data[at:]
        elif action == 5 and rng.random() < 0.1:
            data[at:at] = rng.randbytes(rng.randrange(2000))
    return bytes(data)


def stream(rng):
    """Return the bytes of one connection: one or several requests, or noise."""
    if rng.random() < 0.03:
        return rng.randbytes(rng.randrange(1, 3000))
    parts = [request(rng) for _ in range(rng.choice([1, 1, 1, 2, 5]))]
    whole = b"".join(parts)
    return damage(rng, whole) if rng.random() < 0.5 else whole


async def send(server, data, rng, *, patience):
    """Send bytes, then disconnect or wait for the response; return the received bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(data)
        if rng.random() < 0.1:
            return b""  # disconnected before the response
        return await asyncio.wait_for(reader.read(65536), patience)
    except (ConnectionError, TimeoutError):
        return b""
    finally:
        writer.close()


async def test_any_bytes_leave_the_server_running(server, web, memory):
    rng = random.Random(SEED)
    for number in range(ROUNDS):
        if memory.due(number):
            memory.begin()
        data = stream(rng)
        answer = await send(server, data, rng, patience=PATIENCE)
        assert b"see the log" not in answer, (number, data, answer)
        assert answer == b"" or answer.startswith((b"HTTP/1.", b"HTTP/")), (number, data, answer)
    assert (await web.ask("GET", "/readyz")).body == b"ok"
    memory.check()


@pytest.fixture(scope="module")
def server(apart):
    return apart
