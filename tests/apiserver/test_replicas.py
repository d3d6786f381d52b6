"""Servers on one log: each knows what any other acknowledged, and handles an unavailable log."""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import boats
import pytest

from inkube import APIServer
from inkube.apiserver.registry import versions

MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


class Web:
    """A client of one server."""

    def __init__(self, server: APIServer, session: aiohttp.ClientSession) -> None:
        self.server = server
        self._session = session

    async def __call__(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        async with self._session.request(method, self.server.url + path, json=body) as answer:
            text = await answer.text()
            self.headers = answer.headers
        return answer.status, json.loads(text) if text.startswith("{") else text

    def watch(self, path: str) -> Any:
        return self._session.get(f"{self.server.url}{path}")


@contextlib.asynccontextmanager
async def serving(count: int, **options: Any) -> AsyncIterator[list[Web]]:
    async with contextlib.AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession())
        yield [
            Web(await stack.enter_async_context(APIServer(**options)), session)
            for _ in range(count)
        ]


@pytest.fixture(params=["a file", "PostgreSQL"])
async def pair(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[list[Web]]:
    if request.param == "a file":
        options: dict[str, Any] = {"data": tmp_path / "inkube.db", "durable": False}
    else:
        options = {"database": await request.getfixturevalue("cluster").database()}
    async with serving(2, controllers=False, **options) as webs:
        yield webs


async def test_a_write_that_one_server_acknowledged_is_read_by_the_other_at_once(pair: list[Web]):
    here, there = pair
    for n in range(20):
        code, made = await here("POST", MAPS, config_map(f"m{n}"))
        assert code == 201
        assert await there("GET", f"{MAPS}/m{n}") == (200, made)
        _, listed = await there("GET", MAPS)
        assert f"m{n}" in [item["metadata"]["name"] for item in listed["items"]]
        here, there = there, here


async def test_each_of_a_crowd_reads_what_was_acknowledged_to_it(pair: list[Web]):
    """Concurrent requests share the query for the newest revision, but none gets an older state."""

    async def take_turns(who: int) -> None:
        for n in range(25):
            here, there = pair if (who + n) % 2 else pair[::-1]
            code, made = await here("POST", MAPS, config_map(f"m{who}-{n}"))
            assert code == 201
            assert await there("GET", f"{MAPS}/m{who}-{n}") == (200, made)

    await asyncio.gather(*(take_turns(who) for who in range(16)))


async def test_writes_are_judged_by_the_newest_state_whoever_made_it(pair: list[Web]):
    here, there = pair
    _, made = await here("POST", MAPS, config_map("m"))
    for n in range(20):
        code, made = await there("PUT", f"{MAPS}/m", {**made, "data": {"n": str(n)}})
        assert code == 200
        here, there = there, here
    assert (await here("DELETE", f"{MAPS}/m"))[0] == 200
    assert (await there("DELETE", f"{MAPS}/m"))[0] == 404
    assert (await there("POST", MAPS, config_map("m")))[0] == 201
    assert (await here("POST", MAPS, config_map("m")))[0] == 409


async def test_a_namespace_of_one_takes_objects_at_the_other(pair: list[Web]):
    here, there = pair
    for n in range(5):
        assert (await here("POST", "/api/v1/namespaces", {"metadata": {"name": f"n{n}"}}))[0] == 201
        path = f"/api/v1/namespaces/n{n}/configmaps"
        assert (await there("POST", path, config_map("m")))[0] == 201


async def test_a_watch_of_one_server_continues_at_the_other(pair: list[Web]):
    here, there = pair
    _, first = await here("POST", MAPS, config_map("first"))
    version, told = first["metadata"]["resourceVersion"], []
    for n in range(4):
        async with there.watch(f"{MAPS}?watch=1&resourceVersion={version}") as stream:
            await here("POST", MAPS, config_map(f"m{n}"))
            event = json.loads(await stream.content.readline())
        told.append(event["object"]["metadata"]["name"])
        version = event["object"]["metadata"]["resourceVersion"]
        here, there = there, here
    assert told == ["m0", "m1", "m2", "m3"]


async def test_a_definition_of_one_is_served_by_the_other(pair: list[Web]):
    here, there = pair
    crd = boats.definition({"type": "object"})
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert (await here("POST", path, crd))[0] == 201
    await asyncio.gather(here.server.settled(), there.server.settled())
    # it may have settled before the other's last status update
    await there.server.store.reached(here.server.store.revision)
    await there.server.settled()
    path = "/apis/example.com/v1/namespaces/default/boats"
    body = {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "argo"}}
    assert (await here("POST", path, body))[0] == 201
    assert (await there("GET", f"{path}/argo"))[0] == 200


async def test_a_version_nobody_made_is_waited_for_and_then_refused(
    pair: list[Web], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(versions, "BLOCK_SECONDS", 0.05)
    here, there = pair
    newest = here.server.store.revision
    code, body = await there("GET", f"{MAPS}?resourceVersion={newest + 1000}")
    assert (code, body["reason"]) == (504, "Timeout")
    assert "Too large resource version" in body["message"]
    assert (await there("GET", f"{MAPS}?resourceVersion=0"))[0] == 200


async def test_a_version_that_is_about_to_come_is_waited_for(pair: list[Web]):
    here, there = pair
    await here.server.store.current()
    wanted = here.server.store.revision + 1
    reading = asyncio.create_task(there("GET", f"{MAPS}?resourceVersion={wanted}"))
    await asyncio.sleep(0)
    await here("POST", MAPS, config_map("m"))
    code, listed = await reading
    assert code == 200
    assert int(listed["metadata"]["resourceVersion"]) >= wanted


async def test_replicas_share_their_keys(cluster: Any):
    async with serving(2, database=await cluster.database()) as (here, there):
        account = "/api/v1/namespaces/default/serviceaccounts"
        await here("POST", account, {"metadata": {"name": "robot"}})
        _, made = await here("POST", f"{account}/robot/token", {"spec": {}})
        # tokens are looked up in the data that a server has received
        await there.server.store.reached(here.server.store.revision)
        review = {"spec": {"token": made["status"]["token"]}}
        _, told = await there("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)
        assert told["status"]["user"]["username"] == "system:serviceaccount:default:robot"
        assert (
            here.server.parts.core.base.keys.admin_token
            == there.server.parts.core.base.keys.admin_token
        )


async def test_while_the_database_is_away_old_reads_continue_and_writes_get_retry_after(
    own_cluster: Any, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.CRITICAL, "inkube.apiserver.app")
    async with serving(1, database=await own_cluster.database()) as (web,):
        assert (await web("POST", MAPS, config_map("kept")))[0] == 201
        assert (await web("GET", "/readyz"))[0] == 200
        await asyncio.to_thread(own_cluster.stop)
        code, body = await web("POST", MAPS, config_map("refused"))
        assert (code, body["reason"]) == (503, "ServiceUnavailable")
        assert web.headers["Retry-After"] == "1"
        assert (await web("GET", f"{MAPS}/kept"))[0] == 503
        assert (await web("GET", f"{MAPS}/kept?resourceVersion=0"))[0] == 200
        assert (await web("GET", "/livez"))[0] == 200
        code, told = await web("GET", "/readyz")
        assert code == 500
        assert "[-]log failed: postgresql://127.0.0.1/" in told
        await asyncio.to_thread(own_cluster.start)
        while (await web("GET", "/readyz"))[0] != 200:
            pass
        assert (await web("GET", f"{MAPS}/kept"))[0] == 200
        assert (await web("GET", f"{MAPS}/refused"))[0] == 404
        assert (await web("POST", MAPS, config_map("refused")))[0] == 201


def test_the_error_of_a_url_of_another_database_shows_the_right_form():
    async def start() -> None:
        async with APIServer(database="mysql://host/name"):
            pass

    with pytest.raises(ValueError, match="postgresql://user@host/name"):
        asyncio.run(start())
