"""Many watches over one connection, as a WebSocket or as Server-Sent Events.

Messages open and close watches, and each watch gets the same events as over HTTP.
"""

import asyncio
import base64
import contextlib
import json
from typing import Any

import aiohttp
import pytest
from patience import until as until_true
from patience import within

from inkube import APIServer
from inkube.apiserver.watching import shared as shared_streams

SHARED = "/inkube/v1/watch"
MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


class Socket:
    """A shared stream over a WebSocket."""

    def __init__(self, socket):
        self._socket = socket

    @classmethod
    @contextlib.asynccontextmanager
    async def opened(cls, session, query="", **headers):
        headers.setdefault("Origin", str(session._base_url.origin()))
        address = f"{SHARED}?{query}" if query else SHARED
        async with session.ws_connect(address, headers=headers, max_msg_size=0) as socket:
            stream = cls(socket)
            assert list(await stream.read()) == ["stream"]
            yield stream

    async def send(self, **message):
        await self._socket.send_json(message)

    async def read(self):
        async with within():
            return json.loads(await self._socket.receive_str())


class Events:
    """A shared stream as Server-Sent Events, with messages sent as requests."""

    def __init__(self, session, answer, headers):
        self._session = session
        self._answer = answer
        self._headers = headers
        self.name = ""

    @classmethod
    @contextlib.asynccontextmanager
    async def opened(cls, session, query="", **headers):
        address = f"{SHARED}?{query}" if query else SHARED
        async with session.get(address, headers=headers) as answer:
            assert (answer.status, answer.content_type) == (200, "text/event-stream")
            stream = cls(session, answer, headers)
            stream.name = (await stream.read())["stream"]
            yield stream

    async def send(self, **message):
        address = f"{SHARED}/{self.name}"
        async with self._session.post(address, json=message, headers=self._headers) as answer:
            assert answer.status == 200, await answer.text()

    async def read(self):
        async with within():
            while not (line := await self._answer.content.readline()).startswith(b"data: "):
                assert line in (b": \n", b"\n")
            return json.loads(line.removeprefix(b"data: "))


@pytest.fixture(params=[Socket, Events])
def shared(request):
    return request.param


async def until(stream, wanted):
    """Return the first message with this member, and those before it."""
    before = []
    while wanted not in (message := await stream.read()):
        before.append(message)
    return message, before


def ageless(message):
    """Return the message without the age in table rows, which depends on the time of encoding."""
    for row in message["event"]["object"].get("rows", []):
        row["cells"].pop()
    return message


@pytest.mark.parametrize("accept", ["application/json", TABLE, PARTIAL])
@pytest.mark.parametrize("query", ["", "?labelSelector=app%3Da", "?allowWatchBookmarks=1"])
async def test_events_are_those_of_http(server, session, shared, config_map, accept, query):
    there = config_map("there")
    there["metadata"]["labels"] = {"app": "a"}
    await server.client.create(there)
    watch = f"{MAPS}{query}{'&' if query else '?'}watch=1"
    stream = await session.get(watch, headers={"Accept": accept})
    async with shared.opened(session) as opened:
        await opened.send(open="a", path=MAPS + query, accept=accept)
        assert await opened.read() == {"watch": "a", "opened": {"warnings": []}}
        for number in range(3):
            made = config_map(f"c{number}")
            made["metadata"]["labels"] = {"app": "a"}
            await server.client.create(made)
        await server.client.delete("v1/configmaps", "there", "default")
        for _ in range(6 if "Bookmarks" in query else 5):
            line = json.loads(await stream.content.readline())
            assert ageless(await opened.read()) == ageless({"watch": "a", "event": line})
    stream.close()


async def test_many_watches_share_a_connection(server, session, shared, config_map):
    async with shared.opened(session) as stream:
        for number in range(20):
            selected = f"{MAPS}?labelSelector=number={number}"
            await stream.send(open=str(number), path=selected)
            assert (await stream.read())["watch"] == str(number)
        assert server.streams.count == 20
        for number in range(20):
            made = config_map(f"c{number}")
            made["metadata"]["labels"] = {"number": str(number)}
            await server.client.create(made)
        found = [await stream.read() for _ in range(20)]
        names = [(one["watch"], one["event"]["object"]["metadata"]["name"]) for one in found]
        assert sorted(names) == sorted((str(number), f"c{number}") for number in range(20))


async def test_a_closed_watch_is_confirmed_and_its_name_is_free(
    server, session, shared, config_map
):
    async with shared.opened(session) as stream:
        await stream.send(open="a", path=MAPS)
        await stream.send(open="b", path=MAPS)
        assert {(await stream.read())["watch"] for _ in range(2)} == {"a", "b"}
        await stream.send(close="a")
        ended = await stream.read()
        assert (ended["watch"], ended["closed"]["status"]) == ("a", "Success")
        await server.client.create(config_map("one"))
        assert (await stream.read())["watch"] == "b"
        await stream.send(open="a", path=MAPS)
        assert (await stream.read())["opened"] is not None
        assert (await stream.read())["event"]["object"]["metadata"]["name"] == "one"


@pytest.mark.parametrize("turns", range(4))
async def test_a_watch_that_is_closed_in_the_turn_in_which_it_is_opened_is_confirmed(turns):
    """Messages that arrive together are obeyed in one turn of the loop."""
    sent, ended = [], asyncio.Event()

    class Connected:
        carrier = shared_streams.Socket()
        write = sent.append

        @staticmethod
        def is_closing():
            return False

    async def serve(_):
        await asyncio.Event().wait()

    stream: Any = Connected()
    request: Any = None
    channel = shared_streams.Channel(stream, "a")
    channel.start(request, serve, ended.set)
    for _ in range(turns):
        await asyncio.sleep(0)
    channel.leave()
    async with within():
        await ended.wait()
    [message] = sent
    assert b'{"watch":"a","closed":{"kind":"Status"' in message


async def test_watches_that_stand_in_the_address_are_opened_at_once(server, session, shared):
    query = f"open=maps={MAPS}&open=none=/api/v1/unicorns"
    async with shared.opened(session, query) as stream:
        messages = [await stream.read() for _ in range(2)]
        assert {"watch": "maps", "opened": {"warnings": []}} in messages
        [refused] = [message["closed"] for message in messages if "closed" in message]
        assert refused["code"] == 404


@pytest.mark.parametrize(
    ("watch", "code"), [("maps=/api/v1/nodes", 409), ("two=/api/v1/nodes/a/status", 400)]
)
async def test_a_watch_in_the_address_that_cannot_be_is_refused_on_the_stream(
    session, shared, watch, code
):
    async with shared.opened(session, f"open=maps={MAPS}&open={watch}") as stream:
        found, _ = await until(stream, "refused")
        assert found["refused"]["code"] == code
        await until(stream, "opened")


@pytest.mark.parametrize(
    ("path", "code"), [("/api/v1/unicorns", 404), (f"{MAPS}?labelSelector=((", 400)]
)
async def test_a_watch_that_http_refuses_is_closed_with_its_status(session, shared, path, code):
    async with shared.opened(session) as stream:
        await stream.send(open="a", path=path)
        message = await stream.read()
        assert (message["watch"], message["closed"]["code"]) == ("a", code)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("resourceVersion=1", 410),
        (
            "resourceVersion=99999999999&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            504,
        ),
    ],
)
async def test_a_version_that_is_not_there_is_an_event_and_the_end(session, shared, query, code):
    async with shared.opened(session) as stream:
        await stream.send(open="a", path=f"{MAPS}?{query}")
        found, before = await until(stream, "closed")
        assert found["watch"] == "a"
        assert [message["event"]["object"]["code"] for message in before[1:]] == [code]


async def test_a_watch_ends_at_its_timeout_and_others_continue(server, session, shared, config_map):
    async with shared.opened(session) as stream:
        await stream.send(open="short", path=f"{MAPS}?timeoutSeconds=1")
        await stream.send(open="long", path=MAPS)
        found, _ = await until(stream, "closed")
        assert (found["watch"], found["closed"]["status"]) == ("short", "Success")
        await server.client.create(config_map("a"))
        assert (await stream.read())["watch"] == "long"


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("", 400),
        ("[1]", 400),
        ('{"open": "a"}', 400),
        ('{"open": 1, "path": "/api/v1/pods"}', 400),
        ('{"open": "", "path": "/api/v1/pods"}', 400),
        (json.dumps({"open": "a" * 65, "path": "/api/v1/pods"}), 400),
        ('{"open": "a", "path": "api/v1/pods"}', 400),
        ('{"open": "a", "path": "/api/v1/namespaces/default/pods/one"}', 400),
        ('{"open": "a", "path": "/version"}', 400),
        ('{"open": "a", "path": "/api/v1/pods", "accept": "text/plain"}', 406),
        ('{"open": "a", "path": "/api/v1/pods", "accept": "application/yaml"}', 406),
        ('{"open": "taken", "path": "/api/v1/pods"}', 409),
        ('{"close": "nothing"}', 404),
    ],
)
async def test_invalid_messages_are_refused_and_the_stream_continues(session, message, code):
    async with Socket.opened(session, f"open=taken={MAPS}") as socket:
        await until(socket, "opened")
        await socket._socket.send_str(message)
        assert (await socket.read())["refused"]["code"] == code
    async with Events.opened(session, f"open=taken={MAPS}") as events:
        await until(events, "opened")
        async with session.post(f"{SHARED}/{events.name}", data=message) as answer:
            assert answer.status == code
            assert (await answer.json())["code"] == code


async def test_the_number_of_watches_is_bounded(session, shared):
    async with shared.opened(session) as stream:
        for number in range(100):
            await stream.send(open=str(number), path=MAPS)
        with contextlib.suppress(AssertionError):  # over HTTP, where the request itself is refused
            await stream.send(open="more", path=MAPS)
            found, _ = await until(stream, "refused")
            assert found["refused"]["code"] == 429


async def test_a_stream_takes_messages_of_its_own_user_only(tmp_path):
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('secret,me,1,"system:masters"\nother,somebody,2\n')
    options = {"token_auth_file": tokens, "authorization_mode": "RBAC"}
    async with APIServer(**options) as server, aiohttp.ClientSession(server.url) as session:
        mine = {"Authorization": "Bearer secret"}
        theirs = {"Authorization": "Bearer other"}
        async with Events.opened(session, **mine) as stream:
            address = f"{SHARED}/{stream.name}"
            message = {"open": "a", "path": SECRETS}
            async with session.post(address, json=message, headers=theirs) as answer:
                assert answer.status == 404
            await stream.send(**message)
            assert "opened" in await stream.read()


async def test_every_watch_is_authorized_by_itself(tmp_path):
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('secret,me,1,"system:masters"\nother,somebody,2\n')
    options = {"token_auth_file": tokens, "authorization_mode": "RBAC"}
    async with APIServer(**options) as server, aiohttp.ClientSession(server.url) as session:
        async with Events.opened(session, Authorization="Bearer other") as stream:
            await stream.send(open="a", path=SECRETS)
            refused = await stream.read()
            assert (refused["watch"], refused["closed"]["code"]) == ("a", 403)
            assert 'User "somebody" cannot watch' in refused["closed"]["message"]
        impersonated = {"Authorization": "Bearer secret", "Impersonate-User": "somebody"}
        async with Events.opened(session, **impersonated) as stream:
            await stream.send(open="a", path=SECRETS)
            assert (await stream.read())["closed"]["code"] == 403
        for headers, code in (({}, 403), ({"Authorization": "Bearer wrong"}, 401)):
            async with session.get(SHARED, headers=headers) as answer:
                assert answer.status == code


async def test_a_browser_sends_its_token_as_a_subprotocol(tmp_path):
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("other,somebody,2\n")
    bearer = "base64url.bearer.authorization.k8s.io." + base64.urlsafe_b64encode(b"other").decode()
    options = {"token_auth_file": tokens, "authorization_mode": "RBAC"}
    async with APIServer(**options) as server, aiohttp.ClientSession(server.url) as session:
        protocols = ("base64.binary.k8s.io", bearer.rstrip("="))
        async with session.ws_connect(SHARED, protocols=protocols) as socket:
            stream = Socket(socket)
            await stream.read()
            await stream.send(open="a", path=SECRETS)
            assert 'User "somebody" cannot watch' in (await stream.read())["closed"]["message"]


async def test_pages_of_other_origins_open_no_socket(server, session):
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await session.ws_connect(SHARED, headers={"Origin": "https://elsewhere.example"})
    assert refused.value.status == 403


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [("POST", SHARED, 405), ("PUT", SHARED, 405), ("GET", f"{SHARED}/1-x", 405),
     ("POST", f"{SHARED}/1-x", 404)],
)  # fmt: skip
async def test_other_requests_are_refused(session, method, path, code):
    async with session.request(method, path, json={}) as answer:
        assert answer.status == code


async def test_a_client_that_leaves_is_forgotten_with_its_watches(server, session, shared):
    async with shared.opened(session) as stream:
        for number in range(5):
            await stream.send(open=str(number), path=MAPS)
            await until(stream, "opened")
        assert server.streams.count == 5
    await until_true(lambda: server.streams.count == 0)


async def test_a_stopping_server_ends_its_streams(server, session, shared):
    async with shared.opened(session, f"open=a={MAPS}") as stream:
        await until(stream, "opened")
        async with within():
            await server.stop()


async def test_a_reader_that_sleeps_harms_nobody_and_misses_nothing(server, session, config_map):
    async with Socket.opened(session) as quick, Socket.opened(session) as slow:
        for stream in (quick, slow):
            for name in "abc":
                await stream.send(open=name, path=MAPS)
                await until(stream, "opened")

        async def told(stream):
            found = [await stream.read() for _ in range(180)]
            return {
                name: [
                    one["event"]["object"]["metadata"]["name"]
                    for one in found
                    if one["watch"] == name
                ]
                for name in "abc"
            }

        reading = asyncio.create_task(told(quick))
        for number in range(60):
            await server.client.create(config_map(f"big{number}", text="x" * 200_000))
        wanted = {name: [f"big{number}" for number in range(60)] for name in "abc"}
        assert await reading == wanted
        assert await told(slow) == wanted


async def test_a_fault_that_cuts_a_watch_leaves_the_others(server, session, shared, config_map):
    await server.client.create({
        "apiVersion": "world.inkube.dev/v1",
        "kind": "Fault",
        "metadata": {"name": "cuts"},
        "spec": {
            "match": {"verbs": ["watch"], "resources": ["secrets"]},
            "watch": {"events": 0, "end": "Cut"},
        },
    })  # fmt: skip
    async with shared.opened(session) as stream:
        await stream.send(open="maps", path=MAPS)
        await until(stream, "opened")
        await stream.send(open="secrets", path=SECRETS)
        found, _ = await until(stream, "closed")
        assert (found["watch"], found["closed"]["code"]) == ("secrets", 429)
        await server.client.create(config_map("a"))
        assert (await stream.read())["watch"] == "maps"


async def test_an_event_source_reads_a_watch(server, session, config_map):
    await server.client.create(config_map("a"))
    headers = {"Accept": "text/event-stream"}
    async with session.get(f"{MAPS}?watch=1", headers=headers) as answer:
        assert (answer.status, answer.content_type) == (200, "text/event-stream")
        assert await event(answer) == (None, "ADDED", "a")
        await server.client.create(config_map("b"))
        told, kind, name = await event(answer)
        assert (kind, name) == ("ADDED", "b")
    await server.client.delete("v1/configmaps", "a", "default")
    again = {**headers, "Last-Event-ID": told}
    async with session.get(f"{MAPS}?watch=1", headers=again) as answer:
        assert (await event(answer))[1:] == ("DELETED", "a")


async def test_an_event_source_begins_anew_where_its_version_is_too_old(session):
    headers = {"Accept": "text/event-stream", "Last-Event-ID": "1"}
    async with session.get(f"{MAPS}?watch=1", headers=headers) as answer, within():
        lines = (await answer.content.read()).decode().splitlines()
    assert lines[0] == "id"  # an EventSource does not send it again
    assert json.loads(lines[1].removeprefix("data: "))["object"]["code"] == 410


async def event(answer):
    """Return the id, type and name of the next event."""
    told = None
    async with within():
        while not (line := await answer.content.readline()).startswith(b"data: "):
            if line.startswith(b"id: "):
                told = line.decode().removeprefix("id: ").strip()
    value = json.loads(line.removeprefix(b"data: "))
    return told, value["type"], value["object"]["metadata"]["name"]
