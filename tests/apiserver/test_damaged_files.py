"""Data files that others can read, damaged ones, and ones deleted while a server runs."""

import asyncio
import logging
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing

import aiohttp
import pytest
from click.testing import CliRunner

from inkube import APIServer
from inkube.apiserver.cli import main

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def file(tmp_path):
    return tmp_path / "inkube.db"


def config_map(name, **data):
    head = {"apiVersion": "v1", "kind": "ConfigMap"}
    return {**head, "metadata": {"name": name, "namespace": "default"}, "data": data}


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


async def filled(file):
    """Return a file with two objects, one of them with two states."""
    async with APIServer(data=file) as server:
        first = await server.client.create(config_map("a", state="first"))
        await server.client.create(config_map("b"))
        return await server.client.update({**first, "data": {"state": "second"}})


def damage(file, name, *, cut=20):
    """Truncate the newest state of an object."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(
            "UPDATE log SET data = substr(data, 1, length(data) - ?) WHERE revision ="
            " (SELECT max(revision) FROM log WHERE key LIKE ?)",
            (cut, f"%/configmaps/default/{name}"),
        )
        connection.commit()


async def get(server, path):
    async with aiohttp.ClientSession() as session, session.get(server.url + path) as answer:
        return answer.status, await answer.json(), answer.headers.getall("Warning", [])


async def test_a_data_file_is_its_owners_alone(file):
    async with APIServer(data=file) as server:
        await server.client.create(config_map("a"))
        beside = [path for path in file.parent.iterdir() if path.name.startswith(file.name)]
        assert len(beside) >= 3, "with what SQLite puts beside it"
        assert {mode(path) for path in beside} == {0o600}


async def test_read_permissions_of_others_on_a_data_file_are_removed_and_logged(file, caplog):
    file.touch(0o644)
    file.chmod(0o644)
    async with APIServer(data=file):
        assert mode(file) == 0o600
    assert "could be read by others (644)" in caplog.text


async def test_a_damaged_object_is_a_500_and_the_rest_is_served(file, caplog):
    await filled(file)
    damage(file, "a")
    async with APIServer(data=file) as server:
        code, body, _ = await get(server, f"{CONFIG_MAPS}/a")
        assert code == 500
        assert "configmaps/default/a is damaged" in body["message"]
        code, body, warnings = await get(server, CONFIG_MAPS)
        assert [item["metadata"]["name"] for item in body["items"]] == ["b"]
        assert "configmaps/default/a is damaged and left out" in warnings[0]
        await server.client.create(config_map("c"))
    assert "damaged and left out: /registry/configmaps/default/a" in caplog.text
    caplog.clear()


async def test_check_finds_damage_and_repair_restores_the_last_sound_state(file):
    await filled(file)
    run = CliRunner().invoke
    assert run(main, ["check", str(file)]).exit_code == 0
    damage(file, "a")
    found = run(main, ["check", str(file)])
    assert (found.exit_code, found.output.count("damaged: /registry/configmaps")) == (1, 1)
    assert run(main, ["repair", str(file)]).exit_code == 0
    assert run(main, ["check", str(file)]).exit_code == 0
    before = run(main, ["check", f"{file}.before-repair"])
    assert before.output.splitlines()[:-1] == found.output.splitlines()[:-1]
    async with APIServer(data=file) as server:
        _, body, _ = await get(server, f"{CONFIG_MAPS}/a")
        assert body["data"] == {"state": "first"}


async def test_a_file_that_is_deleted_or_replaced_takes_no_writes(file, caplog):
    caplog.set_level(logging.CRITICAL, "inkube")
    async with APIServer(data=file) as server, aiohttp.ClientSession() as session:
        url = server.url + CONFIG_MAPS
        moved = file.rename(file.with_name("moved"))
        async with session.post(url, json=config_map("a")) as answer:
            assert answer.status == 503
            assert "was deleted or replaced" in (await answer.json())["message"]
        file.write_bytes(b"")
        async with session.post(url, json=config_map("a")) as answer:
            assert answer.status == 503
        moved.replace(file)
        async with session.post(url, json=config_map("a")) as answer:
            assert answer.status == 201


@pytest.mark.parametrize("deleted", [True, False])
async def test_a_wal_that_is_deleted_or_replaced_takes_no_writes(file, caplog, *, deleted):
    """SQLite would go on writing to a deleted file, which no later start could find."""
    caplog.set_level(logging.CRITICAL, "inkube")
    wal = file.with_name(f"{file.name}-wal")
    async with APIServer(data=file) as server, aiohttp.ClientSession() as session:
        moved = wal.rename(file.with_name("moved"))
        if not deleted:
            wal.write_bytes(moved.read_bytes())
        async with session.post(server.url + CONFIG_MAPS, json=config_map("a")) as answer:
            assert answer.status == 503
            assert "inkube.db-wal was deleted or replaced" in (await answer.json())["message"]
        moved.replace(wal)
        async with session.post(server.url + CONFIG_MAPS, json=config_map("a")) as answer:
            assert answer.status == 201
    async with APIServer(data=file) as server:
        assert (await get(server, f"{CONFIG_MAPS}/a"))[0] == 200


async def lived(file):
    """Return a file with two objects, one of them with three states; other data is compacted or
    deleted."""
    async with APIServer(data=file) as server:
        first = await server.client.create(config_map("old"))
        await server.client.update({**first, "data": {"state": "second"}})
        await server.client.create(config_map("gone"))
        await server.client.delete("v1/configmaps", "gone", "default")
        await server.store.compact(server.store.revision)
        made = await server.client.create(config_map("a", state="first"))
        made = await server.client.update({**made, "data": {"state": "second"}})
        await server.client.create(config_map("b"))
        await server.client.update({**made, "data": {"state": "third"}})
        await server.client.create(config_map("c"))
        await server.client.delete("v1/configmaps", "c", "default")
        return server.store.revision


OF = "(SELECT {} FROM log WHERE key LIKE '%/configmaps/default/a')"
FIRST, SECOND = OF.format("min(revision)"), OF.format("min(revision) + 1")
DAMAGES = {
    "is missing": f"DELETE FROM log WHERE revision = {SECOND}",
    "are missing": f"DELETE FROM log WHERE revision IN ({SECOND}, {SECOND} + 1)",
    "and the log has none": f"UPDATE log SET previous = 1 WHERE revision = {FIRST}",
    "replaces revision 5000": f"UPDATE log SET previous = 5000 WHERE revision = {SECOND}",
    "replaces none": f"UPDATE log SET previous = 0 WHERE revision = {SECOND}",
    "outlived": "UPDATE log SET key = (SELECT key FROM log WHERE key LIKE '%/default/old') "
    "WHERE revision = (SELECT min(revision) FROM log)",
    "comes after": """
        CREATE TABLE copy AS SELECT * FROM log; DROP TABLE log; ALTER TABLE copy RENAME TO log;
        INSERT INTO log SELECT * FROM log ORDER BY revision DESC LIMIT 1""",
}


@pytest.mark.parametrize(("told", "damage"), DAMAGES.items(), ids=DAMAGES)
async def test_a_contradictory_log_is_reported_and_repaired(file, told, damage):
    newest = await lived(file)
    run = CliRunner().invoke
    assert run(main, ["check", str(file)]).output == f"{file} is sound\n"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(damage)
    found = run(main, ["check", str(file)])
    assert found.exit_code == 1
    assert "damaged: the log: " in found.output
    assert told in found.output
    assert f"inkube repair {file}" in found.output
    repaired = run(main, ["repair", str(file)])
    assert repaired.exit_code == 0
    is_twice = told == "comes after"  # and the same, so nothing is lost
    assert ("forgotten: " in repaired.output) != is_twice
    assert run(main, ["check", str(file)]).output == f"{file} is sound\n"
    async with APIServer(data=file) as server:
        assert server.store.revision >= newest, "no revision is given twice"
        _, body, _ = await get(server, CONFIG_MAPS)
        names = [item["metadata"]["name"] for item in body["items"]]
        assert names == (["a", "old"] if told == "are missing" else ["a", "b", "old"])
        made = await server.client.create(config_map("d"))
        assert int(made["metadata"]["resourceVersion"]) > newest
    assert run(main, ["check", str(file)]).output == f"{file} is sound\n"


async def test_a_revision_whose_row_was_damaged_is_not_given_again(file):
    newest = int((await filled(file))["metadata"]["resourceVersion"])
    damage(file, "a")
    assert CliRunner().invoke(main, ["repair", str(file)]).exit_code == 0
    async with APIServer(data=file) as server:
        made = await server.client.create(config_map("c"))
        assert int(made["metadata"]["resourceVersion"]) > newest


async def test_a_file_that_was_repaired_again_and_again_is_sound(file):
    await filled(file)
    run = CliRunner().invoke
    for number in range(3):
        assert run(main, ["repair", str(file)]).exit_code == 0
        async with APIServer(data=file) as server:
            await server.client.create(config_map(f"new-{number}"))
        assert run(main, ["check", str(file)]).output == f"{file} is sound\n"
    copies = {path.name for path in file.parent.iterdir() if "before-repair" in path.name}
    assert copies >= {f"{file.name}.before-repair{end}" for end in ("", "-2", "-3")}


@pytest.mark.skipif(os.name == "nt", reason="needs limits of processes")
@pytest.mark.parametrize("room", [0, 4096, 131072, 200_000, None])
async def test_a_repair_needs_room_for_the_new_file_and_leaves_nothing_without_it(
    file, tmp_path, room
):
    (tmp_path / "left").mkdir()
    left = tmp_path / "left" / file.name
    async with APIServer(data=file) as server:
        for number in range(100):  # so that the -wal is larger than the new file
            await server.client.create(config_map(f"a-{number}"))
        for end in ("", "-wal"):  # as after a crash
            shutil.copy(f"{file}{end}", f"{left}{end}")
    before = {path.name: path.read_bytes() for path in left.parent.iterdir()}
    assert len(before[f"{file.name}-wal"]) > 200_000
    limit = "" if room is None else f"resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))"
    program = f"import resource; {limit}\nfrom inkube.apiserver import cli; cli.main()"
    command = [sys.executable, "-c", program, "repair", str(left)]
    result = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
    after = {path.name: path.read_bytes() for path in left.parent.iterdir()}
    if result.returncode:
        assert "cannot be repaired: " in result.stderr
        assert "Traceback" not in result.stderr
        assert after == before
    else:
        ends = {name: after.pop(f"{file.name}.before-repair{name}") for name in ("", "-wal")}
        assert {f"{file.name}{name}": content for name, content in ends.items()} == before
        assert list(after) == [file.name]
    assert (result.returncode == 0) == (room is None or room > 4096)


def test_a_file_that_is_no_database_stays_as_it_is(file):
    contents = b"a text, and no database"
    file.write_bytes(contents)
    result = CliRunner().invoke(main, ["repair", str(file)])
    assert result.exit_code == 1
    assert "it contains no row of a log, and is no database" in result.output
    assert [each.name for each in file.parent.iterdir()] == [file.name]
    assert file.read_bytes() == contents
