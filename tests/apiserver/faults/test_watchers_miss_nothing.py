"""A watch that resumes at the last seen version receives every later change exactly once.

This must hold however the previous watches ended: after a number of events, cut, closed, expired,
refused or delayed, with as many bookmarks as possible.
"""

import asyncio
import json
import random

import aiohttp
import pytest

from inkube import APIServer
from inkube.apiserver.watching import stream

MAPS = "/api/v1/namespaces/default/configmaps"
WRITES, PATIENCE = 150, 60.0


class Watcher:
    """Watches config maps repeatedly. `versions` are those of the received events."""

    def __init__(self, url, selector, begin):
        self.versions = []
        self.ends = set()
        self.marked = asyncio.Event()
        self.last = begin
        self._url = f"{url}{MAPS}?watch=1&allowWatchBookmarks=true&labelSelector={selector}"

    async def run(self, until):
        async with aiohttp.ClientSession() as session:
            while self.last < until():
                try:
                    await self._watch(session, until)
                except aiohttp.ClientError as error:
                    self.ends.add(type(error).__name__)

    async def _watch(self, session, until):
        async with session.get(f"{self._url}&resourceVersion={self.last}") as answer:
            if answer.status != 200:
                self.ends.add(answer.status)
                return
            async for line in answer.content:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    self.ends.add(event["object"]["code"])
                    return
                self.last = int(event["object"]["metadata"]["resourceVersion"])
                if event["type"] == "BOOKMARK":
                    self.marked.set()
                else:
                    self.versions.append(self.last)
                if self.last >= until():
                    return
            self.ends.add("closed")


async def write(client, chance, watchers):
    """Make changes to a few objects. Half of them move into or out of the selection a=1. Sometimes
    wait until every watcher received a bookmark."""
    living = set()
    for _ in range(WRITES):
        name = f"m-{chance.randrange(6)}"
        meta = {"name": name, "namespace": "default", "labels": {"a": str(chance.randrange(2))}}
        if name not in living:
            await client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
            living.add(name)
        elif chance.random() < 0.3:
            await client.delete("v1/configmaps", name, "default")
            living.discard(name)
        else:
            patch = {"metadata": {"labels": meta["labels"]}, "data": {"k": str(chance.random())}}
            await client.patch("v1/configmaps", name, "default", patch=patch)
        for watcher in watchers if chance.random() < 0.1 else ():
            watcher.marked.clear()
            await watcher.marked.wait()


def faults(chance):
    """Yield specs of random faults for watches of config maps."""
    match = {"verbs": ["watch"], "resources": ["configmaps"]}
    for turn, end in enumerate(("Close", "Cut", "Expired"), 1):
        ending = {"events": chance.randrange(1, 5), "end": end}
        yield {"match": match, "when": {"every": turn}, "watch": ending}
    seldom = {"probability": 0.1, "seed": chance.randrange(1000)}
    yield {"match": match, "when": seldom, "cut": "BeforeWrite"}
    for code in (410, 429, 500):
        yield {"match": match, "when": seldom, "answer": {"code": code}}
    yield {"match": match, "when": seldom, "delay": {"seconds": 0.001, "jitterSeconds": 0.01}}


def expected(store, begin, selects):
    """Return the versions of all changes that a watch with this selector must receive."""
    return [
        change.revision
        for change in store._cache.since("/registry/configmaps/default/", begin)
        if selects(change.previous) or (change.type != "DELETED" and selects(change.entry))
    ]


def has_label(entry):
    return entry is not None and entry.value["metadata"]["labels"]["a"] == "1"


def lives(entry):
    return entry is not None


@pytest.mark.parametrize("seed", range(3))
async def test_watchers_get_the_whole_history_in_order(monkeypatch, seed):
    monkeypatch.setattr(stream, "BOOKMARK", 0.0)
    chance = random.Random(seed)
    async with APIServer(controllers=False) as server:
        for number, spec in enumerate(faults(chance)):
            meta = {"apiVersion": "world.inkube.dev/v1", "kind": "Fault"}
            await server.client.create({**meta, "metadata": {"name": f"f{number}"}, "spec": spec})
        begin, newest = server.store.revision, [2**62]
        watchers = {
            selects: Watcher(server.url, selector, begin)
            for selector, selects in (("", lives), ("a%3D1", has_label))
        }
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
            for watcher in watchers.values():
                group.create_task(watcher.run(lambda: newest[0]))
            await write(server.client, chance, watchers.values())
            newest[0] = server.store.revision
        for selects, watcher in watchers.items():
            assert watcher.versions == expected(server.store, begin, selects)
            assert watcher.ends >= {"closed", 410}
