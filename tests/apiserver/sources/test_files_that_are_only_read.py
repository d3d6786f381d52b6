"""What only reads a data file needs no more rights, and leaves the file and its folder alone."""

import ctypes
import os
import shutil
import subprocess
import sys

import pytest

from inkube import APIServer
from inkube.storage import errors, reading

pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions are not modes there")
COMMANDS = [
    "log configmaps --data {file}",
    "diff 2026-01-01 2999-01-01 --data {file}",
    "diff {file} {file}",
    "check {file}",
    "snapshot save {folder}/new.db --data {file}",
    "import {file} --data {folder}/new.db",
    "plan --data {file} -f {folder}/map.yaml",
    "validate {folder}/map.yaml --definitions {file}",
]
SERVERS = ["snapshot=file", "data=file, at=datetime.datetime.now(datetime.UTC)"]
SERVE = """
import asyncio, datetime, pathlib, sys
from inkube import APIServer
file = pathlib.Path(sys.argv[1])
async def main():
    async with APIServer({options}) as server:
        print((await server.client.get("v1/configmaps", "sky", "default"))["data"])
asyncio.run(main())
"""


def drop_capabilities():
    """Let root obey permissions, as others do: CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
    (capabilities(7))."""
    if os.geteuid() == 0:
        for capability in (1, 2, 3):
            ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)


@pytest.fixture(params=["closed", "open"])
async def locked(request, tmp_path, config_map):
    """A data file in a folder, both of which can only be read. One of a server that runs has its
    newest objects in the `-wal`."""
    (tmp_path / "map.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    (tmp_path / "there").mkdir()
    folder = tmp_path / "locked"
    folder.mkdir()
    async with APIServer(data=tmp_path / "there" / "a.db", keep_history=True) as server:
        await server.client.create(config_map("sky", colour="blue"))
        if request.param == "open":
            copy(tmp_path / "there", folder)
    if request.param == "closed":
        copy(tmp_path / "there", folder)
    folder.chmod(0o500)
    yield folder / "a.db"
    folder.chmod(0o700)


def copy(source, target):
    for path in source.iterdir():
        if not path.name.endswith("-shm"):
            shutil.copyfile(path, target / path.name)
            (target / path.name).chmod(0o400)


def run(*words, folder):
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=drop_capabilities,
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_read_a_file_that_nobody_can_write(locked, tmp_path, command):
    before = {path.name: path.read_bytes() for path in locked.parent.iterdir()}
    words = command.format(file=locked, folder=tmp_path).split()
    done = run("-m", "inkube", *words, folder=tmp_path)
    assert done.returncode == (2 if words[0] == "plan" else 0), done.stderr
    if words[0] == "log":
        assert "ADDED ConfigMap default/sky" in done.stdout
    assert {path.name: path.read_bytes() for path in locked.parent.iterdir()} == before


@pytest.mark.parametrize("options", SERVERS)
def test_servers_start_from_a_file_that_nobody_can_write(locked, tmp_path, options):
    before = {path.name: path.read_bytes() for path in locked.parent.iterdir()}
    done = run("-c", SERVE.format(options=options), str(locked), folder=tmp_path)
    assert done.stdout == "{'colour': 'blue'}\n", done.stderr
    assert {path.name: path.read_bytes() for path in locked.parent.iterdir()} == before


@pytest.mark.parametrize("command", COMMANDS)
def test_an_empty_file_is_not_made_a_data_file(tmp_path, command):
    (tmp_path / "map.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    (tmp_path / "a.db").touch()
    words = command.format(file=tmp_path / "a.db", folder=tmp_path).split()
    done = run("-m", "inkube", *words, folder=tmp_path)
    assert words[0] == "validate" or done.returncode in (1, 2), done.stdout
    assert (tmp_path / "a.db").stat().st_size == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.db", "map.yaml"]


def test_a_file_that_is_written_all_the_time_is_not_copied(tmp_path, monkeypatch):
    path = tmp_path / "a.db"
    path.write_bytes(b"1")
    monkeypatch.setattr(reading, "is_writable", lambda path: False)
    real = shutil.copyfile

    def copyfile(source, target):
        real(source, target)
        path.write_bytes(path.read_bytes() + b"1")

    monkeypatch.setattr(shutil, "copyfile", copyfile)
    with pytest.raises(errors.Unavailable, match="stop its server"), reading.readable(path):
        pass
