"""Watches as HTTP streams: slow clients, many clients, ends, tables, a stopping server."""

import asyncio
import json
import time

import boats
import pytest
from aiohttp import ClientSession
from patience import within

from inkube import APIServer
from inkube.apiserver.watching import stream

MAPS = "/api/v1/namespaces/default/configmaps"
PROTOBUF = "application/vnd.kubernetes.protobuf;stream=watch"
KIND = ("apiVersion", "kind", "metadata")
STATE = "resourceVersionMatch=NotOlderThan&sendInitialEvents"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


async def events(response, count):
    """Return the next events of a stream."""
    return [json.loads(await response.content.readline()) for _ in range(count)]


def shown(found):
    return [(each["type"], each["object"]["metadata"]["name"]) for each in found]


async def test_every_watcher_gets_every_change_once_and_in_order(server, session, config_map):
    where = f"{MAPS}?watch=1&resourceVersion={now(server)}"
    watchers = [await session.get(where) for _ in range(50)]
    for number in range(20):
        await server.client.create(config_map(f"c{number}"))
    wanted = [("ADDED", f"c{number}") for number in range(20)]
    for watcher in watchers:
        assert shown(await events(watcher, 20)) == wanted
        watcher.close()


async def test_a_reader_that_sleeps_harms_nobody_and_misses_nothing(server, session, config_map):
    where = f"{MAPS}?watch=1&resourceVersion={now(server)}"
    quick = await session.get(where)
    host, port = server.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=2**10)
    writer.write(f"GET {where} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    await reader.readuntil(b"\r\n\r\n")
    for number in range(60):
        await server.client.create(config_map(f"big{number}", text="x" * 200_000))
    wanted = [("ADDED", f"big{number}") for number in range(60)]
    assert shown(await large_events(quick, 60)) == wanted
    assert await names_of(reader, 60) == [name for _, name in wanted]
    writer.close()
    quick.close()


async def large_events(response, count):
    """Like `events`, for lines longer than the limit of a reader."""
    found, buffer = [], b""
    while len(found) < count:
        buffer += await response.content.readany()
        *lines, buffer = buffer.split(b"\n")
        found += [json.loads(line) for line in lines]
    return found


async def names_of(reader, count):
    """Return the names in a chunked stream, parsed by hand."""
    found, buffer = [], b""
    while len(found) < count:
        size = int(await reader.readline(), 16)
        buffer += (await reader.readexactly(size + 2))[:-2]
        *lines, buffer = buffer.split(b"\n")
        found += [json.loads(line)["object"]["metadata"]["name"] for line in lines]
    return found


async def test_a_stopping_server_ends_its_watches_at_once(session, server):
    watcher = await session.get(f"{MAPS}?watch=1")
    async with within():
        await server.stop()
        await watcher.content.read()
    assert watcher.content.at_eof()


async def test_a_client_that_left_is_forgotten(server, session, config_map):
    watcher = await session.get(f"{MAPS}?watch=1&resourceVersion={now(server)}")
    await server.client.create(config_map("before"))
    await events(watcher, 1)
    watcher.close()
    async with within():
        while server.streams.count:
            await server.client.create(config_map(f"after-{now(server)}"))
    assert server.streams.count == 0


async def test_a_watch_ends_when_its_time_is_over(session):
    answer = await session.get("/api/v1/namespaces?watch=1&timeoutSeconds=1")
    async with within():
        assert b"ADDED" in await answer.read()


async def test_a_watch_without_a_timeout_ends_after_one_to_two_times_the_least_one():
    async with APIServer(min_request_timeout=1) as server, ClientSession(server.url) as session:
        begun = time.monotonic()
        answer = await session.get("/api/v1/namespaces?watch=1")
        async with within():
            assert b"ADDED" in await answer.read()
        assert time.monotonic() - begun >= 1


async def test_only_the_first_event_of_a_table_has_the_columns(server, session, config_map):
    where = f"{MAPS}?watch=1&resourceVersion={now(server)}"
    watcher = await session.get(where, headers={"Accept": TABLE})
    await server.client.create(config_map("a"))
    await server.client.create(config_map("b"))
    first, second = await events(watcher, 2)
    assert first["object"]["columnDefinitions"][0]["name"] == "Name"
    assert second["object"]["columnDefinitions"] is None
    watcher.close()


@pytest.mark.parametrize("start", ["", "&resourceVersion={}"])
async def test_a_form_of_lists_ends_a_watch_at_its_first_event(server, session, config_map, start):
    """An event has one object, which has no such form."""
    accept = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
    if not start:
        await server.client.create(config_map("a"))
    where = f"{MAPS}?watch=1{start.format(now(server))}"
    async with within(), session.get(where, headers=accept) as answer:
        if start:
            await server.client.create(config_map("a"))
        assert (answer.status, await answer.read()) == (200, b"")


async def test_a_version_too_old_is_an_event_of_a_stream_that_began_well(session):
    answer = await session.get(f"{MAPS}?watch=1&resourceVersion=1")
    (event,) = [json.loads(line) for line in (await answer.read()).splitlines()]
    assert (answer.status, event["type"], event["object"]["code"]) == (200, "ERROR", 410)


def now(server):
    return server.store.revision


async def test_a_stream_ends_when_its_kind_is_served_otherwise(server, session):
    """Earlier events arrive, and the response ends regularly, which shows that there are no
    more."""
    await server.client.create(boats.definition({"type": "object"}, scope="Cluster"))
    await server.settled()
    stream = await session.get("/apis/example.com/v1/boats?watch=1")
    boat = {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "a"}}
    await server.client.create(boat)
    changed = boats.definition(
        {"type": "object", "properties": {"masts": {"type": "integer"}}}, scope="Cluster"
    )
    await server.client.patch(
        "apiextensions.k8s.io/v1/customresourcedefinitions",
        "boats.example.com",
        patch={"spec": changed["spec"]},
    )
    async with within():
        told = await stream.text()
    assert shown(map(json.loads, told.splitlines())) == [("ADDED", "a")]


@pytest.mark.parametrize(
    ("path", "members"),
    [
        ("/api/v1/namespaces/none/configmaps", {}),
        (
            "/apis/discovery.k8s.io/v1/namespaces/none/endpointslices",
            {"addressType": "", "endpoints": None, "ports": None},
        ),
        (
            "/api/v1/namespaces/none/persistentvolumeclaims",
            {"spec": {"resources": {}}, "status": {}},
        ),
    ],
)
async def test_the_object_of_a_bookmark_is_empty_as_its_go_type_is(server, session, path, members):
    query = "watch=1&allowWatchBookmarks=true&sendInitialEvents=true"
    query += "&resourceVersionMatch=NotOlderThan"
    watcher = await session.get(f"{path}?{query}")
    [event] = await events(watcher, 1)
    watcher.close()
    body = {key: value for key, value in event["object"].items() if key not in KIND}
    assert (event["type"], body) == ("BOOKMARK", members)
    watcher = await session.get(f"{path}?{query}", headers={"Accept": PROTOBUF})
    assert b"BOOKMARK" in await watcher.content.readany()
    watcher.close()


@pytest.mark.parametrize(
    ("query", "ends"),
    [
        ("", True),
        ("resourceVersion=0", True),
        ("resourceVersion=00", False),
        (f"{STATE}=true", True),
        (f"{STATE}=true&resourceVersion=0", True),
        (f"{STATE}=false", False),
    ],
)
async def test_a_bookmark_ends_the_state_with_which_a_watch_begins(
    server, session, config_map, query, ends
):
    before = await server.client.create(config_map("a"))
    newest = await server.client.create({**config_map("s"), "kind": "Secret"})
    watcher = await session.get(f"{MAPS}?watch=1&allowWatchBookmarks=true&{query}")
    if "false" not in query:
        assert shown(await events(watcher, 1)) == [("ADDED", "a")]
    await server.client.create(config_map("b"))
    found = await events(watcher, 1 + ends)
    watcher.close()
    assert [event["type"] for event in found] == ["BOOKMARK", "ADDED"][not ends :]
    if ends:
        meta = found[0]["object"]["metadata"]
        assert meta["annotations"] == {"k8s.io/initial-events-end": "true"}
        # the newest version of the server, not that of the kind
        versions = [int(each["metadata"]["resourceVersion"]) for each in (before, newest)]
        assert versions[0] < versions[1] <= int(meta["resourceVersion"])


async def test_a_version_of_noughts_is_any_version(server, session, config_map):
    await server.client.create(config_map("c"))
    watcher = await session.get(f"{MAPS}?watch=1&resourceVersion=00")
    assert shown(await events(watcher, 1)) == [("ADDED", "c")]
    watcher.close()


async def test_the_watch_parameter_decides_how_options_are_validated(session):
    """get.go, listOpts: a path with /watch/ alone is a list to the rules of options."""
    path = f"{MAPS.replace('/v1/', '/v1/watch/')}/one?timeoutSeconds=0"
    initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=0"
    answers = {
        f"{path}&watch=1&{initial}": 200,
        f"{path}&{initial}": 422,
        f"{path}&fieldSelector=metadata.name%3Done": 200,
        f"{path}&fieldSelector=metadata.name%3Dother": 400,
        f"{path}&fieldSelector=metadata.namespace%3Ddefault": 400,
    }
    for where, code in answers.items():
        async with session.get(where) as answer:
            assert answer.status == code, where
            if code == 400:
                text = "fieldSelector metadata.name doesn't match requested name"
                assert (await answer.json())["message"] == text


@pytest.mark.parametrize(("ahead", "told"), [(0, ["BOOKMARK"]), (99_999, [])])
async def test_no_bookmark_tells_a_version_that_does_not_exist_yet(
    server, session, monkeypatch, ahead, told
):
    monkeypatch.setattr(stream, "BOOKMARK", 0.0)
    version = server.store.revision + ahead
    query = f"watch=1&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion={version}"
    watcher = await session.get(f"{MAPS}?{query}")
    lines = (await watcher.read()).splitlines()
    assert [json.loads(line)["type"] for line in lines][:1] == told
