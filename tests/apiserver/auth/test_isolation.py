"""Levels of priority do not disturb each other, and wide requests take several seats.

The laws that Kubernetes' own integration suite checks (test/integration/apiserver/flowcontrol).
"""

import asyncio
import contextlib
import re

import aiohttp
import pytest

from inkube import APIServer
from inkube.apiserver.auth.queues import Pool
from inkube.apiserver.auth.work import Estimator
from inkube.apiserver.http import requests
from inkube.apiserver.samples import Samples
from inkube.controllers.clock import FakeClock
from inkube.schemas import status

GROUP = "/apis/flowcontrol.apiserver.k8s.io/v1"
EVERYTHING = {
    "verbs": ["*"],
    "apiGroups": ["*"],
    "resources": ["*"],
    "namespaces": ["*"],
    "clusterScope": True,
}


def level(name, shares=1, *, queues=100, hand_size=1, length=50, lendable=0, borrowing=0):
    queuing = {"queues": queues, "handSize": hand_size, "queueLengthLimit": length}
    response = {"type": "Queue", "queuing": queuing} if queues else {"type": "Reject"}
    limited = {
        "nominalConcurrencyShares": shares,
        "lendablePercent": lendable,
        "borrowingLimitPercent": borrowing,
        "limitResponse": response,
    }
    return {
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {"type": "Limited", "limited": limited},
    }


def schema(user):
    return {
        "metadata": {"name": user},
        "spec": {
            "priorityLevelConfiguration": {"name": user},
            "matchingPrecedence": 1000,
            "distinguisherMethod": {"type": "ByUser"},
            "rules": [
                {
                    "subjects": [{"kind": "User", "user": {"name": user}}],
                    "resourceRules": [EVERYTHING],
                }
            ],
        },
    }


async def figures(session, name):
    """A metric by priority level."""
    async with session.get("/metrics") as answer:
        text = await answer.text()
    lines = re.finditer(rf'^{name}{{.*priority_level="([^"]*)".*}} (\S+)$', text, re.MULTILINE)
    return {found[1]: float(found[2]) for found in lines}


async def repeat(port, user, enough, done=None):
    """List namespaces on one connection until `enough` is set; `done` counts the answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"GET /api/v1/namespaces HTTP/1.1\r\nHost: localhost\r\nImpersonate-User: {user}\r\n\r\n"
    while not enough.is_set():
        writer.write(head.encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200 "), answer
        length = re.search(rb"content-length: (\d+)", answer, re.IGNORECASE)
        await reader.readexactly(int(length[1]))
        if done is not None:
            done.append(user)
            if len(done) == 100:
                enough.set()
    writer.close()


async def test_many_clients_of_one_priority_level_leave_the_other_level_its_share():
    narrow = APIServer(max_requests_inflight=1, max_mutating_requests_inflight=1)
    async with narrow as server, aiohttp.ClientSession(server.url) as session:
        for user in ("elephant", "mouse"):
            configuration = level(user)
            del configuration["metadata"]["uid"]
            for plural, body in (
                ("prioritylevelconfigurations", configuration),
                ("flowschemas", schema(user)),
            ):
                async with session.post(f"{GROUP}/{plural}", json=body) as answer:
                    assert answer.status == 201, await answer.text()
        nominal = await figures(session, "apiserver_flowcontrol_nominal_limit_seats")
        assert (nominal["elephant"], nominal["mouse"]) == (1, 1)
        enough, port = asyncio.Event(), server.port
        await asyncio.gather(
            *(repeat(port, "elephant", enough) for _ in range(51)),
            *(repeat(port, "mouse", enough, []) for _ in range(3)),
        )
        dispatched = await figures(session, "apiserver_flowcontrol_dispatched_requests_total")
        refused = await figures(session, "apiserver_flowcontrol_rejected_requests_total")
    assert refused == {}
    assert 0.5 <= dispatched["elephant"] / dispatched["mouse"] <= 2, dispatched


def pool(*levels, size=10):
    made = Pool(size, Samples())
    made.configure(levels)
    return made.levels


async def enter(one, seats=1):
    """Take seats as a flow does."""
    if not one.take(seats):
        await one.wait(one.hand("flow"), one.usage_of("flow"), seats, 15)


async def turn():
    """Let the callbacks of this turn and their tasks run."""
    for _ in range(4):
        await asyncio.sleep(0)


async def test_a_request_with_several_seats_waits_for_all_and_others_wait_behind_it():
    one = pool(level("one"), size=10)["one"]
    await enter(one, 6)
    wide = asyncio.create_task(enter(one, 5))
    await turn()
    narrow = asyncio.create_task(enter(one))
    await turn()
    assert (one.used, one.waiting) == (6, 2)
    one.release(6)
    await asyncio.gather(wide, narrow)
    assert (one.used, one.waiting) == (6, 0)


async def test_a_request_that_is_alone_runs_with_too_many_seats():
    one = pool(level("one"), size=2)["one"]
    await enter(one, 5)
    assert one.used == 5
    assert not one.has_room(1)


async def test_a_wide_request_that_gives_up_lets_those_behind_it_run():
    one = pool(level("one"), size=4)["one"]
    await enter(one, 2)
    wide = asyncio.create_task(enter(one, 3))
    await turn()
    narrow = asyncio.create_task(enter(one))
    await turn()
    wide.cancel()
    await narrow
    assert (one.used, one.waiting, one.pool.waiting) == (3, 0, 0)
    with pytest.raises(asyncio.CancelledError):
        await wide


async def test_a_level_borrows_lent_seats_only_and_the_lender_keeps_its_own():
    lender, borrower = level("lender", lendable=50), level("borrower", borrowing=None)
    levels = pool(lender, borrower, size=8)
    assert levels["borrower"].has_room(6)
    assert not levels["borrower"].has_room(7) or not levels["borrower"].used
    await enter(levels["borrower"], 6)
    assert not levels["borrower"].has_room(1)
    assert levels["lender"].has_room(4), "its own seats are always its own"


async def test_a_deleted_level_serves_those_that_wait_on_it():
    made = Pool(1, Samples())
    made.configure([level("one")])
    one = made.levels["one"]
    await enter(one)
    waits = asyncio.create_task(enter(one))
    await turn()
    assert made.configure([level("other")]).keys() == {"other"}
    assert made.levels["one"].is_quiescing
    one.release(1)
    await waits
    one.release(1)
    await turn()
    made.configure([level("other")])
    assert made.levels.keys() == {"other"}


async def test_a_level_without_queues_refuses():
    one = pool(level("one", queues=0), size=1)["one"]
    await enter(one)
    with pytest.raises(status.StatusError) as refused:
        await enter(one)
    assert refused.value.code == 429


def read(target, method="GET"):
    path, _, query = target.partition("?")
    return requests.parse(method, path, query)


MAPS = "/api/v1/namespaces/default/configmaps"
ONE = "fieldSelector=metadata.name%3Dit-1"


async def test_seats_follow_the_bytes_of_lists_and_the_watches_of_writes():
    async with APIServer(controllers=False) as server:
        for number in range(20):
            await server.client.create(
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"name": f"it-{number}", "namespace": "default"},
                    "data": {"it": "x" * 20_000},
                }
            )
        estimator = Estimator(server.store, server.resources)

        def seats(target, most=100):
            return estimator.of_list(read(target), most).seats

        assert seats("/api/v1/configmaps") == seats(MAPS) == 5, "400 kB and a little"
        assert seats(f"{MAPS}?limit=5") == 2
        assert seats(f"{MAPS}?limit=1") == seats(f"{MAPS}/it-1") == 1
        assert seats(f"{MAPS}?{ONE}") == 1
        assert seats("/api/v1/configmaps", most=3) == 3
        assert seats("/api/v1/secrets") == seats("/apis/example.com/v1/things") == 1
        assert seats(f"{MAPS}?watch=true") == 5
        assert seats(f"{MAPS}?watch=true&resourceVersion=7") == 1
        assert seats(f"{MAPS}?watch=true&resourceVersion=7&sendInitialEvents=true") == 5

        write = read(f"{MAPS}/it-1", "PUT")
        with contextlib.ExitStack() as open_watches:
            for target in ("/api/v1/configmaps?", f"{MAPS}?", f"{MAPS}?{ONE}&"):
                for _ in range(7):
                    open_watches.enter_context(estimator.watching(read(f"{target}watch=true")))
            open_watches.enter_context(estimator.watching(read(MAPS)))  # not a watch
            assert estimator.watches_of(write) == 21
            work = estimator.of_write(write, 2)
            assert (work.seats, work.after) == (2, 2), "three are wanted"
            assert work.seconds == pytest.approx(0.0075)
            other = read("/api/v1/namespaces/other/configmaps/it", "PUT")
            assert estimator.of_write(other, 2).seats == 1
        assert estimator.watches_of(write) == 0


async def condition(session, kind):
    async with session.get(f"{GROUP}/flowschemas/exempt") as answer:
        found = (await answer.json())["status"]["conditions"]
    return next((each["status"] for each in found if each["type"] == kind), None)


async def test_conditions_of_other_writers_stay_beside_the_condition_of_the_server():
    async with APIServer() as server, aiohttp.ClientSession(server.url) as session:
        await condition_of_the_server(server, session)
        status_path = f"{GROUP}/flowschemas/exempt/status"
        added = {
            "type": "test-ssa",
            "status": "True",
            "reason": "Test",
            "message": "for testing",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        applied = {
            "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
            "kind": "FlowSchema",
            "metadata": {"name": "exempt"},
            "status": {"conditions": [added]},
        }
        for media, body, query in (
            ("application/apply-patch+yaml", applied, "?fieldManager=test"),
            (
                "application/strategic-merge-patch+json",
                {"status": {"conditions": [{**added, "type": "test-smp"}]}},
                "",
            ),
        ):
            async with session.patch(
                f"{status_path}{query}", json=body, headers={"Content-Type": media}
            ) as answer:
                assert answer.status == 200, await answer.text()
            assert await condition(session, "Dangling") == "False" or "merge" in media
            assert await condition(session, body["status"]["conditions"][0]["type"]) == "True"
        await server.settled()
        assert await condition(session, "Dangling") == "False"


async def condition_of_the_server(server, session):
    async with session.get(f"{GROUP}/flowschemas") as answer:
        assert answer.status == 200
    await server.settled()
    assert await condition(session, "Dangling") == "False"


async def test_a_condition_that_others_change_back_is_written_six_times_a_minute():
    clock = FakeClock(ticking=True)
    async with APIServer(clock=clock) as server, aiohttp.ClientSession(server.url) as session:
        await condition_of_the_server(server, session)
        opposite = {
            "type": "Dangling",
            "status": "True",
            "reason": "Test",
            "message": "the opposite",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }

        async def fight():
            """Write the opposite condition. Returns whether the server writes its own again."""
            async with session.patch(
                f"{GROUP}/flowschemas/exempt/status",
                json={"status": {"conditions": [opposite]}},
                headers={"Content-Type": "application/merge-patch+json"},
            ) as answer:
                assert answer.status == 200, await answer.text()
            await server.settled()
            return await condition(session, "Dangling") == "False"

        assert [await fight() for _ in range(7)] == [*[True] * 6, False]
        clock.advance(61)
        await server.settled()
        assert await condition(session, "Dangling") == "False"


async def test_a_suggested_schema_dangles_once_its_level_is_deleted():
    async with APIServer() as server, aiohttp.ClientSession(server.url) as session:
        await condition_of_the_server(server, session)
        async with session.delete(f"{GROUP}/prioritylevelconfigurations/workload-low") as answer:
            assert answer.status == 200
        await server.settled()
        async with session.get(f"{GROUP}/flowschemas/service-accounts") as answer:
            (found,) = (await answer.json())["status"]["conditions"]
        assert (found["status"], found["reason"]) == ("True", "NotFound")
