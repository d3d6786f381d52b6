"""A server that was stopped while another wrote and compacted catches up completely.

It cannot get the single changes, so it reads everything again. Everything that follows the store
and caches derived data has to notice this.
"""

import ast
import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import boats
import patience
import pytest

import inkube
from inkube import APIServer
from inkube.apiserver.configuration import Options
from inkube.apiserver.registry import selections
from inkube.apiserver.testing import kube as testing
from inkube.apiserver.testing.log import TestLog
from inkube.schemas.status import StatusError
from inkube.storage.following import Following
from inkube.storage.store import Store

SOURCES = Path(inkube.__file__).parent / "apiserver"
MAPS = "/api/v1/namespaces/default/configmaps"
CRDS = "apiextensions.k8s.io/v1/customresourcedefinitions"
PATIENCE = patience.SECONDS


class Pair(NamedTuple):
    """Two servers on one file; `here` is stopped at times."""

    here: APIServer
    there: APIServer
    web: aiohttp.ClientSession

    @contextlib.asynccontextmanager
    async def asleep(self) -> AsyncIterator[None]:
        """In this block, `here` receives no changes of `there`; afterwards the log begins after
        them."""
        async with asleep(self.here.store, self.there.store):
            yield

    async def get(self, path: str) -> int:
        """Return the status code of a request to `here`."""
        async with self.web.get(self.here.url + path) as answer:
            return answer.status


@contextlib.asynccontextmanager
async def asleep(store: Store, other: Store) -> AsyncIterator[None]:
    """In this block, a store reads nothing until `other` has compacted all its writes."""
    async with store._writer._lock:
        yield
        last = await other.create(f"/elsewhere/{other.revision}", {"metadata": {}})
        await other.compact(last.revision)
    await store.current()
    assert store.compacted == last.revision


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    data = tmp_path / "inkube.db"
    async with (
        APIServer(data=data, durable=False) as here,
        APIServer(data=data, durable=False, controllers=False) as there,
        aiohttp.ClientSession() as web,
    ):
        yield Pair(here, there, web)


SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "s", "namespace": "default"},
    "spec": {"ports": [{"port": 80}]},
}
"""The first of them creates the allocator, which follows services from then on."""
WAIT_FOR_ONE = {"accounts.py", "acting.py"}
"""Modules that follow the store only for a time: until an expected object appears, or during one
run of an exploration, whose store nobody shares."""


def config_map(name: str, **meta: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "default", **meta}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


def calls(path: Path) -> list[ast.Call]:
    """Return every call of a method in a module."""
    found = ast.walk(ast.parse(path.read_text()))
    return [e for e in found if isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute)]


def places(method: str) -> set[tuple[str, int]]:
    """Return the calls of that method in apiserver: file and line."""
    return {
        (path.name, call.lineno)
        for path in SOURCES.rglob("*.py")
        for call in calls(path)
        if isinstance(call.func, ast.Attribute) and call.func.attr == method
    }


def test_a_watch_without_a_way_to_end_it_gets_no_changes():
    delivered = [
        f"{path.name}:{call.lineno}"
        for path in SOURCES.rglob("*.py")
        for call in calls(path)
        if isinstance(call.func, ast.Attribute)
        and (
            (call.func.attr == "subscribe" and any(k.arg == "deliver" for k in call.keywords))
            or (call.func.attr == "attach" and len(call.args) + len(call.keywords) < 2)
        )
    ]
    assert delivered == []


async def test_all_followers_of_the_store_list_again_and_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(selections, "MANY", 0)
    made: dict[Following, tuple[str, int]] = {}
    told: list[Following] = []
    real = Following.__init__

    def init(self: Following, subscribe: Any, prefix: str, hear: Any, anew: Any) -> None:
        frame = sys._getframe(2)  # the caller of `follow`

        def again() -> None:
            told.append(self)
            anew()

        made[self] = Path(frame.f_code.co_filename).name, frame.f_lineno
        real(self, subscribe, prefix, hear, again)

    monkeypatch.setattr(Following, "__init__", init)

    async def nothing(request: Any) -> Any:
        raise aiohttp.web.HTTPNotFound

    options = Options(
        data=tmp_path / "inkube.db", durable=False, aggregated={"v1.x.example.com": nothing}
    )
    here, log = APIServer(options), TestLog()
    following = await testing._start(here, testing.Plan(options), log)
    async with (
        contextlib.AsyncExitStack() as stack,
        APIServer(data=options.data, durable=False, controllers=False) as there,
    ):
        stack.push_async_callback(testing._stop, here, following)
        for _ in range(selections.OFTEN):
            async with aiohttp.ClientSession() as web:
                await web.get(f"{here.url}{MAPS}?labelSelector=a%3Db")
        await here.client.create(SERVICE)
        mine = [
            each for each in made if not each.is_closed and each._subscribe == here.store.subscribe
        ]
        lasting = {place for place in places("follow") if place[0] not in WAIT_FOR_ONE}
        assert {made[each] for each in mine} >= lasting
        async with asleep(here.store, there.store):
            await there.client.create(config_map("one"))
        assert set(told) >= set(mine), "each is told once that it missed something"
        assert len(told) == len(set(told))
        assert log.gaps == 1
        lost = {made[each][0] for each in mine if each.is_closed}
        assert lost == {"selections.py"}, "an index is made again when it is asked for"


async def test_a_server_that_slept_knows_a_fault(pair: Pair):
    async with pair.asleep():
        spec = {"match": {"verbs": ["list"], "resources": ["configmaps"]}, "answer": {"code": 503}}
        await pair.there.client.create(
            {"apiVersion": "world.inkube.dev/v1", "kind": "Fault", "metadata": {"name": "f"}}
            | {"spec": spec}
        )
    assert await pair.get(MAPS) == 503
    async with pair.asleep():
        await pair.there.client.delete("world.inkube.dev/v1/faults", "f")
    assert await pair.get(MAPS) == 200


async def test_a_server_that_slept_serves_a_new_definition(pair: Pair):
    async with pair.asleep():
        await pair.there.client.create(boats.definition({"type": "object"}))
        await pair.there.settled()
    path = "/apis/example.com/v1/namespaces/default/boats"
    assert await pair.get(path) == 200
    async with pair.asleep():
        await pair.there.client.delete(CRDS, "boats.example.com")
        await pair.there.settled()
    await pair.here.settled()
    assert await pair.get(path) == 404


async def test_a_server_that_slept_passes_on_requests_to_a_group_until_its_end(pair: Pair):
    service = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1.far.example.com"},
        "spec": {
            "group": "far.example.com",
            "version": "v1",
            "service": {"namespace": "default", "name": "far"},
            "insecureSkipTLSVerify": True,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
        },
    }
    path = "/apis/far.example.com/v1/things"
    for _ in range(2):  # noticed first, then followed
        async with pair.asleep():
            await pair.there.client.create(service)
        assert await pair.get(path) == 503
        async with pair.asleep():
            await pair.there.client.delete(
                "apiregistration.k8s.io/v1/apiservices", "v1.far.example.com"
            )
        assert await pair.get(path) == 404


async def test_a_server_that_slept_collects_objects_without_owners(pair: Pair):
    owner = await pair.here.client.create(config_map("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner"}
    reference["uid"] = owner["metadata"]["uid"]
    await pair.here.client.create(config_map("owned", ownerReferences=[reference]))
    await pair.here.settled()
    async with pair.asleep():
        await pair.there.client.delete("v1/configmaps", "owner", "default")
        # no controller knew it yet when its owner was deleted
        await pair.there.client.create(config_map("late", ownerReferences=[reference]))
    await pair.here.settled()
    names = {each.key.rpartition("/")[2] for each in pair.here.store.list("/registry/configmaps/")}
    assert not names & {"owner", "owned", "late"}


async def test_a_server_that_slept_counts_quotas_again(pair: Pair):
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "default"},
        "spec": {"hard": {"count/configmaps": "5"}},
    }
    await pair.here.client.create(quota)
    await pair.here.settled()
    await pair.here.client.create(config_map("one"))
    await pair.here.settled()

    async def used() -> str:
        found = await pair.here.client.get("v1/resourcequotas", "q", "default")
        return str(found["status"]["used"]["count/configmaps"])

    before = int(await used())
    async with pair.asleep():
        await pair.there.client.delete("v1/configmaps", "one", "default")
    await pair.here.settled()
    assert int(await used()) == before - 1


async def test_a_server_that_slept_empties_a_deleted_namespace(pair: Pair):
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gone"}}
    await pair.here.client.create(space)
    held = config_map("held", namespace="gone", finalizers=["example.com/mine"])
    await pair.here.client.create(held)
    await pair.here.client.delete("v1/namespaces", "gone")
    await pair.here.settled()
    async with pair.asleep():
        patch = {"metadata": {"finalizers": None}}
        await pair.there.client.patch("v1/configmaps", "held", "gone", patch=patch)
    await pair.here.settled()
    with pytest.raises(StatusError) as refused:
        await pair.here.client.get("v1/namespaces", "gone")
    assert refused.value.code == 404


async def test_a_watcher_gets_expired_at_once_if_its_version_is_too_old(pair: Pair):
    made = await pair.here.client.create(config_map("one"))
    version = made["metadata"]["resourceVersion"]
    address = f"{pair.here.url}{MAPS}?watch=1&resourceVersion={version}"
    async with pair.web.get(address) as stream, asyncio.timeout(PATIENCE):
        await pair.here.client.create(config_map("two"))
        told = json.loads(await stream.content.readline())
        assert told["object"]["metadata"]["name"] == "two"
        async with pair.asleep():
            await pair.there.client.create(config_map("three"))
        told = json.loads(await stream.content.readline())
        assert (told["type"], told["object"]["code"]) == ("ERROR", 410)
        assert await stream.content.read() == b""


async def test_settled_waits_for_informers_to_list_again(pair: Pair):
    informer = pair.here.manager.informers.of("v1/secrets")
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": "default"},
    }
    await pair.here.client.create(body)
    await pair.here.settled()
    assert [each["metadata"]["name"] for each in informer.items()] == ["s"]
    async with pair.asleep():
        await pair.there.client.delete("v1/secrets", "s", "default")
    await pair.here.settled()
    assert list(informer.items()) == []
