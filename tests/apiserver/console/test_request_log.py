"""The stream of requests at `/debug/requests`."""

import asyncio
import json

import aiohttp
import pytest
from patience import SECONDS

from inkube import APIServer
from inkube.apiserver.console import requestlog

pytestmark = pytest.mark.asyncio(loop_scope="module")
MAPS = "/api/v1/namespaces/default/configmaps"
RBAC = "rbac.authorization.k8s.io"
SECRETS = "/api/v1/namespaces/default/secrets"


class Listener:
    """Reads the stream line by line."""

    def __init__(self, answer):
        self._answer = answer

    async def next(self, uri=""):
        """Return the next event of a request with that path; None at the end."""
        while True:
            line = await asyncio.wait_for(self._answer.content.readline(), SECONDS)
            if line == b"":
                return None
            if line.strip():
                event = json.loads(line)
                if uri in ("", event["requestURI"]):
                    return event


def listening(server, **headers):
    """Return a context manager of the response; the stream is active when it starts."""
    return aiohttp.request("GET", f"{server.url}{requestlog.PATH}", headers=headers)


async def test_a_request_is_shown_with_its_bodies_code_and_user(server, web, config_map):
    async with listening(server) as answer:
        events = Listener(answer)
        await web.ask("POST", f"{MAPS}?pretty=1", config_map("logged", x="1"))
        event = await events.next(f"{MAPS}?pretty=1")
    assert (event["verb"], event["requestURI"]) == ("create", f"{MAPS}?pretty=1")
    assert event["responseStatus"]["code"] == 201
    assert event["user"]["username"] == "system:admin"
    assert event["requestObject"]["data"] == {"x": "1"}
    assert event["responseObject"]["metadata"]["name"] == "logged"
    assert "managedFields" not in event["responseObject"]["metadata"]
    assert event["requestReceivedTimestamp"] <= event["stageTimestamp"]


async def test_a_refused_body_is_shown_with_the_refusal(server, web, config_map):
    async with listening(server) as answer:
        events = Listener(answer)
        await web.ask("POST", f"{MAPS}?pretty=2", config_map("NO"))
        event = await events.next(f"{MAPS}?pretty=2")
    assert event["responseStatus"]["code"] == 422
    assert event["requestObject"]["metadata"]["name"] == "NO"
    assert event["responseObject"]["details"]["causes"][0]["field"] == "metadata.name"


async def test_a_later_reader_gets_the_newest_request_first(server, web, config_map):
    async with listening(server) as first:
        await web.ask("GET", "/version?first")
        assert await Listener(first).next("/version?first")
        async with listening(server) as second:
            event = await Listener(second).next("/version?first")
    assert event["verb"] == "get"


async def test_bodies_of_secrets_are_left_out(server, web):
    secret = {"metadata": {"name": "hidden"}, "stringData": {"password": "swordfish"}}
    async with listening(server) as answer:
        events = Listener(answer)
        await web.ask("POST", SECRETS, secret)
        event = await events.next(SECRETS)
    assert event["objectRef"]["resource"] == "secrets"
    assert "swordfish" not in json.dumps(event)
    assert "of a secret" in event["annotations"][requestlog.LEFT_OUT]


async def test_a_long_body_is_left_out(server, web, config_map):
    long = config_map("long", x="y" * requestlog.LONGEST_BODY)
    async with listening(server) as answer:
        events = Listener(answer)
        await web.ask("POST", f"{MAPS}?pretty=3", long)
        event = await events.next(f"{MAPS}?pretty=3")
    assert "requestObject" not in event
    assert "requestObject: 3" in event["annotations"][requestlog.LEFT_OUT]


async def test_no_request_is_kept_without_a_listener(web_of, monkeypatch):
    told = []
    monkeypatch.setattr(requestlog.RequestLog, "record", lambda self, *event: told.append(event))
    async with APIServer() as server, web_of(server) as web:
        await web.ask("GET", "/version")
        assert told == []
        async with listening(server):
            await web.ask("GET", "/version")
        for _ in range(20):  # the server notices a closed connection only when it writes
            await web.ask("GET", "/version")
    assert len(told) <= 21
    assert told[0][0].info.path == "/version"


async def test_the_number_of_kept_requests_is_bounded():
    log = requestlog.RequestLog([])
    for number in range(requestlog.MAX_RECORDS + 10):
        log._append(b"%d\n" % number)
    assert (len(log._events), log._events[0]) == (requestlog.MAX_RECORDS, b"10\n")
    log._append(b"x" * requestlog.KEPT_BYTES)
    assert len(log._events) == 1


async def test_too_many_listeners_are_refused(server, monkeypatch):
    monkeypatch.setattr(requestlog, "LISTENERS", 0)
    async with listening(server) as answer:
        assert answer.status == 429


async def test_the_stream_ends_with_the_server():
    async with APIServer() as server, listening(server) as answer:
        assert answer.status == 200
        await server.stop()
        assert await Listener(answer).next() is None


async def test_reading_the_request_log_needs_permission_for_its_path(tmp_path):
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("a,ann,1\nb,bob,2\n")
    async with APIServer(token_auth_file=tokens, authorization_mode="RBAC") as server:
        rule = {"nonResourceURLs": [requestlog.PATH], "verbs": ["get"]}
        await server.client.create({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "requests"}, "rules": [rule],
        })  # fmt: skip
        await server.client.create({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "requests"},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "requests"},
            "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "ann"}],
        })  # fmt: skip
        async with listening(server, Authorization="Bearer a") as answer:
            assert answer.status == 200
        async with listening(server, Authorization="Bearer b") as answer:
            assert answer.status == 403
