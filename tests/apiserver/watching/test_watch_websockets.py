"""Watches over WebSocket: the same events as over HTTP, as messages, with authorization."""

import asyncio
import base64
import contextlib
import json

import aiohttp
import pytest
from kubernetes.client import Configuration
from kubernetes.stream import ws_client
from patience import within

from inkube import APIServer

MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PROTOBUF = "application/vnd.kubernetes.protobuf"
INITIAL = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
BEARER = "base64url.bearer.authorization.k8s.io."


def bearer(token):
    return BEARER + base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")


@pytest.fixture
async def connect(server, session):
    """`connect(query, protocols)`: open a watch over WebSocket, closed after the test."""
    async with contextlib.AsyncExitStack() as stack:

        async def connect(query="", protocols=(), **headers):
            headers.setdefault("Origin", server.url)
            return await stack.enter_async_context(
                session.ws_connect(
                    f"{MAPS}?watch=1{query}", protocols=protocols, headers=headers, max_msg_size=0
                )
            )

        yield connect


async def told(socket, count):
    """Return the next messages."""
    async with within():
        return [(await socket.receive()).data for _ in range(count)]


async def names(socket, count):
    return [json.loads(text)["object"]["metadata"]["name"] for text in await told(socket, count)]


@pytest.mark.parametrize("accept", ["application/json", TABLE, PARTIAL])
@pytest.mark.parametrize("query", ["", "&labelSelector=app%3Da", INITIAL])
async def test_a_conversation_is_that_of_http(server, session, connect, config_map, accept, query):
    labelled = config_map("there")
    labelled["metadata"]["labels"] = {"app": "a"}
    await server.client.create(labelled)
    stream = await session.get(f"{MAPS}?watch=1{query}", headers={"Accept": accept})
    socket = await connect(query, Accept=accept)
    for number in range(3):
        created = config_map(f"c{number}")
        created["metadata"]["labels"] = {"app": "a"}
        await server.client.create(created)
    created["metadata"]["labels"] = {"app": "b"}
    await server.client.update(created)
    await server.client.delete("v1/configmaps", "there", "default")
    count = 6 if "labelSelector" in query else 7 if "Bookmarks" in query else 6
    lines = [(await stream.content.readline()).decode() for _ in range(count)]
    assert await told(socket, count) == lines
    stream.close()


async def test_protobuf_events_are_binary_messages(server, session, connect, config_map):
    stream = await session.get(f"{MAPS}?watch=1", headers={"Accept": PROTOBUF})
    socket = await connect(Accept=PROTOBUF)
    await server.client.create(config_map("a"))
    await server.client.create(config_map("b"))
    for message in await told(socket, 2):
        size = int.from_bytes(await stream.content.readexactly(4), "big")
        assert message == await stream.content.readexactly(size)
    stream.close()


@pytest.mark.parametrize("size", [10, 200, 70_000])
async def test_messages_of_every_length_arrive(server, connect, config_map, size):
    socket = await connect()
    await server.client.create(config_map("a", text="x" * size))
    [text] = await told(socket, 1)
    assert json.loads(text)["object"]["data"]["text"] == "x" * size


@pytest.mark.parametrize("protocols", [[], ["base64.binary.k8s.io"], ["anything.example"]])
async def test_one_subprotocol_is_returned_and_events_stay_text(
    server, connect, config_map, protocols
):
    socket = await connect(protocols=protocols)
    assert socket.protocol == (protocols[0] if protocols else None)
    await server.client.create(config_map("a"))
    assert await names(socket, 1) == ["a"]


@pytest.mark.parametrize(
    ("protocols", "origin", "code"),
    [
        (["a.example", "b.example"], "http://localhost", 400),
        ([], "", 403),
        ([], "null", 403),
        ([], "https://elsewhere.example", 403),
        ([], "http://localhost.elsewhere.example", 403),
        ([bearer("x")], "http://localhost", 401),
        ([BEARER + "!", "a.example"], "http://localhost", 401),
        ([bearer("x"), bearer("x"), "a.example"], "http://localhost", 401),
    ],
)
async def test_handshakes_that_cannot_be_are_refused(connect, protocols, origin, code):
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await connect(protocols=protocols, Origin=origin)
    assert refused.value.status == code


async def test_a_watch_without_an_upgrade_is_a_stream_over_http(session):
    headers = {"Upgrade": "websocket", "Connection": "keep-alive"}
    async with session.get(f"{MAPS}?watch=1&timeoutSeconds=1", headers=headers) as answer:
        assert answer.status == 200


async def test_a_browser_sends_its_token_as_a_subprotocol(tmp_path):
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('secret,me,1,"system:masters"\nother,nobody,2\n')
    options = {"token_auth_file": tokens, "authorization_mode": "RBAC"}
    async with APIServer(**options) as server, aiohttp.ClientSession(server.url) as session:
        common = "base64.binary.k8s.io"
        page = {"Origin": "https://page.example"}  # a token counts more than the origin of a page

        async def connect(*protocols):
            return await session.ws_connect(f"{MAPS}?watch=1", protocols=protocols, headers=page)

        async with await connect(common, bearer("secret")) as socket:
            assert socket.protocol == common
        for protocols, code in [
            ([common, bearer("wrong")], 401),
            ([common, bearer("other")], 403),
            ([common], 403),
        ]:
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await connect(*protocols)
            assert refused.value.status == code


async def test_what_is_refused_before_the_upgrade_is_a_status(session, server):
    headers = {"Origin": server.url}
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await session.ws_connect("/api/v1/unicorns?watch=1", headers=headers)
    assert refused.value.status == 404
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await session.ws_connect(f"{MAPS}?watch=1&labelSelector=((", headers=headers)
    assert refused.value.status == 400


async def test_a_version_that_is_too_old_is_an_error_and_closes_the_socket(connect):
    socket = await connect("&resourceVersion=1")
    [text] = await told(socket, 1)
    assert json.loads(text)["object"]["code"] == 410
    assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
    assert socket.close_code == 1000


async def test_a_websocket_is_closed_after_its_timeout(connect):
    socket = await connect("&timeoutSeconds=1")
    async with within():
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
    assert socket.close_code == 1000


async def test_messages_of_the_client_are_ignored(server, connect, config_map):
    socket = await connect()
    await socket.send_str("hello")
    await socket.ping()
    await server.client.create(config_map("a"))
    assert await names(socket, 1) == ["a"]


async def test_a_client_that_closes_is_forgotten(server, connect):
    sockets = [await connect() for _ in range(5)]
    assert server.streams.count == 5
    for socket in sockets:
        await socket.close()
        assert socket.close_code == 1000
    assert server.streams.count == 0


async def test_a_stopping_server_closes_its_sockets(server, connect):
    sockets = [await connect() for _ in range(5)]
    readers = [asyncio.create_task(socket.receive()) for socket in sockets]
    await server.stop()
    for reader in readers:
        assert (await reader).type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)


async def test_a_reader_that_sleeps_harms_nobody_and_misses_nothing(server, connect, config_map):
    quick, slow = await connect(), await connect()
    reading = asyncio.create_task(names(quick, 60))
    for number in range(60):
        await server.client.create(config_map(f"big{number}", text="x" * 200_000))
    wanted = [f"big{number}" for number in range(60)]
    assert await reading == wanted
    assert await names(slow, 60) == wanted


async def test_the_sockets_of_the_kubernetes_library_watch(server, config_map):
    configuration = Configuration(host=server.url)
    url = ws_client.get_websocket_url(f"{server.url}{MAPS}?watch=1", None)
    socket = await asyncio.to_thread(
        ws_client.create_websocket, configuration, url, {"sec-websocket-protocol": "x.example"}
    )
    await server.client.create(config_map("a"))
    text = await asyncio.to_thread(socket.recv)
    assert json.loads(text)["object"]["metadata"]["name"] == "a"
    await asyncio.to_thread(socket.close)
