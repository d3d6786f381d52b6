"""`inkube capture`: the file, exclusions, recorded changes, a replay."""

import asyncio
import contextlib
import re
import shutil
import signal
import sys

import pytest
from click.testing import CliRunner
from patience import within

from inkube import APIServer
from inkube.apiserver.capture import capture as capturing
from inkube.apiserver.capture import cluster as cluster_module
from inkube.apiserver.capture import versions
from inkube.apiserver.capture.capture import CaptureScope, capture
from inkube.apiserver.capture.cluster import Cluster, ClusterError
from inkube.apiserver.cli import main
from inkube.apiserver.commands import failures
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
    async with recorded_changes(config, tmp_path / "a.db") as changes:
        await live.client.patch(*SKY, patch={"data": {"colour": "grey"}})
        assert await types(changes, 1) == ["MODIFIED"]
        await live.client.delete(*SKY)
        assert await types(changes, 1) == ["DELETED"]
    return tmp_path / "a.db"


@contextlib.asynccontextmanager
async def recorded_changes(config, file):
    """Record the ConfigMaps of a cluster in the block. Yields a subscription to the changes that
    the file gets."""
    until, ready = asyncio.Event(), asyncio.Event()
    async with Cluster(config) as source:
        wanted = CaptureScope(resources=["configmaps"])
        running = asyncio.create_task(
            capture(source, file, wanted, report=lambda line: ready.set(), until=until)
        )
        async with within():
            await ready.wait()
        async with Store(sqlite_log(file), JSONCodec()) as store, within():
            changes = store.subscribe("/registry/configmaps/default/")
            yield changes
            changes.close()
        until.set()
        await running


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


def fault(verb, resource, when=None, **effect):
    """A Fault of requests for a resource."""
    match = {"verbs": [verb], "resources": [resource]}
    spec = {"match": match, "when": when or {}, **effect}
    kind = {"apiVersion": "world.inkube.dev/v1", "kind": "Fault"}
    return {**kind, "metadata": {"name": f"{verb}-{resource}"}, "spec": spec}


def answer(code):
    return {"answer": {"code": code}}


@pytest.mark.parametrize("code", [403, 405, 500])
async def test_a_list_that_a_cluster_refuses_is_left_out_and_named(cluster, tmp_path, code):
    live, config = cluster
    await live.client.create(fault("list", "configmaps", **answer(code)))
    told = await captured(config, tmp_path / "a.db")
    assert [line for line in told if line.startswith(f"left out: configmaps: {code} ")] == told[:1]
    assert await names(tmp_path / "a.db", "configmaps") == []
    assert await names(tmp_path / "a.db", "namespaces") != []


@pytest.mark.parametrize("effect", [answer(401), {"cut": "BeforeWrite"}], ids=["401", "cut"])
async def test_a_capture_that_loses_its_cluster_leaves_no_file(cluster, tmp_path, effect):
    live, config = cluster
    await live.client.create(fault("list", "configmaps", **effect))
    with pytest.raises(ClusterError, match="configmaps"):
        await captured(config, tmp_path / "a.db")
    assert [each.name for each in tmp_path.iterdir()] == ["config"]


@pytest.mark.parametrize("code", [410, 429, 503, 504])
async def test_a_list_begins_again_if_it_can(cluster, tmp_path, monkeypatch, code):
    monkeypatch.setattr(cluster_module, "LIST_DELAYS", (0.0, 0.0))
    live, config = cluster
    await live.client.create(fault("list", "configmaps", {"times": 2}, **answer(code)))
    assert len(await captured(config, tmp_path / "a.db")) == 1
    assert "sky" in await names(tmp_path / "a.db", "configmaps")
    more = {"spec": {"when": {"times": None}}}
    await live.client.patch("world.inkube.dev/v1/faults", "list-configmaps", patch=more)
    with pytest.raises(ClusterError, match=f"configmaps: {code}"):
        await captured(config, tmp_path / "b.db")


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ({"resources": ["cm", "configmapz"]}, "no kind configmapz"),
        ({"resources": ["boats.example.org"]}, "no kind boats.example.org"),
        ({"namespaces": ["default", "shop"]}, "no namespace shop"),
    ],
)
async def test_a_capture_of_what_does_not_exist_fails(cluster, tmp_path, wanted, text):
    _, config = cluster
    with pytest.raises(ClusterError, match=text):
        await captured(config, tmp_path / "a.db", **wanted)


@pytest.mark.parametrize("name", ["cm", "configmap", "ConfigMap", "configmaps", "CONFIGMAPS"])
async def test_kinds_have_the_names_that_they_have_for_kubectl(cluster, tmp_path, name):
    _, config = cluster
    await captured(config, tmp_path / "a.db", resources=[name, "boat"])
    assert "sky" in await names(tmp_path / "a.db", "configmaps")
    assert await names(tmp_path / "a.db", "example.com/boats") == ["argo"]


async def test_a_recording_goes_on_after_an_expired_watch_and_a_failed_list(
    cluster, tmp_path, monkeypatch
):
    monkeypatch.setattr(capturing, "SHORTEST", 0.01)
    monkeypatch.setattr(cluster_module, "LIST_DELAYS", ())
    live, config = cluster
    end = {"events": 0, "end": "Expired"}
    await live.client.create(fault("watch", "configmaps", {"times": 1}, watch=end))
    later = {"skip": 1, "times": 2}
    await live.client.create(fault("list", "configmaps", later, **answer(503)))
    async with recorded_changes(config, tmp_path / "a.db") as changes:
        await live.client.patch(*SKY, patch={"data": {"colour": "grey"}})
        assert await types(changes, 1) == ["MODIFIED"]


@pytest.mark.parametrize("options", [(), ("--follow",)])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_a_capture_before_its_file_is_complete(
    cluster, tmp_path, number, options
):
    live, config = cluster
    await live.client.create(fault("list", "configmaps", hold={"seconds": 600}))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "inkube", "capture", str(tmp_path / "a.db"), *options),
        f"--kubeconfig={config}",
        stderr=asyncio.subprocess.PIPE,
    )
    async with within():
        while not live.faults.counted("list-configmaps")[2]:  # noqa: ASYNC110 # no event
            await asyncio.sleep(0)
    process.send_signal(number)
    async with within():
        _, text = await process.communicate()
    assert (process.returncode, text.decode()) == (
        failures.INTERRUPTED,
        f"interrupted: {tmp_path / 'a.db'} is not written\n",
    )
    assert [each.name for each in tmp_path.iterdir()] == ["config"]


async def test_objects_that_cannot_be_captured_are_named(tmp_path):
    (tmp_path / "there.db").write_text("")
    done = CliRunner().invoke(main, ["capture", str(tmp_path / "there.db")])
    assert done.exit_code == 1
    assert "exists already" in done.output
    with pytest.raises(ClusterError):
        await Cluster(tmp_path / "missing").__aenter__()


@pytest.mark.parametrize("configured", ["", "missing"])
async def test_a_missing_kubeconfig_is_named(tmp_path, monkeypatch, configured):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", configured and str(tmp_path / configured))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(ClusterError, match="there is no kubeconfig: name one with --kubeconfig"):
        await Cluster(None).__aenter__()


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
