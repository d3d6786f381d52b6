"""A process that is killed while it writes files leaves each of them whole, or not at all."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import SECONDS

from inkube import APIServer
from inkube.apiserver.sources import snapshots

SCRIPT = Path(__file__).parents[1] / "support" / "killed.py"
JOBS = ("save", "restore", "page", "capture", "definitions", "assets", "example", "key",
        "kubeconfig")  # fmt: skip
MAPS = 50


@pytest.fixture
async def source(tmp_path):
    """A data file with some objects."""
    async with APIServer(data=tmp_path / "source.db", controllers=False) as server:
        for number in range(MAPS):
            meta = {"name": f"m-{number}", "namespace": "default"}
            await server.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
    return tmp_path / "source.db"


def content(path):
    """Return what a file must have in common with the whole one."""
    if path.suffix == ".db":
        loaded = asyncio.run(snapshots.load(path))
        return sorted(record.key for record in loaded.log.records)
    if path.suffix == ".html":
        return path.read_bytes()[-1000:]  # it contains the time at which it was made
    return path.read_bytes().replace(str(path.parent).encode(), b"")


def made(folder):
    """Return the files in a folder, except drafts."""
    found = (each for each in folder.rglob("*") if each.is_file())
    return {
        each.relative_to(folder): each
        for each in found
        if not each.name.startswith(".") or ".draft" not in each.name
    }


@pytest.mark.parametrize("job", JOBS)
def test_a_killed_writer_leaves_a_whole_file_or_none(tmp_path, source, job):
    folder = tmp_path / "made"
    folder.mkdir()
    program = [sys.executable, str(SCRIPT), job, str(folder)]
    environment = {**os.environ, "INKUBE_SOURCE": str(source)}
    done = subprocess.run(
        program, env=environment, capture_output=True, text=True, timeout=10 * SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    kills = int(done.stdout)
    assert kills >= 8
    whole = {name: content(path) for name, path in made(folder / "whole").items()}
    assert whole
    unfinished = 0
    for number in range(kills):
        found = made(folder / str(number))
        unfinished += len(found) < len(whole)
        for name, path in found.items():
            assert content(path) == whole[name], f"kill {number}: {name}"
        if job == "save" and not found:
            target = folder / str(number) / "made.db"
            asyncio.run(asyncio.run(snapshots.load(source)).save(target))
            assert content(target) == whole[Path("made.db")], "it can be done again"
    assert unfinished > kills // 4, "most kills met the job before its end"
