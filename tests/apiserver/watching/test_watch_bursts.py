"""Many changes at once for many watches: each event encoded once, sent in order, none missing."""

import asyncio
import json

import pytest
from patience import SECONDS, within

from inkube.apiserver.handlers import tables
from inkube.apiserver.watching import bursts as bursts_module
from inkube.apiserver.watching import frames, streams
from inkube.apiserver.watching.bursts import Bursts

MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
SELECTED = "&labelSelector=app%3Da"


@pytest.fixture
async def watch(server, session):
    opened = []

    async def watch(query="", **headers):
        where = f"{MAPS}?watch=1&resourceVersion={server.store.revision}{query}"
        opened.append(await session.get(where, headers=headers))
        return opened[-1]

    yield watch
    for watcher in opened:
        watcher.close()


async def names(watcher, count):
    """Return the names in the next events of a stream."""
    async with within():
        lines = [await watcher.content.readline() for _ in range(count)]
    return [json.loads(line)["object"]["metadata"]["name"] for line in lines]


async def test_an_event_is_made_once_for_all_watchers_of_a_sort(
    server, watch, config_map, monkeypatch
):
    made = []

    def noted(data):
        made.append(data)
        return frames.http_chunk(data)

    monkeypatch.setattr(streams, "CHUNKS", frames.CHUNKS._replace(pack=noted))
    labelled = config_map("b")
    labelled["metadata"]["labels"] = {"app": "a"}
    watchers = [await watch(query) for query in ("", SELECTED) for _ in range(20)]
    await server.client.create(config_map("a"))
    await server.client.create(labelled)
    assert [await names(each, 2) for each in watchers[:20]] == [["a", "b"]] * 20
    assert [await names(each, 1) for each in watchers[20:]] == [["b"]] * 20
    assert len(made) == 2


async def test_changes_of_one_turn_are_written_together(server, watch, config_map, monkeypatch):
    told = []
    burst = frames.Framer.burst

    def noted(framer, changes, shared):
        told.append(len(changes))
        return burst(framer, changes, shared)

    monkeypatch.setattr(frames.Framer, "burst", noted)
    watcher = await watch()
    await asyncio.gather(*(server.client.create(config_map(f"c{n}")) for n in range(20)))
    assert sorted(await names(watcher, 20)) == sorted(f"c{n}" for n in range(20))
    assert sum(told) == 20
    assert len(told) <= 3, "the first write goes ahead of the others"


async def test_watchers_of_a_sort_share_the_bytes_of_a_burst(
    server, watch, config_map, monkeypatch
):
    shown = []
    burst = frames.Framer.burst

    def noted(framer, changes, shared):
        shown.append(burst(framer, changes, shared))
        return shown[-1]

    monkeypatch.setattr(frames.Framer, "burst", noted)
    watchers = [await watch() for _ in range(10)]
    await asyncio.gather(*(server.client.create(config_map(f"c{n}")) for n in range(5)))
    for each in watchers:
        assert len(await names(each, 5)) == 5
    bursts = len({id(each) for each in shown})
    assert bursts <= 3, "the first write goes ahead of the others"
    assert len(shown) == 10 * bursts


async def test_published_events_are_sent_before_the_server_stops(server, watch, config_map):
    watchers = [await watch() for _ in range(50)]
    await asyncio.gather(*(server.client.create(config_map(f"c{n}")) for n in range(5)))
    await server.stop()
    for each in watchers:
        lines = (await each.read()).splitlines()
        assert len(lines) == 5, "and the stream ended as it should"


async def test_an_event_that_cannot_be_encoded_ends_only_its_watch(
    server, watch, config_map, monkeypatch, caplog
):
    table, other = await watch(**TABLE), await watch()

    def fail(*args, **options):
        raise RuntimeError("no such table")

    monkeypatch.setattr(tables, "transform", fail)
    await server.client.create(config_map("a"))
    await server.client.create(config_map("b"))
    assert await table.read() == b""
    assert await names(other, 2) == ["a", "b"]
    assert "a change cannot be sent" in caplog.text
    caplog.clear()  # expected


async def test_events_for_few_watchers_are_sent_without_delay():
    bursts, written = Bursts(), []
    for number in range(3):

        def note(told, number=number):
            written.append(number)

        bursts.add(note)
        await turns(3)
        assert written[-1] == number


async def test_the_first_event_for_many_watchers_is_sent_at_once_and_later_ones_in_bursts(
    monkeypatch,
):
    monkeypatch.setattr(bursts_module, "PER_READER", 0.01)
    monkeypatch.setattr(bursts_module, "LONGEST", 0.5)
    bursts, written = Bursts(), []
    for _ in range(200):
        bursts.add(lambda told: written.append("first"))
    await turns(3)
    assert written == ["first"] * 200

    done = asyncio.get_running_loop().create_future()
    bursts.add(lambda told: written.append("second"))
    await turns(3)
    assert written[-1] == "first", "the second burst is still gathered"
    bursts.add(lambda told: done.set_result(written[-1]))
    assert await asyncio.wait_for(done, SECONDS) == "second"


async def turns(count):
    for _ in range(count):
        await asyncio.sleep(0)
