"""`inkube capture`: the file, exclusions, recorded changes, a replay."""

import asyncio
import re
import shutil
import sys

import pytest
from click.testing import CliRunner
from patience import within

from inkube import APIServer
from inkube.apiserver.capture import versions
from inkube.apiserver.capture.capture import CaptureScope, capture
from inkube.apiserver.capture.cluster import Cluster, ClusterError
from inkube.apiserver.cli import main
from inkube.apiserver.registry.codec import JSONCodec
from inkube.storage.sql.sqlite import sqlite_log
from inkube.storage.store import Store

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
SKY = "v1/configmaps", "sky", "default"


@pytest.fixture
async def cluster(tmp_path, boat_crd, boat, config_map):
    """A server in the role of a live cluster, and its kubeconfig."""
    async with APIServer() as server:
        await server.client.create(boat_crd)
        await server.settled()
        await server.client.create(boat("argo", size=3))
        await server.client.create(config_map("sky", colour="blue"))
        await server.client.create({**config_map("key"), "kind": "Secret"})
        config = tmp_path / "config"
        config.write_text(server.kubeconfig())
        yield server, config


async def captured(config, file, **wanted):
    told = []
    async with Cluster(config) as cluster:
        await capture(cluster, file, CaptureScope(**wanted), report=told.append)
    return told


async def names(file, plural):
    """Return the names of the objects in the file."""
    async with Store(sqlite_log(file), JSONCodec()) as store:
        entries = store.list(f"/registry/{plural}/")
    return [entry.value["metadata"]["name"] for entry in entries]


async def test_a_server_starts_from_what_was_captured(cluster, tmp_path, web_of):
    live, config = cluster
    told = await captured(config, tmp_path / "a.db")
    assert re.fullmatch(rf"\d+ objects of \d+ lists are in {tmp_path / 'a.db'}", told[-1])
    here = await live.client.get(*SKY)
    async with APIServer(data=tmp_path / "a.db", controllers=False) as copy, web_of(copy) as web:
        there = await copy.client.get(*SKY)
        assert there["data"] == {"colour": "blue"}
        assert there["metadata"]["uid"] == here["metadata"]["uid"]
        assert there["metadata"]["creationTimestamp"] == here["metadata"]["creationTimestamp"]
        boats = await web.ask("GET", "/apis/example.com/v1/namespaces/default/boats/argo")
        assert boats.json["spec"]["size"] == 3
        assert (await copy.client.list("v1/secrets")).items == []
        changed = await copy.client.patch(*SKY, patch={"data": {"colour": "grey"}})
        assert changed["data"] == {"colour": "grey"}


async def test_kinds_and_namespaces_and_secrets_are_chosen(cluster, tmp_path, config_map):
    live, config = cluster
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
    await live.client.create(namespace)
    other = config_map("there")
    other["metadata"]["namespace"] = "other"
    await live.client.create(other)
    few = tmp_path / "few.db"
    await captured(config, few, resources=["ConfigMap"], namespaces=["other"], secrets=True)
    assert await names(few, "configmaps") == ["there"]
    assert await names(few, "secrets") == []
    assert "other" in await names(few, "namespaces")
    assert await names(few, "apiextensions.k8s.io/customresourcedefinitions") == []
    assert await names(few, "customresourcedefinitions") == ["boats.example.com"]
    await captured(config, tmp_path / "all.db", secrets=True)
    assert await names(tmp_path / "all.db", "secrets") == ["key"]


@pytest.fixture
async def recording(cluster, tmp_path):
    """A capture with the objects at its start and the changes after it."""
    live, config = cluster
    file, until, ready = tmp_path / "a.db", asyncio.Event(), asyncio.Event()
    async with Cluster(config) as source:
        wanted = CaptureScope(resources=["configmaps"])
        running = asyncio.create_task(
            capture(source, file, wanted, report=lambda line: ready.set(), until=until)
        )
        async with within():
            await ready.wait()
        async with Store(sqlite_log(file), JSONCodec()) as store, within():
            changes = store.subscribe("/registry/configmaps/default/")
            await live.client.patch(*SKY, patch={"data": {"colour": "grey"}})
            assert await types(changes, 1) == ["MODIFIED"]
            await live.client.delete(*SKY)
            assert await types(changes, 1) == ["DELETED"]
            changes.close()
        until.set()
        await running
    return file


async def types(changes, count):
    """Return the types of the next changes of a subscription."""
    found = []
    while len(found) < count:
        found += [change.type for change in await changes.next_batch()]
    return found


async def test_the_end_of_a_recording_knows_the_versions_in_the_cluster(recording, cluster):
    live, _ = cluster
    async with Store(sqlite_log(recording), JSONCodec()) as store:
        known = versions.read(recording, store.revision)
    assert known.prefixes == [
        "/registry/namespaces/", "/registry/customresourcedefinitions/", "/registry/configmaps/",
    ]  # fmt: skip
    found = [*await live.client.list("v1/namespaces"), *await live.client.list("v1/configmaps")]
    expected = {each["metadata"]["uid"]: each["metadata"]["resourceVersion"] for each in found}
    boats = await live.client.get(
        "apiextensions.k8s.io/v1/customresourcedefinitions", "boats.example.com"
    )
    expected[boats["metadata"]["uid"]] = boats["metadata"]["resourceVersion"]
    assert known.by_uid == expected
    assert versions.read(recording, 1) is None


async def test_recorded_changes_are_replayed(recording):
    async with APIServer(replay=recording, speed=1e-6) as server:
        assert (await server.client.get(*SKY))["data"] == {"colour": "blue"}
        start = server.store.revision
    async with APIServer(replay=recording, speed=1e6) as server, within():
        await server.store.reached(start + 2)
        assert server.store.list("/registry/configmaps/default/") == []
        past = await server.store.page("/registry/configmaps/default/", revision=start + 1)
        assert [entry.value["data"] for entry in past.entries] == [{"colour": "grey"}]


async def test_the_log_of_a_recording_names_the_manager_of_a_change(recording):
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "inkube", "log", "configmaps", "--data", str(recording)),
        stdout=asyncio.subprocess.PIPE,
    )
    text, _ = await process.communicate()
    assert re.search(r"MODIFIED ConfigMap default/sky  by inkube", text.decode())


async def test_objects_that_cannot_be_captured_are_named(tmp_path):
    (tmp_path / "there.db").write_text("")
    done = CliRunner().invoke(main, ["capture", str(tmp_path / "there.db")])
    assert done.exit_code == 1
    assert "exists already" in done.output
    with pytest.raises(ClusterError):
        await Cluster(tmp_path / "missing").__aenter__()


async def test_changes_that_cannot_be_replayed_are_named(tmp_path):
    async with Store(sqlite_log(tmp_path / "a.db"), JSONCodec()):
        pass
    with pytest.raises(ValueError, match="not a file of inkube capture"):
        await APIServer(replay=tmp_path / "a.db").__aenter__()
    for options, told in (
        ({"replay": tmp_path / "none.db"}, "does not exist"),
        ({"replay": tmp_path / "a.db", "speed": 0}, "above 0"),
        ({"replay": tmp_path / "a.db", "data": tmp_path / "b.db"}, "cannot be combined with data"),
    ):
        with pytest.raises(ValueError, match=told):
            APIServer(**options)
