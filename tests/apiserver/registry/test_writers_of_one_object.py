"""Concurrent writers of one object, on two servers with one log whose commits fail at random.

The stored states must form one order of the writes. Each response must be the object as stored at
its revision, and no reader or writer may see a state that is not stored.
"""

import asyncio
import itertools
import json
import random
from collections.abc import Callable
from typing import Any, Self
from unittest import mock

import engines
from hypothesis import given, settings
from hypothesis import strategies as st
from shakylog import ShakyLog

from inkube import APIServer
from inkube.apiserver.registry import keys
from inkube.apiserver.registry.engine import FastEngine, queues
from inkube.apiserver.sources import foundation
from inkube.schemas.status import Reason, StatusError
from inkube.storage.entry import Change

Object = dict[str, Any]
MAPS, NAMESPACE = "v1/configmaps", "default"
NAMES = ("a", "b")
STORED = keys.prefix("configmaps")
CLIENTS, WRITES = 5, 6
HOLD = "example.com/hold"
UNKNOWN = 503
"""The code of a write whose commit failed: it can be stored or not."""


class Server(APIServer):
    """A server on a given log."""

    def __init__(self, log: ShakyLog, *, pipelined: bool = True) -> None:
        super().__init__(controllers=False, pipelined_writes=pipelined)
        self._shaky = log

    async def __aenter__(self) -> Self:
        with mock.patch.object(foundation, "log", return_value=self._shaky):
            return await super().__aenter__()


class Writers:
    """Clients of the servers. `made` maps the tag of a write to a function from the previous state
    to the new one."""

    def __init__(self, chance: random.Random, servers: list[Server]) -> None:
        self.chance = chance
        self.servers = servers
        self.made: dict[str, Callable[[Object], Object]] = {}
        self.answers: list[tuple[str, Object]] = []
        self.never: set[str] = set()
        """Tags of refused writes and dry runs."""
        self.refusals: list[tuple[str, Any]] = [
            (Reason.INVALID, self.invalid),
            (Reason.CONFLICT, self.put),
            (Reason.CONFLICT, self.stale),
            (Reason.CONFLICT, self.delete_if),
        ]
        self.done = False

    async def live(self, client: int) -> None:
        """Some writes of one client, one after the other."""
        for number in range(WRITES):
            tag, server = f"t{client}-{number}", self.chance.choice(self.servers)
            write = self.chance.choice([
                *3 * [self.merge], *2 * [self.json], *2 * [self.apply],
                self.put, self.put_blindly, self.stale, self.dry, self.invalid, self.nothing,
                self.delete, self.delete_if, self.hold, self.release,
            ])  # fmt: skip
            name = self.chance.choice(NAMES)
            try:
                await write(server, name, tag)
            except StatusError as error:
                if error.code == UNKNOWN:
                    continue
                self.never.add(tag)
                if error.reason == Reason.NOT_FOUND:
                    await self.create(server, name, f"{tag}-new")
                elif (error.reason, write) not in self.refusals:
                    raise

    async def read(self) -> None:
        """Read until the writers finish. The states that one server shows never go back."""
        newest = dict.fromkeys(itertools.product(range(len(self.servers)), NAMES), 0)
        while not self.done:
            for (place, name), before in newest.items():
                try:
                    found = await self.servers[place].client.get(MAPS, name, NAMESPACE)
                except StatusError:
                    continue
                newest[place, name] = int(found["metadata"]["resourceVersion"])
                assert newest[place, name] >= before
                self.told("", found)
            await asyncio.sleep(0)

    async def create(self, server: Server, name: str, tag: str) -> None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {tag: ""}}
        body["metadata"] = {"name": name, "namespace": NAMESPACE}
        self.made[tag] = lambda before: {tag: ""}
        try:
            self.told(tag, await server.client.create(body))
        except StatusError as error:
            if error.code == UNKNOWN:
                return
            if error.reason != Reason.ALREADY_EXISTS:
                raise
            self.never.add(tag)

    async def merge(self, server: Server, name: str, tag: str) -> None:
        await self._patch(server, name, tag, "merge", {"data": {tag: ""}})

    async def json(self, server: Server, name: str, tag: str) -> None:
        steps: list[Object] = [{"op": "add", "path": f"/data/{tag}", "value": ""}]
        if self.chance.random() < 0.3:  # it reads the resourceVersion, and stores it
            version = {"op": "copy", "from": "/metadata/resourceVersion"}
            steps += [
                {"op": "add", "path": "/metadata/annotations", "value": {}},
                {**version, "path": "/metadata/annotations/before"},
            ]
        await self._patch(server, name, tag, "json", steps)

    async def apply(self, server: Server, name: str, tag: str) -> None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {tag: ""}}
        body["metadata"] = {"name": name}
        self.made[tag] = lambda before: {**before, tag: ""}
        made = await server.client.patch(
            MAPS, name, NAMESPACE, patch=body, type="apply", field_manager=tag
        )
        self.told(tag, made)

    async def _patch(self, server: Server, name: str, tag: str, kind: Any, patch: Any) -> None:
        self.made[tag] = lambda before: {**before, tag: ""}
        made = await server.client.patch(MAPS, name, NAMESPACE, patch=patch, type=kind)
        self.told(tag, made)

    async def put(self, server: Server, name: str, tag: str) -> None:
        found = await server.client.get(MAPS, name, NAMESPACE)
        seen = found.get("data", {})

        def make(before: Object) -> Object:
            assert before == seen, "it was written over a state that it had not seen"
            return {**before, tag: ""}

        self.made[tag] = make
        made = await server.client.update({**found, "data": {**seen, tag: ""}})
        self.told(tag, made)

    async def put_blindly(self, server: Server, name: str, tag: str) -> None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {tag: ""}}
        body["metadata"] = {"name": name, "namespace": NAMESPACE}
        self.made[tag] = lambda before: {tag: ""}
        self.told(tag, await server.client.update(body))

    async def stale(self, server: Server, name: str, tag: str) -> None:
        patch = {"metadata": {"resourceVersion": "7"}, "data": {tag: ""}}
        self.never.add(tag)
        await self._patch(server, name, tag, "merge", patch)

    async def dry(self, server: Server, name: str, tag: str) -> None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {tag: ""}}
        body["metadata"] = {"name": name, "namespace": NAMESPACE}
        self.never.add(tag)
        await server.client.update(body, dry_run=True)

    async def invalid(self, server: Server, name: str, tag: str) -> None:
        await self._patch(server, name, tag, "merge", {"data": {f"{tag} ": ""}})

    async def nothing(self, server: Server, name: str, tag: str) -> None:
        found = await server.client.patch(MAPS, name, NAMESPACE, patch={})
        self.told("", found)

    async def delete(self, server: Server, name: str, tag: str) -> None:
        await server.client.delete(MAPS, name, NAMESPACE)

    async def delete_if(self, server: Server, name: str, tag: str) -> None:
        found = await server.client.get(MAPS, name, NAMESPACE)
        expected = {"preconditions": {"resourceVersion": found["metadata"]["resourceVersion"]}}
        await server.client.delete(MAPS, name, NAMESPACE, options=expected)

    async def hold(self, server: Server, name: str, tag: str) -> None:
        patch = {"metadata": {"finalizers": [HOLD]}, "data": {tag: ""}}
        try:
            await self._patch(server, name, tag, "merge", patch)
        except StatusError as error:  # a finalizer cannot be added to an object in deletion
            if error.reason != Reason.INVALID:
                raise
            self.never.add(tag)

    async def release(self, server: Server, name: str, tag: str) -> None:
        patch = {"metadata": {"finalizers": None}, "data": {tag: ""}}
        self.made[tag] = lambda before: {**before, tag: ""}
        self.told(tag, await server.client.patch(MAPS, name, NAMESPACE, patch=patch))

    def told(self, tag: str, answer: Object) -> None:
        """Record a response, except that of a write that deleted the object: it contains the last
        state, which is not stored."""
        meta = answer["metadata"]
        if "deletionTimestamp" not in meta or meta.get("finalizers"):
            self.answers.append((tag, answer))


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    failing=st.sampled_from([0.0, 0.2]),
    count=st.integers(1, 2),
    pipelined=st.booleans(),
)
def test_what_is_stored_is_one_order_of_what_writers_did(
    seed: int, failing: float, count: int, pipelined: bool
):
    asyncio.run(_hold(random.Random(seed), failing, count, pipelined=pipelined))


async def _hold(chance: random.Random, failing: float, count: int, *, pipelined: bool) -> None:
    log = ShakyLog(chance)
    servers = [await Server(log, pipelined=pipelined).__aenter__() for _ in range(count)]
    told: list[list[Change]] = []
    for server in servers:
        await server.store.current()
        told.append([])
        server.store.subscribe(STORED, deliver=told[-1].extend)  # leases change, too
    began = max(server.store.revision for server in servers)
    log.failing = failing
    writers = Writers(chance, servers)
    reading = asyncio.create_task(writers.read())
    await asyncio.gather(*(writers.live(number) for number in range(CLIENTS)))
    writers.done = True
    await reading
    log.failing = 0.0
    records = [record for record, _ in await log.changes(STORED, began, 10_000)]
    for server, changes in zip(servers, told, strict=True):
        await server.store.current()
        engine = server.registry.engine
        if isinstance(engine, FastEngine) and engine.queues is not None:
            lines = engine.queues._lines
            assert [key for key in lines if key.startswith(STORED)] == []
        heard = [change for change in changes if change.revision > began]
        assert [change.revision for change in heard] == [each.revision for each in records]
        assert [change.entry.data for change in heard] == [each.data for each in records]
        await server.stop()
    _check(writers, records)


def _check(writers: Writers, records: list[Any]) -> None:
    prefix, last = STORED, {}
    stored = {record.revision: record for record in records}
    tags: set[str] = set()
    for record in records:
        assert record.key.startswith(prefix)
        value = json.loads(record.data)
        data, meta = value.get("data", {}), value["metadata"]
        assert meta["resourceVersion"] == str(record.revision)
        before, at, noted = last.pop(record.key, ({}, 0, None))
        assert record.previous == at
        note = meta.get("annotations", {}).get("before")
        assert note in (noted, None, str(at)), "a resourceVersion was read that was not stored"
        new = [tag for tag in data if tag not in before]
        assert len(new) <= 1
        for tag in new:
            assert data == writers.made[tag](before)
            assert tag not in tags, "each write is stored once"
            tags.add(tag)
        if not new:
            assert data == before or record.deleted
        if not record.deleted:
            last[record.key] = data, record.revision, note
    assert tags.isdisjoint(writers.never)
    for tag, answer in writers.answers:
        record = stored[int(answer["metadata"]["resourceVersion"])]
        assert json.loads(record.data) == answer
        assert not tag or tag in answer["data"]
        assert not tag or tag in tags


async def test_a_refusal_never_depends_on_an_uncommitted_state():
    """The previous write makes the next one invalid, but is then not stored."""
    chance = random.Random(1)
    log = ShakyLog(chance)
    async with Server(log) as server:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"n": "1"}}
        body["metadata"] = {"name": "a", "namespace": NAMESPACE}
        await server.client.create(body)
        log.failing = 1.0
        closes = asyncio.create_task(
            server.client.patch(MAPS, "a", NAMESPACE, patch={"immutable": True})
        )
        changes = asyncio.create_task(
            server.client.patch(MAPS, "a", NAMESPACE, patch={"data": {"n": "2"}})
        )
        await log.failed.wait()
        log.failing = 0.0
        found, changed = await asyncio.gather(closes, changes, return_exceptions=True)
        assert isinstance(found, StatusError)
        assert found.code == UNKNOWN
        stored = await server.client.get(MAPS, "a", NAMESPACE)
        if "immutable" in stored:  # it was stored, and only the confirmation was lost
            assert isinstance(changed, StatusError)
        else:
            assert changed == stored
            assert stored["data"] == {"n": "2"}


async def test_a_write_with_a_resource_version_waits_for_pending_writes():
    log = ShakyLog(random.Random(1))
    async with Server(log) as server:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {}}
        body["metadata"] = {"name": "a", "namespace": NAMESPACE}
        made = await server.client.create(body)
        first = asyncio.create_task(
            server.client.patch(MAPS, "a", NAMESPACE, patch={"data": {"n": "1"}})
        )
        second = asyncio.create_task(server.client.update({**made, "data": {"n": "2"}}))
        patched, refused = await asyncio.gather(first, second, return_exceptions=True)
        assert isinstance(refused, StatusError)
        assert refused.reason == Reason.CONFLICT
        assert await server.client.get(MAPS, "a", NAMESPACE) == patched


@engines.only_fast
async def test_patches_of_one_object_share_commits(monkeypatch):
    monkeypatch.setattr(queues, "PATIENCE", 60)  # for slow machines
    log = ShakyLog(random.Random(1))
    begun = 0
    begin = log.begin

    def counted() -> Any:
        nonlocal begun
        begun += 1
        return begin()

    async with Server(log) as server:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {}}
        body["metadata"] = {"name": "a", "namespace": NAMESPACE}
        await server.client.create(body)
        monkeypatch.setattr(log, "begin", counted)
        patches = [{"data": {f"k{number}": "v"}} for number in range(16)]
        await asyncio.gather(
            *(server.client.patch(MAPS, "a", NAMESPACE, patch=each) for each in patches)
        )
        found = await server.client.get(MAPS, "a", NAMESPACE)
    assert len(found["data"]) == 16
    assert begun < 16 / 2
