"""Servers start from the state of others, and share no mutable state."""

import time
from pathlib import Path

import pytest

from inkube import APIServer
from inkube.controllers.informer import Key
from inkube.storage.errors import StorageError
from inkube.storage.log import MemoryLog, Record, Snapshot
from inkube.storage.store import read

CONFIG_MAPS = "v1/configmaps"
GIT = "https://git.example/o/r"


async def names(server):
    return {each["metadata"]["name"] for each in (await server.client.list(CONFIG_MAPS)).items}


@pytest.fixture(params=["memory", "sqlite"])
def options(request, tmp_path):
    return {"data": tmp_path / "data.db"} if request.param == "sqlite" else {}


async def test_writes_of_a_fork_do_not_change_its_source(options, config_map):
    async with APIServer(**options) as server:
        kept = await server.client.create(config_map("kept"))
        await server.client.create(config_map("gone"))
        await server.client.delete(CONFIG_MAPS, "gone", "default")
        taken = await server.snapshot()
        assert taken.revision == server.store.revision
        async with APIServer(snapshot=taken) as fork, APIServer(snapshot=taken) as other:
            assert fork.store.revision == server.store.revision
            assert await fork.client.get(CONFIG_MAPS, "kept", "default") == kept
            await fork.client.create(config_map("mine"))
            await server.client.delete(CONFIG_MAPS, "kept", "default")
            assert await names(fork) - {"kube-root-ca.crt"} == {"kept", "mine"}
            assert await names(other) - {"kube-root-ca.crt"} == {"kept"}


async def test_a_snapshot_contains_the_history(options, config_map):
    async with APIServer(**options) as server:
        begun = (await server.client.list(CONFIG_MAPS)).resource_version
        await server.client.create(config_map("a"))
        await server.client.delete(CONFIG_MAPS, "a", "default")
        taken = await server.snapshot()
    async with APIServer(snapshot=taken) as fork:
        events = fork.client.watch(CONFIG_MAPS, resource_version=begun)
        seen = [(await anext(events)).type for _ in range(2)]
        await events.aclose()
    assert seen == ["ADDED", "DELETED"]


async def test_kinds_of_crds_are_served_at_once(boat_crd, boat):
    async with APIServer() as server:
        await server.client.create(boat_crd)
        await server.settled()
        await server.client.create(boat("a"))
        taken = await server.snapshot()
    async with APIServer(snapshot=taken) as fork:
        assert await fork.client.get("example.com/v1/boats", "a", "default")


async def test_secure_values_can_be_read_in_a_fork():
    repository = {
        "apiVersion": "provisioning.grafana.app/v0alpha1",
        "kind": "Repository",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"title": "A", "type": "git", "git": {"url": GIT, "branch": "main"}},
        "secure": {"token": {"create": "hidden"}},
    }
    async with APIServer(offline=True) as server:
        made = await server.client.create(repository)
        taken = await server.snapshot()
    name = made["secure"]["token"]["name"]
    async with APIServer(offline=True, snapshot=taken) as fork:
        vault = fork.parts.environment().services["vaults"].repositories
        assert await vault.read(fork.client, Key("default", "a"), "token", name) == "hidden"
    assert "hidden" not in repr(taken)


async def test_a_file_keeps_a_snapshot(options, config_map, tmp_path):
    async with APIServer(**options) as server:
        await server.client.create(config_map("a"))
        taken = await server.snapshot()
        await taken.save(tmp_path / "state.db")
        with pytest.raises(FileExistsError):
            await taken.save(tmp_path / "state.db")
        begun = await server.store.snapshot()
    async with APIServer(snapshot=tmp_path / "state.db") as fork:
        assert "a" in await names(fork)
        assert (await fork.store.snapshot()).records[: len(begun.records)] == begun.records
    async with APIServer(data=tmp_path / "state.db") as server:
        assert "a" in await names(server)


async def test_an_invalid_snapshot_is_refused_with_the_reason(tmp_path):
    taken = await _taken()
    with pytest.raises(ValueError, match="in memory: remove data"):
        async with APIServer(snapshot=taken, data=tmp_path / "data.db"):
            pass
    with pytest.raises(FileNotFoundError, match="no such file"):
        async with APIServer(snapshot=tmp_path / "none.db"):
            pass
    with pytest.raises(TypeError, match="Snapshot or the path"):
        async with APIServer(snapshot=7):
            pass
    (tmp_path / "text.db").write_text("no database at all, but long enough to be looked at " * 9)
    with pytest.raises(StorageError):
        async with APIServer(snapshot=tmp_path / "text.db"):
            pass


async def _taken():
    async with APIServer() as server:
        return await server.snapshot()


async def test_a_log_is_read_up_to_a_moment_and_after_compaction():
    log = MemoryLog()
    async with log.begin() as transaction:
        for revision in range(101, 111):
            key = f"/registry/k/{revision % 3}"
            record = Record(revision, key, max(0, revision - 3), revision, False, b"{}", 0)
            await transaction.append([record])
    await log.compact(107)
    taken = await read(log)
    assert (taken.compacted, taken.newest) == (107, 110)
    assert await read(MemoryLog(taken)) == taken
    assert Snapshot((), 100).newest == 100


async def test_a_fork_of_a_thousand_objects_costs_a_small_part_of_their_creation(config_map):
    async with APIServer() as server:
        begun = time.process_time()
        for number in range(1_000):
            await server.client.create(config_map(f"c-{number}", text="x" * 400))
        created = time.process_time() - begun
        forks = []
        for _ in range(5):
            begun = time.process_time()
            async with APIServer(snapshot=await server.snapshot()):
                forks.append(time.process_time() - begun)
    assert min(forks) < created / 10


def test_options_of_the_command_line_exclude_each_other():
    from click.testing import CliRunner

    from inkube.apiserver.cli import main

    done = CliRunner().invoke(main, ["serve", "--snapshot", "a.db", "--in-memory"])
    assert "cannot be combined" in done.output


def test_saving_a_snapshot_of_a_missing_file_is_an_error(tmp_path):
    from click.testing import CliRunner

    from inkube.apiserver.cli import main

    runner = CliRunner()
    missing = str(Path(tmp_path / "none.db"))
    done = runner.invoke(main, ["snapshot", "save", str(tmp_path / "state.db"), "--data", missing])
    assert (done.exit_code, "does not exist" in done.output) == (1, True)
