"""SIGKILL during concurrent writes: no acknowledged write is lost, and the file can be opened."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from patience import SECONDS

from inkube.storage.sql.sqlite import sqlite_log
from inkube.storage.store import Store

ROUNDS = 20

WRITER = """
import asyncio, json, os, sys
from inkube.storage.sql.sqlite import sqlite_log
from inkube.storage.store import Store

class Codec:
    def is_sound(self, data: bytes, revision: int) -> bool:
        return True

    def are_sound(self, data: list[bytes], revisions: list[int]) -> bool:
        return True

    def encode(self, value, revision):
        return json.dumps(value).encode()
    decode = staticmethod(json.loads)

def acknowledge(entry):
    os.write(1, f"{entry.key} {entry.revision} {entry.value['v']}\\n".encode())

async def write(store, client):
    while True:
        key = f"/r/{client}-{store.revision}"
        entry = await store.create(key, {"v": 0})
        acknowledge(entry)
        for v in (1, 2):
            entry = await store.update(key, {"v": v, "pad": "x" * 500}, entry.revision)
            acknowledge(entry)

async def main(path):
    async with Store(sqlite_log(path), Codec()) as store:
        await asyncio.gather(*(write(store, client) for client in range(16)))

asyncio.run(main(sys.argv[1]))
"""


def write_and_be_killed(path: Path, after: int) -> dict[str, tuple[int, int]]:
    """Return the acknowledged writes of a killed process, by key: revision and value."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(after)]
    process.send_signal(signal.SIGKILL)
    lines += process.stdout.read().splitlines(keepends=True)
    process.stdout.close()
    assert process.wait(timeout=SECONDS) == -signal.SIGKILL
    acknowledged = {}
    for line in lines:
        if line.endswith(b"\n"):
            key, revision, value = line.decode().split()
            acknowledged[key] = (int(revision), int(value))
    return acknowledged


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on this system")
async def test_no_acknowledged_write_is_lost_when_the_process_is_killed(tmp_path: Path, codec: Any):
    path = tmp_path / "inkube.db"
    newest = 0
    for turn in range(ROUNDS):
        # A different number each time, so that the kill hits different parts of a commit.
        acknowledged = write_and_be_killed(path, after=40 + 7 * turn)
        async with Store(sqlite_log(path), codec) as store:
            assert store.revision >= max(r for r, _ in acknowledged.values()) > newest
            newest = store.revision
            for key, (revision, value) in acknowledged.items():
                entry = store.get(key)
                assert entry is not None
                assert entry.revision >= revision
                assert entry.value["v"] >= value
