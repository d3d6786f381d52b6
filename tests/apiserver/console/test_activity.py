"""The newest changes and the open watches at `/debug/activity`."""

import json
from typing import Any

import aiohttp
import pytest

from inkube import APIServer
from inkube.apiserver.console import activity

MAPS = "/api/v1/namespaces/default/configmaps"


async def _read(server: APIServer, after: int | str = 0) -> Any:
    address = f"{server.url}{activity.PATH}?after={after}"
    async with aiohttp.request("GET", address) as answer:
        return json.loads(await answer.read())


async def test_a_change_is_shown_with_its_object_time_and_manager():
    async with APIServer() as server:
        before = server.parts.core.base.store.revision
        made = await server.client.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"b": "c"}}
        )
        await server.client.delete("v1/configmaps", "a")
        found = await _read(server, before)
    created, deleted = found["changes"]
    assert created.pop("time").startswith(made["metadata"]["creationTimestamp"][:10])
    assert created == {
        "revision": made["metadata"]["resourceVersion"], "type": "ADDED",
        "apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "a",
        "managers": ["inkube"],
    }  # fmt: skip
    assert (deleted["type"], deleted["managers"]) == ("DELETED", [])
    assert found["revision"] == deleted["revision"]


async def test_only_the_newest_changes_are_shown(monkeypatch: Any):
    monkeypatch.setattr(activity, "MAX_CHANGES", 3)
    async with APIServer() as server:
        for number in range(5):
            await server.client.create(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"m{number}"}}
            )
        found = await _read(server)
    assert [each["name"] for each in found["changes"]] == ["m2", "m3", "m4"]


async def test_watches_are_counted_by_client():
    async with APIServer() as server:
        asked = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        address = f"{server.url}{MAPS}?watch=true&{asked}"
        async with aiohttp.request("GET", address, headers={"User-Agent": "me/1"}) as watch:
            await watch.content.readline()  # the bookmark: the watch is open
            found = await _read(server)
    assert found["watches"] == {"me/1": 1}


@pytest.mark.parametrize("after", ["", "-1", "x", "9" * 30])
async def test_what_is_no_revision_is_refused(after: str):
    async with APIServer() as server:
        found = await _read(server, after)
    assert (found["code"], found["reason"]) == (400, "BadRequest")


async def test_users_need_the_right_to_read_it(tmp_path: Any):
    (tmp_path / "tokens.csv").write_text("letmein,ann,1\n")
    async with APIServer(
        token_auth_file=tmp_path / "tokens.csv", authorization_mode="RBAC"
    ) as server:
        headers = {"Authorization": "Bearer letmein"}
        address = f"{server.url}{activity.PATH}"
        async with aiohttp.request("GET", address, headers=headers) as answer:
            assert answer.status == 403
