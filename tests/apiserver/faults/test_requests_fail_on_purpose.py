"""The effects of a Fault on matching HTTP requests, and on no others."""

import asyncio
import contextlib
import json
import time

import aiohttp
import pytest
import pytest_asyncio
from patience import within

from inkube import APIServer
from inkube.schemas.status import StatusError

pytestmark = pytest.mark.asyncio(loop_scope="module")
FAULTS = "world.inkube.dev/v1/faults"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
NAMESPACES = "/api/v1/namespaces"


@pytest_asyncio.fixture(loop_scope="module")
async def fault(server):
    """`await fault("name", match={…}, answer={…})`: deleted after the test."""
    made = []

    async def make(name, **spec):
        body = {"apiVersion": "world.inkube.dev/v1", "kind": "Fault", "metadata": {"name": name}}
        made.append(name)
        return await server.client.create({**body, "spec": spec})

    yield make
    for name in made:
        with contextlib.suppress(StatusError):  # a test deleted it
            await server.client.delete(FAULTS, name)


async def status_of(server, name):
    await server.settled()
    return (await server.client.get(FAULTS, name))["status"]


async def test_the_first_so_many_get_an_answer_and_the_fault_counts_them(
    server, web, fault, config_map
):
    match = {"verbs": ["create"], "resources": ["configmaps"]}
    await fault("a", match=match, when={"times": 2}, answer={"code": 409})
    codes = [(await web.ask("POST", CONFIG_MAPS, config_map("first"))).code for _ in range(3)]
    assert codes == [409, 409, 201]
    assert await status_of(server, "a") == {"matched": 3, "injected": 2, "held": 0}


@pytest.mark.parametrize(
    ("when", "struck"),
    [
        ({}, [0, 1, 2, 3, 4, 5]),
        ({"skip": 2}, [2, 3, 4, 5]),
        ({"every": 3}, [0, 3]),
        ({"skip": 1, "every": 2, "times": 2}, [1, 3]),
        ({"probability": 0.0}, []),
    ],
    ids=str,
)
async def test_a_fault_selects_the_requests_that_fail(web, fault, when, struck):
    await fault("w", match={"verbs": ["list"]}, when=when, answer={"code": 500})
    codes = [(await web.ask("GET", NAMESPACES)).code for _ in range(6)]
    assert [turn for turn, code in enumerate(codes) if code == 500] == struck


async def test_a_probability_strikes_the_same_requests_in_every_run(server, web, fault):
    runs = []
    for name in ("one", "two"):
        chance = {"probability": 0.5, "seed": 7}
        await fault(name, match={"verbs": ["list"]}, when=chance, answer={"code": 500})
        runs.append([(await web.ask("GET", NAMESPACES)).code for _ in range(20)])
        await server.client.delete(FAULTS, name)
    assert runs[0] == runs[1]
    assert {200, 500} == set(runs[0])


@pytest.mark.parametrize(
    ("match", "hit"),
    [
        ({}, True),
        ({"verbs": ["get"]}, True),
        ({"verbs": ["delete", "*"]}, True),
        ({"verbs": ["list"]}, False),
        ({"apiGroups": [""]}, True),
        ({"apiGroups": ["apps"]}, False),
        ({"resources": ["configmaps"]}, True),
        ({"resources": ["configmaps/status"]}, False),
        ({"resources": ["*"]}, True),
        ({"namespaces": ["default"], "names": ["m"]}, True),
        ({"namespaces": ["other"]}, False),
        ({"names": ["n"]}, False),
        ({"users": ["system:admin"]}, True),
        ({"users": ["somebody"]}, False),
        ({"groups": ["system:masters"]}, True),
        ({"groups": ["g"]}, False),
        ({"userAgents": ["probe/*"]}, True),
        ({"userAgents": ["kopf/*"]}, False),
        ({"labelSelector": "app=web"}, True),
        ({"labelSelector": "app!=web"}, False),
        ({"nonResourceURLs": ["/version"]}, False),
    ],
    ids=str,
)
async def test_a_fault_selects_requests_by_user_and_client(
    server, web, fault, config_map, match, hit
):
    body = config_map("m")
    body["metadata"]["labels"] = {"app": "web"}
    with contextlib.suppress(StatusError):  # another case made it
        await server.client.create(body)
    await fault("m", match=match, answer={"code": 503})
    answer = await web.ask("GET", f"{CONFIG_MAPS}/m", User_Agent="probe/1.0")
    assert answer.code == (503 if hit else 200)


async def test_a_fault_selects_creations_by_the_labels_in_their_body(web, fault, config_map):
    await fault("l", match={"labelSelector": "app in (web)"}, answer={"code": 500})
    for labels, code in (({"app": "web"}, 500), ({}, 201)):
        body = config_map(f"labelled-{code}")
        body["metadata"]["labels"] = labels
        assert (await web.ask("POST", CONFIG_MAPS, body)).code == code


async def test_other_paths_fail_only_where_they_are_named(web, fault):
    await fault("all", answer={"code": 500})
    assert (await web.ask("GET", "/version")).code == 200
    await fault("paths", match={"nonResourceURLs": ["/ver*"]}, answer={"code": 502})
    assert (await web.ask("GET", "/version")).code == 502
    assert (await web.ask("GET", "/readyz")).code == 200


async def test_faults_themselves_and_clients_inside_are_never_hit(server, web, fault, config_map):
    await fault("all", answer={"code": 500})
    assert (await web.ask("GET", "/apis/world.inkube.dev/v1/faults/all")).code == 200
    await server.client.create(config_map("inside"))
    assert (await web.ask("GET", f"{CONFIG_MAPS}/inside")).code == 500
    assert (await web.ask("DELETE", "/apis/world.inkube.dev/v1/faults/all")).code == 200
    assert (await web.ask("GET", f"{CONFIG_MAPS}/inside")).code == 200


async def test_any_status_can_be_the_answer(web, fault):
    answer = {
        "code": 429,
        "reason": "TooManyRequests",
        "message": "later",
        "retryAfterSeconds": 3,
        "details": {"group": "g"},
    }
    await fault("s", match={"verbs": ["list"]}, answer=answer)
    refused = await web.ask("GET", NAMESPACES)
    assert (refused.code, refused.headers["Retry-After"]) == (429, "3")
    assert refused.json["message"] == "later"
    assert refused.json["details"] == {"group": "g", "retryAfterSeconds": 3}


@pytest.mark.parametrize("moment", ["BeforeWrite", "AfterWrite"])
async def test_a_connection_is_cut_before_or_after_the_write(
    server, web, fault, config_map, moment
):
    name = f"cut-{moment.lower()}"
    await fault("c", match={"verbs": ["create"]}, cut=moment)
    with pytest.raises((aiohttp.ServerDisconnectedError, aiohttp.ClientOSError)):
        await web.ask("POST", CONFIG_MAPS, config_map(name))
    found = [each["metadata"]["name"] for each in (await server.client.list("v1/configmaps")).items]
    assert (name in found) == (moment == "AfterWrite")


async def test_a_write_that_was_carried_out_can_be_refused(server, web, fault, config_map):
    await fault("r", match={"verbs": ["create"]}, answer={"code": 504, "moment": "AfterWrite"})
    assert (await web.ask("POST", CONFIG_MAPS, config_map("told-no"))).code == 504
    assert await server.client.get("v1/configmaps", "told-no", "default")


async def test_a_delay_is_waited_for_by_the_clock_of_the_server(web, fault):
    await fault("d", match={"verbs": ["list"]}, delay={"seconds": 0.1, "jitterSeconds": 0.1})
    begun = time.monotonic()
    assert (await web.ask("GET", NAMESPACES)).code == 200
    assert time.monotonic() - begun >= 0.1


async def test_slow_bytes_arrive_whole(web, fault):
    path = f"{NAMESPACES}/default"
    whole = (await web.ask("GET", path)).body
    await fault("b", match={"names": ["default"]}, slow={"bytesPerSecond": len(whole) * 10})
    begun = time.monotonic()
    assert (await web.ask("GET", path)).body == whole
    assert time.monotonic() - begun >= 0.05


async def test_stale_reads_show_the_past(server, web, fault, config_map):
    body = await server.client.create(config_map("old", step="1"))
    for step in "23":
        body = await server.client.update({**body, "data": {"step": step}})
    await fault("st", match={"resources": ["configmaps"]}, stale={"changes": 1})
    shown = (await web.ask("GET", f"{CONFIG_MAPS}/old")).json
    assert shown["data"] == {"step": "2"}
    listed = (await web.ask("GET", CONFIG_MAPS)).json
    [found] = [each for each in listed["items"] if each["metadata"]["name"] == "old"]
    assert found["data"] == {"step": "2"}


async def events_of(server, query=""):
    """Return the events of a watch of namespaces until it ends, and whether it ended without an
    error."""
    found = []
    url = f"{server.url}{NAMESPACES}?watch=true{query}"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        try:
            while line := await answer.content.readline():
                found.append(json.loads(line))
        except aiohttp.ClientPayloadError:
            return found, False
    return found, True


@pytest.mark.parametrize(
    ("end", "types", "clean"),
    [
        ("Cut", ["ADDED", "ADDED"], False),
        ("Close", ["ADDED", "ADDED"], True),
        ("Expired", ["ADDED", "ADDED", "ERROR"], True),
    ],
)
async def test_a_watch_ends_after_so_many_events(server, fault, end, types, clean):
    await fault("e", watch={"events": 2, "end": end})
    events, is_clean = await events_of(server)
    assert ([event["type"] for event in events], is_clean) == (types, clean)
    if end == "Expired":
        assert events[-1]["object"]["code"] == 410


async def test_a_watch_that_ends_early_sends_no_final_bookmark(server, fault):
    await fault("e", watch={"events": 2, "end": "Close"})
    query = "&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    events, _ = await events_of(server, query)
    assert [event["type"] for event in events] == ["ADDED", "ADDED"]


async def test_a_watch_ends_in_the_middle_of_a_burst(server, fault, config_map):
    await fault("e", match={"resources": ["configmaps"]}, watch={"events": 3, "end": "Close"})
    version = (await server.client.list("v1/configmaps")).resource_version
    url = f"{server.url}{CONFIG_MAPS}?watch=true&resourceVersion={version}"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        await asyncio.gather(*(server.client.create(config_map(f"b-{i}")) for i in range(5)))
        lines = (await answer.text()).splitlines()
    assert len(lines) == 3


async def test_bookmarks_can_be_withheld(server, fault):
    query = "&allowWatchBookmarks=true&sendInitialEvents=true"
    query += "&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"
    events, _ = await events_of(server, query)
    assert "BOOKMARK" in [event["type"] for event in events]
    await fault("q", watch={"withoutBookmarks": True})
    events, _ = await events_of(server, query)
    assert {event["type"] for event in events} == {"ADDED"}


async def watched_events(server, query, act, number):
    """That number of events of ConfigMaps, of a watch that is open before `act`."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{server.url}{CONFIG_MAPS}?watch=true{query}") as answer,
    ):
        await act()
        return [json.loads(await answer.content.readline()) for _ in range(number)]


async def test_a_merging_watch_shows_one_change_of_each_object(server, fault, config_map):
    kept = await server.client.create(config_map("kept"))
    again = await server.client.create(config_map("again"))
    gone = await server.client.create(config_map("gone"))
    await fault("mm", match={"resources": ["configmaps"]}, watch={"mergeSeconds": 0.2})

    async def act():
        await server.client.create(config_map("brief"))
        await server.client.update({**kept, "data": {"a": "1"}})
        await server.client.delete("v1/configmaps", "brief")
        await server.client.delete("v1/configmaps", "gone")
        await server.client.delete("v1/configmaps", "again")
        await server.client.create(config_map("again"))
        await server.client.create(config_map("fresh"))
        await server.client.patch("v1/configmaps", "kept", patch={"data": {"a": "2"}})

    version = gone["metadata"]["resourceVersion"]
    events = await watched_events(server, f"&resourceVersion={version}", act, 4)
    seen = [(each["type"], each["object"]["metadata"]["name"]) for each in events]
    assert seen == [
        ("DELETED", "gone"), ("MODIFIED", "again"), ("ADDED", "fresh"), ("MODIFIED", "kept"),
    ]  # fmt: skip
    assert events[1]["object"]["metadata"]["uid"] != again["metadata"]["uid"]
    assert events[3]["object"]["data"] == {"a": "2"}


async def test_a_merging_watch_ends_after_its_events_too(server, fault, config_map):
    version = (await server.client.list("v1/configmaps")).resource_version
    watch = {"mergeSeconds": 0.05, "events": 1, "end": "Close"}
    await fault("me", match={"resources": ["configmaps"]}, watch=watch)
    url = f"{server.url}{CONFIG_MAPS}?watch=true&resourceVersion={version}"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        for name in ("x", "y"):
            await server.client.create(config_map(name))
        assert len((await answer.text()).splitlines()) == 1


async def test_a_watch_repeats_what_a_list_has_shown(server, fault, config_map):
    created = await server.client.create(config_map("twice"))
    await server.client.update({**created, "data": {"a": "1"}})
    version = (await server.client.list("v1/configmaps")).resource_version
    await fault("rp", match={"resources": ["configmaps"]}, watch={"repeat": 1})

    async def act():
        await server.client.patch("v1/configmaps", "twice", patch={"data": {"a": "2"}})

    events = await watched_events(server, f"&resourceVersion={version}", act, 2)
    assert [each["object"]["data"] for each in events] == [{"a": "1"}, {"a": "2"}]


async def test_a_silent_watch_stays_open_and_sends_nothing(server, fault, config_map):
    version = (await server.client.list("v1/configmaps")).resource_version
    watch = {"events": 1, "end": "Silent", "withoutBookmarks": True}
    await fault("si", match={"resources": ["configmaps"]}, watch=watch)
    query = f"&resourceVersion={version}&allowWatchBookmarks=true"
    url = f"{server.url}{CONFIG_MAPS}?watch=true{query}"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        for name in ("seen", "unseen"):
            await server.client.create(config_map(name))
        first = json.loads(await answer.content.readline())
        assert first["object"]["metadata"]["name"] == "seen"
        assert not answer.content.at_eof()
        server.resources.get("", "configmaps").end_watches()
        assert await answer.content.read() == b""


async def test_several_faults_meet_one_request(server, web, fault):
    await fault("m-1", match={"verbs": ["list"]}, delay={"seconds": 0.05})
    await fault("m-2", match={"verbs": ["list"]}, answer={"code": 500})
    await fault("m-3", match={"verbs": ["list"]}, answer={"code": 503})
    begun = time.monotonic()
    assert (await web.ask("GET", NAMESPACES)).code == 500
    assert time.monotonic() - begun >= 0.05
    assert (await status_of(server, "m-2"))["injected"] == 1
    assert (await status_of(server, "m-3"))["matched"] == 0


async def test_missing_and_wrong_members_of_a_fault_are_named(fault):
    with pytest.raises(StatusError, match="one of delay, hold, answer, cut"):
        await fault("n", match={"verbs": ["get"]})
    with pytest.raises(StatusError, match="exclude each other"):
        await fault("n", answer={"code": 500}, cut="BeforeWrite")
    with pytest.raises(StatusError, match="labelSelector"):
        await fault("n", match={"labelSelector": "(("}, cut="BeforeWrite")


async def test_a_fault_applies_to_controllers_of_the_server_on_request(server, fault):
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "goes"}}
    await server.client.create(namespace)
    match = {"resources": ["namespaces/finalize", "namespaces/status", "namespaces"]}
    await fault("k", match=match, controllers=True, when={"times": 2}, answer={"code": 409})
    await server.client.delete("v1/namespaces", "goes")
    async with within():
        while (await status_of(server, "k"))["injected"] < 2:
            pass
        while "goes" in str((await server.client.list("v1/namespaces")).items):
            await server.settled()


async def test_the_count_of_a_fault_continues_after_a_restart(tmp_path, web_of):
    match = {"verbs": ["list"]}
    body = {
        "apiVersion": "world.inkube.dev/v1",
        "kind": "Fault",
        "metadata": {"name": "a"},
        "spec": {"match": match, "when": {"times": 2}, "answer": {"code": 500}},
    }
    codes = []
    for turn in range(2):
        async with APIServer(data=tmp_path / "data.db") as server, web_of(server) as web:
            if not turn:
                await server.client.create(body)
            codes += [(await web.ask("GET", NAMESPACES)).code for _ in range(2 - turn)]
            await server.settled()
    assert codes == [500, 500, 200]


@pytest.mark.parametrize(("moment", "exists"), [("BeforeWrite", False), ("AfterWrite", True)])
async def test_a_request_is_held_until_its_fault_is_deleted(
    server, web, fault, config_map, moment, exists
):
    name = f"held-{moment.lower()}"
    await fault(name, match={"verbs": ["create"], "names": [name]}, hold={"moment": moment})
    request = asyncio.create_task(web.ask("POST", CONFIG_MAPS, config_map(name)))
    async with within():
        while (await status_of(server, name)).get("held") != 1:
            await server.store.reached(server.store.revision + 1)
    found = [obj["metadata"]["name"] for obj in await server.client.list("v1/configmaps")]
    assert (name in found) is exists
    assert not request.done()
    await server.client.delete(FAULTS, name)
    assert (await request).code == 201


async def test_a_held_request_continues_after_its_longest_wait(server, web, fault, config_map):
    await fault("short", match={"verbs": ["create"]}, hold={"seconds": 0.01})
    assert (await web.ask("POST", CONFIG_MAPS, config_map("short"))).code == 201


async def test_a_held_request_continues_when_its_fault_changes(server, web, fault, config_map):
    await fault("changing", match={"verbs": ["create"], "resources": ["configmaps"]}, hold={})
    request = asyncio.create_task(web.ask("POST", CONFIG_MAPS, config_map("changing")))
    async with within():
        while (await status_of(server, "changing")).get("held") != 1:
            await server.store.reached(server.store.revision + 1)
    await server.client.patch(FAULTS, "changing", patch={"spec": {"match": {"verbs": ["delete"]}}})
    assert (await request).code == 201
