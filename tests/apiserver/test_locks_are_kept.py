"""Only SQLite opens and closes a data file, its -wal and its -shm.

On POSIX, closing such a file elsewhere in the process drops the locks that SQLite holds. Another
process then considers the file unused and deletes parts still in use, and acknowledged writes are
lost.
"""

import contextlib
import http.client
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import locks
import neighbours
import patience
import pytest
import served

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, uses strace")

PATIENCE = 2 * patience.SECONDS
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"

Judge = Callable[[], list[str]]


@pytest.fixture(params=["audit hook", "strace"])
def watcher(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[list[str], list[str], Judge]:
    """The command prefixes for inkube and for a Python program, and a function that returns the
    errors found."""
    place = tmp_path / "watched"
    if request.param == "audit hook":
        begin = locks.watched(place)
        return [*begin, "inkube"], begin, lambda: place.read_text().splitlines()
    if not _strace_works():
        pytest.skip("strace is not there, or may not trace")
    begin = [*locks.traced(place), sys.executable]

    def judge() -> list[str]:
        found, count = locks.dropped(place)
        assert count > 10, "SQLite's locks are seen"
        return found

    return [*begin, "-m", "inkube"], begin, judge


def _strace_works() -> bool:
    if shutil.which("strace") is None:
        return False
    tried = subprocess.run(["strace", "-o", os.devnull, "true"], check=False, capture_output=True)
    return tried.returncode == 0


def test_workers_that_end_and_begin_commands_and_other_servers_drop_no_lock(
    watcher: tuple[list[str], list[str], Judge], tmp_path: Path
):
    inkube, _, judge = watcher
    file = tmp_path / "inkube.db"
    made: list[str] = []

    def create(server: served.Served) -> None:
        name = f"m{len(made)}"
        answer = server.ask("POST", CONFIG_MAPS, neighbours.config_map(name))
        assert answer.code == 201, answer
        made.append(name)

    def command(*arguments: object) -> None:
        subprocess.run([*inkube, *map(str, arguments)], check=True, timeout=PATIENCE,
                       stdout=subprocess.DEVNULL)  # fmt: skip

    def serve(folder: str, *arguments: object) -> served.Served:
        (tmp_path / folder).mkdir()
        return served.Served(tmp_path / folder, *map(str, arguments), program=inkube)

    with serve("workers", "--data", file, "--workers", 2) as server:
        create(server)
        workers = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
        os.kill(int(workers.split()[0]), signal.SIGKILL)
        deadline = time.monotonic() + PATIENCE
        while "serves again" not in server.log:
            assert time.monotonic() < deadline, server.log
            with contextlib.suppress(ConnectionError, http.client.HTTPException):
                assert server.ask("GET", "/version").code in (200, 503), "it starts, or serves"
        with serve("beside", "--data", file) as other:
            create(other)
            create(server)
        command("check", file)
        command("log", "--data", file)
        command("snapshot", "save", tmp_path / "saved.db", "--data", file)
        if shutil.which("kubectl"):
            command("capture", tmp_path / "captured.db", "--kubeconfig",
                    tmp_path / "workers" / "kubeconfig")  # fmt: skip
        create(server)
    command("repair", file)
    with serve("again", "--data", file) as server:
        listed = {each["metadata"]["name"] for each in server.ask("GET", CONFIG_MAPS).json["items"]}
        assert set(made) <= listed
    for copy in (tmp_path / f"{name}.db" for name in ("saved", "captured")):
        if copy.exists():
            with serve(copy.stem, "--snapshot", copy):
                pass
    assert judge() == []


def test_several_users_of_a_file_in_one_process_drop_no_lock(
    watcher: tuple[list[str], list[str], Judge], tmp_path: Path
):
    _, python, judge = watcher
    ended = subprocess.run(
        [*python, neighbours.__file__, str(tmp_path / "inkube.db")],
        check=False, timeout=PATIENCE, capture_output=True, text=True,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert judge() == []


def test_a_file_that_is_opened_beside_sqlite_is_found(
    watcher: tuple[list[str], list[str], Judge], tmp_path: Path
):
    _, python, judge = watcher
    program = tmp_path / "careless.py"
    program.write_text(CARELESS)
    subprocess.run([*python, program, str(tmp_path / "inkube.db")], check=True, timeout=PATIENCE)
    assert len(judge()) == 1


CARELESS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = WAL")
for n in range(5):
    connection.execute(f"CREATE TABLE t{n} (a)")
with open(sys.argv[1], "rb"):
    pass
connection.close()
"""
