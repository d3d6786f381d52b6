"""Servers start, share, stop and come back."""

import asyncio
import gc
import warnings
import weakref

import aiohttp
import boats
import pytest
from patience import within

from inkube import APIServer
from inkube.controllers.client import Selection
from inkube.storage.errors import StorageError

MAPS = "v1/configmaps"

CRD = boats.definition({"type": "object"})
BOAT = {
    "apiVersion": "example.com/v1",
    "kind": "Boat",
    "metadata": {"name": "a", "namespace": "default"},
}


def config_map(name, **data):
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def first(events, wanted):
    """Return the first event of this type."""
    async for event in events:
        if event.type == wanted:
            return event.object
    raise AssertionError(f"the watch ended before {wanted}")


async def test_two_servers_in_one_process_share_nothing():
    async with APIServer() as one, APIServer() as two:
        assert one.url != two.url
        await one.client.create(config_map("a"))
        names = [each["metadata"]["name"] for each in (await two.client.list(MAPS)).items]
        assert "a" not in names


async def test_a_server_that_was_not_stopped_causes_a_warning():
    server = APIServer()
    await server.__aenter__()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        server.__del__()
    await server.stop()
    assert [w.category for w in caught] == [ResourceWarning]


async def test_a_stopped_server_leaves_no_warning_and_no_task():
    before = asyncio.all_tasks()
    async with APIServer():
        pass
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    gc.collect()


async def test_a_stopped_server_keeps_no_client_in_its_tls_handshake():
    before = asyncio.all_tasks()
    async with APIServer(tls=True) as server, aiohttp.ClientSession() as http:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        async with http.get(f"{server.url}/readyz", ssl=False):
            pass  # accepted later, so that the connection above is accepted as well
    async with within():
        assert await reader.read() == b""
    writer.close()
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_a_port_in_use_is_an_error():
    async with APIServer() as server:
        with pytest.raises(OSError, match="Address already in use"):
            await APIServer(port=server.port).__aenter__()
        assert server.kubeconfig()


async def test_a_stopped_server_answers_no_more():
    async with APIServer() as server:
        url = server.url
    async with aiohttp.ClientSession() as http:
        with pytest.raises(aiohttp.ClientConnectionError):
            await http.get(f"{url}/readyz")


async def test_stopping_ends_open_watches_cleanly():
    async with aiohttp.ClientSession() as http:
        async with APIServer() as server:
            url = f"{server.url}/api/v1/configmaps?watch=1"
            watch = await http.get(url)
        async with within():
            assert b"Status" not in await watch.content.read()


async def test_objects_and_versions_survive_a_restart(tmp_path):
    data = tmp_path / "data.db"
    async with APIServer(data=data) as server:
        kept = await server.client.create(config_map("kept", a="1"))
        gone = await server.client.create(config_map("gone"))
        await server.client.delete(MAPS, "gone", "default")
        revision = server.store.revision
    async with APIServer(data=data) as server:
        assert server.store.revision >= revision
        assert await server.client.get(MAPS, "kept", "default") == kept
        names = [m["metadata"]["name"] for m in (await server.client.list(MAPS)).items]
        assert "gone" not in names
        again = await server.client.create(config_map("gone"))
        assert int(again["metadata"]["resourceVersion"]) > revision
        assert again["metadata"]["uid"] != gone["metadata"]["uid"]


async def test_a_watch_continues_after_a_restart(tmp_path):
    data = tmp_path / "data.db"
    async with APIServer(data=data) as server:
        old = (await server.client.create(config_map("old")))["metadata"]["resourceVersion"]
        await server.client.create(config_map("missed"))
        await server.client.delete(MAPS, "missed", "default")
    async with APIServer(data=data) as server, within():
        selection = Selection(fields="metadata.name=missed")
        events = server.client.watch(MAPS, selection, resource_version=old)
        added = await first(events, "ADDED")
        deleted = await first(events, "DELETED")
        await events.aclose()
    assert added["metadata"]["uid"] == deleted["metadata"]["uid"]


async def test_two_servers_on_one_file_see_each_others_writes(tmp_path):
    data = tmp_path / "data.db"
    async with APIServer(data=data) as one, APIServer(data=data) as two, within():
        start = str(two.store.revision)
        events = two.client.watch(MAPS, Selection(namespace="default"), resource_version=start)
        await one.client.create(config_map("shared", a="1"))
        seen = await first(events, "ADDED")
        await events.aclose()
        seen["data"] = {"a": "2"}
        await two.client.update(seen)
        conflict = dict(seen, data={"a": "3"})
        with pytest.raises(Exception, match="the object has been modified"):
            await one.client.update(conflict)
    async with APIServer(data=data) as server:
        assert (await server.client.get(MAPS, "shared", "default"))["data"] == {"a": "2"}


async def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path):
    data = tmp_path / "notes.txt"
    data.write_text("buy milk\n" * 500)
    with pytest.raises((StorageError, OSError, ValueError)):
        await APIServer(data=data).__aenter__()
    assert data.read_text() == "buy milk\n" * 500


async def test_crds_are_served_again_after_a_restart(tmp_path):
    data = tmp_path / "data.db"
    async with APIServer(data=data) as server:
        await server.client.create(CRD)
        await server.settled()
        made = await server.client.create(BOAT)
    async with APIServer(data=data) as server:
        await server.settled()
        assert await server.client.get("example.com/v1/boats", "a", "default") == made


async def test_nothing_keeps_a_kind_that_is_served_no_more():
    async with APIServer() as server:
        await server.client.create(CRD)
        await server.settled()
        kind = weakref.ref(server.resources.get("example.com", "boats"))
        await server.client.create(BOAT)
        await server.client.delete(
            "apiextensions.k8s.io/v1/customresourcedefinitions", "boats.example.com"
        )
        await server.settled()
        gc.collect()
        assert kind() is None
