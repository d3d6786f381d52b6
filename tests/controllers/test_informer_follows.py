"""Informers: a cache that follows the store, also after the watch fails."""

import asyncio

import pytest

from inkube.controllers.informer import Informers, Key
from inkube.controllers.outages import Outages
from inkube.storage.errors import LogError, Unavailable

THINGS = "v1/configmaps"


def thing(name, **data):
    metadata = {"name": name, "namespace": "ns"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


class Lists:
    """Counts the list requests of a client."""

    def __init__(self, client):
        self._client = client
        self.count = 0

    def __getattr__(self, name):
        return getattr(self._client, name)

    async def list(self, *arguments, **options):
        self.count += 1
        return await self._client.list(*arguments, **options)


@pytest.fixture
def client(server):
    return Lists(server.client)


@pytest.fixture
async def informers(client, clock):
    made = Informers(client, clock)
    made.start()
    yield made
    await made.stop()


async def test_subscribers_receive_creations_changes_and_deletions(client, informers):
    informer = informers.of(THINGS)
    heard = []
    informer.subscribe(lambda change: heard.append((bool(change.old), bool(change.new))))
    await client.create(thing("a"))
    await informer.caught_up()
    await client.patch(THINGS, "a", "ns", patch={"data": {"x": "1"}})
    await client.delete(THINGS, "a", "ns")
    await informer.caught_up()
    assert heard == [(False, True), (True, True), (True, False)]
    assert informer.get(Key("ns", "a")) is None


async def test_a_late_subscriber_receives_cached_objects(client, informers):
    await client.create(thing("a"))
    informer = informers.of(THINGS)
    await informer.caught_up()
    heard = []
    informer.subscribe(heard.append)
    assert [change.new["metadata"]["name"] for change in heard] == ["a"]


@pytest.mark.parametrize(
    ("error", "has_traceback"), [(Unavailable("disk full"), False), (KeyError("a defect"), True)]
)
async def test_a_failed_list_has_a_traceback_unless_the_store_is_away(
    client, clock, caplog, until, monkeypatch, error, has_traceback
):
    async def fails(*_arguments):
        raise error

    made = Informers(client, clock, Outages(clock, (LogError,)))
    informer = made.of(THINGS)
    with monkeypatch.context() as patched:
        patched.setattr(client, "list", fails)
        made.start()
        await until(lambda: caplog.records)
    [line] = caplog.records
    assert line.getMessage() == f"watching {THINGS} failed: {error}"
    assert bool(line.exc_info) == has_traceback
    clock.advance(1)
    await until(lambda: informer.is_synced)
    await made.stop()
    caplog.clear()


async def test_an_index_follows_its_values(client, informers):
    informer = informers.of(THINGS)
    index = informer.index(lambda obj: [obj["data"].get("color", "")])
    await client.create(thing("a", color="red"))
    await client.create(thing("b", color="red"))
    await informer.caught_up()
    assert index.keys("red") == [Key("ns", "a"), Key("ns", "b")]
    await client.patch(THINGS, "a", "ns", patch={"data": {"color": "blue"}})
    await informer.caught_up()
    assert index.keys("red") == [Key("ns", "b")]
    assert index.keys("blue") == [Key("ns", "a")]


async def test_a_caller_waits_until_the_cache_reaches_its_revision(client, informers):
    informer = informers.of(THINGS)
    await informer.caught_up()
    made = await client.create(thing("a"))
    first, later = int(made["metadata"]["resourceVersion"]), informer.version + 1_000
    waiting = asyncio.create_task(informer.wait_for_revision(later))
    given_up = asyncio.create_task(informer.wait_for_revision(first))
    await asyncio.sleep(0)
    given_up.cancel()
    await informer.wait_for_revision(first)
    assert informer.version >= first
    assert informer.get(Key("ns", "a")) is not None
    assert not waiting.done()
    waiting.cancel()


async def test_states_share_a_spec_that_did_not_change(client, informers):
    await client.create(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "a", "namespace": "ns"},
            "spec": {"ports": [{"port": 80}]},
        }
    )
    informer = informers.of("v1/services")
    await informer.caught_up()
    changes = []
    informer.subscribe(changes.append)
    labels = {"metadata": {"labels": {"color": "red"}}}
    await client.patch("v1/services", "a", "ns", patch=labels)
    await client.patch("v1/services", "a", "ns", patch={"spec": {"ports": [{"port": 81}]}})
    await informer.caught_up()
    _, same, changed = changes
    assert same.new["spec"] is same.old["spec"]
    assert same.new["metadata"]["labels"] == {"color": "red"}
    assert changed.old["spec"]["ports"][0]["port"] == 80
    assert changed.new["spec"]["ports"][0]["port"] == 81


async def test_two_functions_have_an_index_each(client, informers):
    informer = informers.of(THINGS)
    colors = informer.index(lambda obj: [obj["data"].get("color", "")])
    sizes = informer.index(lambda obj: [obj["data"].get("size", "")])
    await client.create(thing("a", color="red", size="large"))
    await informer.caught_up()
    assert colors.keys("red") == sizes.keys("large") == [Key("ns", "a")]
    assert not sizes.keys("red")


async def test_a_compacted_revision_leads_to_a_new_list_and_events_for_its_differences(
    server, client, clock, informers
):
    await client.create(thing("stays"))
    await client.create(thing("goes"))
    informer = informers.of(THINGS)
    await informer.caught_up()
    await informers.stop()
    await client.delete(THINGS, "goes", "ns")
    await client.delete(THINGS, "stays", "ns")
    await client.create(thing("stays"))
    await client.create(thing("new"))
    await server.store.compact(server.store.revision)
    heard = []
    informer.subscribe(heard.append)
    heard.clear()
    informers.start()
    for _ in range(10):
        await asyncio.sleep(0)
    clock.advance(60)
    await informer.caught_up()
    told = [(change.object["metadata"]["name"], change.new is not None) for change in heard]
    assert sorted(told) == [("goes", False), ("new", True), ("stays", False), ("stays", True)]


async def test_a_broken_watch_resumes_without_a_new_list(client, informers):
    informer = informers.of(THINGS)
    await client.create(thing("a"))
    await informer.caught_up()
    await informers.stop()
    lists = client.count
    await client.create(thing("b"))
    informers.start()
    await informer.caught_up()
    assert informer.get(Key("ns", "b"))
    assert client.count == lists


async def test_the_same_resource_is_watched_once(informers):
    assert informers.of(THINGS) is informers.of("v1/configmaps")
