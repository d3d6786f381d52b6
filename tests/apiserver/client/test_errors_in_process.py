"""The in-process client raises the Status that HTTP returns for the same request."""

import io
import json
from typing import NamedTuple

import aiohttp
import pytest

from inkube import APIServer, StatusError
from inkube.storage import errors

MAPS = "v1/configmaps"
PATH = "/api/v1/namespaces/default/configmaps"
MERGE = {"Content-Type": "application/merge-patch+json"}
APPLY = {"Content-Type": "application/apply-patch+yaml"}
STORE = ("get", "list", "subscribe", "submit", "create", "update", "delete", "commit")
"""The methods of a store that requests call."""


def config_map(name, **data):
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


class Request(NamedTuple):
    """The same request over HTTP and in the process."""

    method: str
    path: str
    call: object
    body: object = None
    headers: dict = {}  # noqa: RUF012 # never changed


async def first(events):
    async for event in events:
        return event
    return None


REQUESTS = {
    "get": Request("GET", f"{PATH}/a", lambda client: client.get(MAPS, "a")),
    "list": Request("GET", PATH, lambda client: client.list(MAPS, "default")),
    "watch": Request("GET", f"{PATH}?watch=1", lambda client: first(client.watch(MAPS, "default"))),
    "create": Request("POST", PATH, lambda client: client.create(config_map("b")), config_map("b")),
    "update": Request(
        "PUT",
        f"{PATH}/a",
        lambda client: client.update(config_map("a", k="v")),
        config_map("a", k="v"),
    ),
    "patch": Request(
        "PATCH",
        f"{PATH}/a",
        lambda client: client.patch(MAPS, "a", patch={"data": {"k": "v"}}),
        {"data": {"k": "v"}},
        MERGE,
    ),
    "delete": Request("DELETE", f"{PATH}/a", lambda client: client.delete(MAPS, "a")),
}
LARGE = "x" * (3 * 1024 * 1024)
REFUSED = {
    "a large object": Request(
        "POST",
        PATH,
        lambda client: client.create(config_map("b", k=LARGE)),
        config_map("b", k=LARGE),
    ),
    "a large patch": Request(
        "PATCH",
        f"{PATH}/a",
        lambda client: client.patch(MAPS, "a", patch={"data": {"k": LARGE}}),
        {"data": {"k": LARGE}},
        MERGE,
    ),
    "an applied list": Request(
        "PATCH",
        f"{PATH}/a?fieldManager=test",
        lambda client: client.patch(MAPS, "a", patch=[], type="apply", field_manager="test"),
        [],
        APPLY,
    ),
    "an unknown field": Request(
        "GET",
        f"{PATH}?fieldSelector=a=b",
        lambda client: client.list(MAPS, "default", fields="a=b"),
    ),
    "an unknown subresource": Request(
        "GET", f"{PATH}/a/nope", lambda client: client.get(MAPS, "a", subresource="nope")
    ),
    "a status that the kind does not have": Request(
        "PUT",
        f"{PATH}/a/status",
        lambda client: client.update(config_map("a"), subresource="status"),
        config_map("a"),
    ),
    "a version that is no number": Request(
        "GET",
        f"{PATH}?watch=1&resourceVersion=old",
        lambda client: first(client.watch(MAPS, "default", resource_version="old")),
    ),
}


async def over_http(server, request):
    async with (
        aiohttp.ClientSession(server.url) as session,
        session.request(
            request.method,
            request.path,
            data=io.BytesIO(json.dumps(request.body).encode()),
            headers={"Content-Type": "application/json", **request.headers},
        ) as response,
    ):
        return await response.json()


async def in_process(server, request):
    with pytest.raises(StatusError) as raised:
        await request.call(server.client)
    return raised.value.body()


@pytest.mark.parametrize("verb", REQUESTS)
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.Unavailable("database or disk is full"), 503),
        (errors.Locked("another process writes"), 503),
        (errors.Closed(), 503),
        (errors.Damaged("/registry/configmaps/default/a"), 500),
        (errors.ReadOnly(7), 405),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
async def test_a_failure_of_the_store_is_one_status(verb, error, code, monkeypatch, caplog):
    async with APIServer() as server:
        await server.client.create(config_map("a"))
        await server.settled()

        def fail(*_, **__):
            raise error

        with monkeypatch.context() as patches:
            for method in STORE:
                patches.setattr(server.store, method, fail)
            told = await over_http(server, REQUESTS[verb])
            raised = await in_process(server, REQUESTS[verb])
    assert raised == told
    assert told["code"] == code
    caplog.clear()  # expected


@pytest.mark.parametrize("name", REFUSED)
async def test_a_refused_request_is_one_status(name):
    async with APIServer() as server:
        await server.client.create(config_map("a"))
        told = await over_http(server, REFUSED[name])
        assert await in_process(server, REFUSED[name]) == told
    assert told["code"] >= 400


@pytest.mark.parametrize(
    "obj",
    [
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "a"},
            "target": {"name": "node"},
        },
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "metadata": {"name": "a"},
            "spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}},
        },
    ],
    ids=lambda obj: obj["kind"],
)
async def test_a_kind_without_stored_objects_is_refused_and_not_stored(obj):
    async with APIServer() as server:
        before = server.store.revision
        with pytest.raises(StatusError, match="send it over HTTP") as raised:
            await server.client.create(obj)
        assert raised.value.code == 405
        assert server.store.revision == before


async def test_a_failure_during_a_watch_is_a_status(monkeypatch):
    async with APIServer() as server:
        events = server.client.watch(MAPS, "default")
        assert (await anext(events)).type == "BOOKMARK"

        async def fail(*_):
            raise errors.Unavailable("the database is gone")

        monkeypatch.setattr("inkube.storage.subscription.Subscription.next_batch", fail)
        with pytest.raises(StatusError, match="the database is gone") as raised:
            await anext(events)
    assert raised.value.code == 503


@pytest.mark.parametrize("obj", [{"kind": "ConfigMap"}, {"apiVersion": "", "kind": "ConfigMap"}])
async def test_an_object_without_an_api_version_is_refused_by_that(server, obj):
    with pytest.raises(StatusError, match="an object says its apiVersion and kind"):
        await server.client.create(obj)


@pytest.mark.parametrize("obj", [None, "a", 3])
async def test_what_is_no_object_is_a_type_error(server, obj):
    with pytest.raises(TypeError, match="an object is a dict or a model of its kind, not"):
        await server.client.create(obj)
