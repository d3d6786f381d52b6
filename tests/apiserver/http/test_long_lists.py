"""Long lists are generated while they are sent: with bounded memory, equal to short ones, and
freed."""

import asyncio
import contextlib
import gc
import gzip
import json
import sys
import tracemalloc

import pytest
import pytest_asyncio
from patience import within

from inkube.apiserver.handlers import packed, stored, tables
from inkube.apiserver.http import responses

pytestmark = pytest.mark.asyncio(loop_scope="module")

MAPS = "/api/v1/namespaces/default/configmaps"
BOATS = "/apis/example.com/v1/namespaces/default/boats"
COUNT, SIZE = 300, 64_000
JSON = "application/json"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
YAML, PROTOBUF = "application/yaml", "application/vnd.kubernetes.protobuf"
# The limit of decoded objects (storage's StoreOptions.decoded), and some pieces in progress.
BOUNDED = 4 * 2**20 + 4 * 2**20


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def _many(server):
    boat = {"apiVersion": "example.com/v1", "kind": "Boat"}
    one = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"text": "x" * SIZE}}
    noted = {"annotations": {"text": "y" * 1_000}}
    for number in range(COUNT):
        metadata = {"name": f"long-{number:03}", "namespace": "default"}
        await server.client.create({**one, "metadata": {**metadata, **noted}})
        metadata = {**metadata, **noted}
        await server.client.create({**boat, "metadata": metadata, "spec": {"size": 1}})
    await server.settled()


@contextlib.asynccontextmanager
async def begun(server, path, accept, *headers):
    """A connection whose response has begun, and its headers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    lines = [f"GET {path} HTTP/1.1", "Host: localhost", f"Accept: {accept}", *headers, "", ""]
    writer.write("\r\n".join(lines).encode())
    try:
        async with within():
            head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        yield reader, writer, head.lower()
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def chunks(reader):
    while size := int(await reader.readline(), 16):
        yield (await reader.readexactly(size + 2))[:-2]
    assert await reader.readline() == b"\r\n"


async def body(server, path, accept, *headers):
    async with begun(server, path, accept, *headers) as (reader, _, head), within():
        if b"transfer-encoding: chunked" in head:
            return b"".join([chunk async for chunk in chunks(reader)])
        length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
        return await reader.readexactly(length)


@pytest.mark.parametrize(
    ("path", "accept", "header"),
    [
        (MAPS, JSON, "X-None: 1"),
        (MAPS, JSON, "Accept-Encoding: gzip"),
        (f"{MAPS}?includeObject=Object", TABLE, "X-None: 1"),
        (f"{MAPS}?pretty=1", JSON, "X-None: 1"),
        (f"{MAPS}?pretty=1&includeObject=Object", TABLE, "X-None: 1"),
        (MAPS, YAML, "X-None: 1"),
        (MAPS, PROTOBUF, "X-None: 1"),
        (MAPS, PROTOBUF, "Accept-Encoding: gzip"),
    ],
)
async def test_a_list_takes_no_memory_for_what_is_sent(server, monkeypatch, path, accept, header):
    if accept == PROTOBUF:  # its cache has a limit of its own
        packed._MADE.clear()
        monkeypatch.setattr(packed._MADE, "most", 2**20)
    async with begun(server, path, accept, header) as (reader, _, head):
        assert b"transfer-encoding: chunked" in head
        gc.collect()
        tracemalloc.start()
        try:
            sent = 0
            async with within():
                async for chunk in chunks(reader):
                    sent += len(chunk)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert "gzip" in header or sent > COUNT * SIZE
    assert peak < BOUNDED < COUNT * SIZE / 2


@pytest.mark.parametrize("path", [MAPS, BOATS])
@pytest.mark.parametrize("media", [JSON, YAML, PROTOBUF])
@pytest.mark.parametrize("form", [JSON, METADATA])
async def test_each_form_has_the_same_bytes_whether_it_is_long_or_not(
    server, monkeypatch, path, media, form
):
    if (path, media, form) == (BOATS, PROTOBUF, JSON):
        pytest.skip("of custom resources messages tell no more than the metadata")
    accept = form.replace(JSON, media)
    path = f"{path}?pretty=1"
    async with begun(server, path, accept) as (_, _, head):
        assert b"transfer-encoding: chunked" in head
        assert f"content-type: {media}\r\n".encode() in head
    streamed = await body(server, path, accept)
    monkeypatch.setattr(responses, "GZIP_FROM", 1 << 40)
    assert await body(server, path, accept) == streamed


@pytest.mark.parametrize("path", [MAPS, BOATS])
@pytest.mark.parametrize("accept", [JSON, METADATA, TABLE])
async def test_a_list_is_the_same_whether_it_is_long_or_not(server, monkeypatch, path, accept):
    path = f"{path}?includeObject=Object" if accept == TABLE else path
    streamed = await body(server, path, accept)
    packed = gzip.decompress(await body(server, path, accept, "Accept-Encoding: gzip"))
    assert packed == streamed or accept == TABLE  # the ages in tables may differ
    monkeypatch.setattr(responses, "GZIP_FROM", 1 << 40)
    whole = await body(server, path, accept)
    if accept != TABLE:
        assert whole == streamed
        return
    told = [json.loads(whole), json.loads(streamed)]
    for table in told:
        assert len(table["rows"]) >= COUNT
        for row in table["rows"]:
            del row["cells"][-1]  # the age
    assert told[0] == told[1]
    assert list(told[0]) == list(told[1])


@pytest.mark.parametrize("accept", [JSON, TABLE, YAML, PROTOBUF])
async def test_a_client_that_disconnects_leaves_no_memory_behind(server, monkeypatch, accept):
    # one from the middle: tables decode from the start, and keep the last decoded objects
    data = server.store.get("/registry/configmaps/default/long-220").data
    packed._MADE.clear()
    monkeypatch.setattr(packed._MADE, "most", 0)
    gc.collect()
    before = sys.getrefcount(data)
    async with begun(server, f"{MAPS}?includeObject=Object", accept) as (_, writer, _):
        assert sys.getrefcount(data) > before, "the list is under way"
        writer.transport.abort()
        async with within():
            while sys.getrefcount(data) > before:  # noqa: ASYNC110 # nobody tells
                await asyncio.sleep(0)


async def test_a_list_is_of_one_moment_whatever_is_written_while_it_is_sent(server):
    key = "/registry/configmaps/default/long-249"
    before = server.store.get(key).value["data"]
    async with begun(server, MAPS, JSON) as (reader, _, _), within():
        last = await server.client.get("v1/configmaps", "long-249", "default")
        last = await server.client.update({**last, "data": {"text": "new"}})
        told = json.loads(b"".join([chunk async for chunk in chunks(reader)]))
    [item] = [item for item in told["items"] if item["metadata"]["name"] == "long-249"]
    assert item["data"] == before
    assert int(item["metadata"]["resourceVersion"]) <= int(told["metadata"]["resourceVersion"])
    await server.client.update({**last, "data": before})


async def test_a_defect_in_the_middle_ends_the_connection_and_not_the_list(
    server, monkeypatch, caplog
):
    made = []

    def row(*arguments):
        made.append(arguments)
        if len(made) == COUNT // 2:
            raise RuntimeError("a defect")
        return original(*arguments)

    original = tables.row
    monkeypatch.setattr(tables, "row", row)
    async with begun(server, f"{MAPS}?includeObject=Object", TABLE) as (reader, _, _):
        with pytest.raises((asyncio.IncompleteReadError, ValueError, ConnectionError)):
            async with within():
                assert [chunk async for chunk in chunks(reader)] == []
    assert "a defect" in caplog.text
    caplog.clear()


async def test_long_lists_are_refused_before_their_first_byte(server, web):
    answer = await web.ask("GET", f"{MAPS}?includeObject=Nothing", Accept=TABLE)
    assert (answer.code, answer.json["kind"]) == (400, "Status")
    answer = await web.ask("GET", MAPS, Accept=METADATA.replace("List", ""))
    assert (answer.code, answer.json["kind"]) == (406, "Status")


async def test_an_empty_list_is_not_long():
    assert not stored.is_long([])
