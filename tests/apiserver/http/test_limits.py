"""Limits for one client (concurrent requests, time, bytes), which keep others working."""

import asyncio
import contextlib
import gzip
import re

import pytest
from patience import SECONDS

from inkube import APIServer
from inkube.apiserver.http import bodies, guards, metrics, requests

pytestmark = pytest.mark.asyncio(loop_scope="module")
MAPS = "/api/v1/namespaces/default/configmaps"


@contextlib.asynccontextmanager
async def slow_write(server):
    """A POST whose body never arrives."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(
        f"POST {MAPS} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n"
        "Content-Type: application/json\r\n\r\n{".encode()
    )
    try:
        yield reader
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def test_slow_writes_leave_room_for_reads_and_for_each_other(web, server, config_map):
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(guards.MAX_WRITES):
            await stack.enter_async_context(slow_write(server))
        answer = await web.ask("POST", MAPS, config_map("late"))
        while answer.code == 201:  # not every slow write has arrived yet
            answer = await web.ask("POST", MAPS + "?dryRun=All", config_map("later"))
        assert answer.code == 429
        assert answer.headers["Retry-After"] == "1"
        assert answer.json["reason"] == "TooManyRequests"
        assert (await web.ask("GET", MAPS)).code == 200
        assert (await web.ask("GET", "/readyz")).code == 200
    answer = await web.ask("POST", MAPS, config_map("free"))
    while answer.code == 429:
        answer = await web.ask("POST", MAPS, config_map("free"))
    assert answer.code == 201


async def test_watches_are_no_requests_under_way(server, config_map):
    async with APIServer() as other, contextlib.AsyncExitStack() as stack:
        for _ in range(guards.MAX_READS + 1):
            reader, writer = await asyncio.open_connection("127.0.0.1", other.port)
            stack.callback(writer.close)
            writer.write(f"GET {MAPS}?watch=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            assert (await reader.readline()).split()[1] == b"200"


async def test_bodies_over_the_limit_are_refused(web, config_map):
    large = config_map("large", a="x" * bodies.MAX_BODY)
    answer = await web.ask("POST", MAPS, large)
    assert answer.code == 413
    assert answer.json["reason"] == "RequestEntityTooLarge"


async def test_objects_over_the_limit_of_the_store_are_refused(web, boat):
    large = boat("large", any={str(number): "x" * 250_000 for number in range(8)})
    answer = await web.ask("POST", "/apis/example.com/v1/namespaces/default/boats", large)
    assert answer.code == 500
    assert answer.json["message"] == "etcdserver: request is too large"
    large = boat("large", any={str(number): "x" * 250_000 for number in range(9)})
    answer = await web.ask("POST", "/apis/example.com/v1/namespaces/default/boats", large)
    assert answer.code == 500
    why = r"rpc error: code = ResourceExhausted desc = trying to send message larger than max \("
    assert re.match(why + r"225\d{4} vs\. 2097152\)$", answer.json["message"])


async def test_chunked_bodies_are_measured_as_they_come(server):
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(
        f"POST {MAPS} HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    )
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    with contextlib.suppress(ConnectionError):
        for _ in range(bodies.MAX_BODY // 65536 + 2):
            writer.write(chunk)
            await writer.drain()
    assert (await asyncio.wait_for(reader.readline(), SECONDS)).split()[1] == b"413"
    writer.close()


async def test_compressed_bodies_are_not_unpacked(web):
    packed = gzip.compress(b'{"kind": "ConfigMap"}')
    answer = await web.ask("POST", MAPS, packed, Content_Encoding="gzip")
    assert answer.code == 400


@pytest.mark.parametrize(
    ("path", "code"), [("/api?a=" + "x" * 20_000, 200), ("/api?a=" + "x" * 2_000_000, 400)]
)
async def test_addresses_may_be_long_but_not_endless(server, path, code):
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    assert (await asyncio.wait_for(reader.readline(), SECONDS)).split()[1] == str(code).encode()
    writer.close()


async def test_refused_requests_do_not_grow_the_metrics(web):
    async def size():
        return len((await web.ask("GET", "/metrics")).body.splitlines())

    await size()  # some metrics are recorded from now on
    for host in ("127.0.0.1", "evil.example"):
        await web.ask("GET", "/api/v1/secrets/a/b/c", Host=host, Accept="text/html")
    await web.ask("GET", f"{MAPS}/a/b", Accept="text/html")  # creates the default objects
    before = await size()
    for number in range(20):
        for host in ("127.0.0.1", "evil.example"):
            path = f"/apis/g{number}/v1/namespaces/n/r{number}/a/s{number}"
            await web.ask("GET", path, Host=host, Accept="text/html")
        await web.ask("GET", f"{MAPS}/a/s{number}", Accept="text/html")
    assert await size() <= before + 20  # a new code or verb adds its lines


async def test_the_metrics_show_what_caches_hold(web):
    await web.ask("GET", MAPS)
    lines = (await web.ask("GET", "/metrics")).body.decode().splitlines()
    name = 'inkube_cache_entries{cache="schemas.builtin.kinddefinitions.definitions"}'
    [value] = [line.partition(" ")[2] for line in lines if line.startswith(name)]
    assert float(value) >= 1, "one list for each minor that the process serves"


async def test_labels_of_the_metrics_are_no_words_of_the_client(monkeypatch):
    monkeypatch.setattr(metrics, "MAX_SERIES", 3)
    counted = metrics.Metrics()
    for number in range(5):
        counted.count(requests.parse(f"METHOD{number}", "/"), 404, 0.1)
        counted.count(requests.parse("OPTIONS", f"/apis/g{number}/v1/kinds"), 204, 0.1)
        counted.count(requests.parse("GET", f"/apis/g{number}/v1/kinds"), 200, 0.1)
    assert sorted(counted.series) == [
        ("", "", "", "", "", "", ""),
        ("list", "", "", "", "", "", ""),
        ("list", "g0", "v1", "kinds", "", "", "cluster"),
        ("other", "", "", "", "", "", ""),
    ]


@pytest.mark.asyncio(loop_scope="module")
async def test_sixty_thousand_labels_fit(web, config_map):
    body = config_map("labelled")
    body["metadata"]["labels"] = {f"k{number}": "v" for number in range(60_000)}
    answer = await web.ask("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", body)
    assert answer.code == 201, answer.body


@pytest.mark.asyncio(loop_scope="module")
async def test_managed_fields_that_make_an_object_too_large_are_left_out_unless_applied(web, boat):
    path = "/apis/example.com/v1/namespaces/default/boats"
    for number, is_kept in ((20_000, True), (40_000, False)):
        large = boat(f"n{number}", any={f"member-{each}": "x" * 12 for each in range(number)})
        made = await web.ask("POST", path, large)
        assert made.code == 201
        assert ("managedFields" in made.json["metadata"]) is is_kept
        label = {"metadata": {"labels": {"a": "b"}}}
        changed = await web.patch(f"{path}/n{number}?fieldManager=m", label)
        assert changed.json["metadata"]["labels"] == {"a": "b"}
        assert ("managedFields" in changed.json["metadata"]) is is_kept
        applied = await web.patch(f"{path}/n{number}?fieldManager=a", boat(f"n{number}"), "apply")
        assert applied.code == (200 if is_kept else 500)


@pytest.mark.asyncio(loop_scope="module")
async def test_go_types_are_measured_as_their_messages(web, config_map):
    """A line end is one byte of a message, and two of JSON."""
    fits = config_map("lines", a="\n" * 900_000)
    assert (await web.ask("POST", MAPS, fits)).code == 201
