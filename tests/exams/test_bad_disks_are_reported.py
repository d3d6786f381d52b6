"""Disk failures: a server that cannot store reports this, and stores again when it can."""

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
import served
from patience import SECONDS

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
START = [sys.executable, "-m", "inkube.apiserver.cli", "serve", "--port", "0", "-q"]


def config_map(name, size=10):
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    return {**head, "data": {"text": "x" * size}}


def refused(folder, data):
    """Return the error of a server that cannot start."""
    done = subprocess.run(
        [*START, "--data", str(data), "--kubeconfig", str(folder / "kubeconfig")],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_full_disk_refuses_writes_and_serves_reads(serve, tmp_path):
    """A limit on the size of files simulates a full disk."""
    data = tmp_path / "full.db"
    with serve("--data", str(data)) as server:
        assert server.ask("POST", CONFIG_MAPS, config_map("a")).code == 201
        pid, size = server.process.pid, data.stat().st_size
        beside = data.with_name("full.db-wal").stat().st_size
        limit = max(size, beside) + 100_000
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        codes = {
            server.ask("POST", CONFIG_MAPS, config_map(f"b{n}", 60_000)).code for n in range(8)
        }
        assert codes == {201, 503}, "some fit"
        assert server.ask("GET", f"{CONFIG_MAPS}/a").code == 200
        free = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, free)
        assert server.ask("POST", CONFIG_MAPS, config_map("c")).code == 201
        assert server.log.count("Traceback") <= 1, "told once"


def test_a_locked_file_is_an_error_after_a_wait(serve, tmp_path):
    data = tmp_path / "locked.db"
    with serve("--data", str(data)) as server, closing(sqlite3.connect(data)) as other:
        # objects that every cluster has of a kind are created at its first request
        assert server.ask("GET", CONFIG_MAPS).code == 200
        other.isolation_level = None
        other.execute("BEGIN IMMEDIATE")
        answer = server.ask("POST", CONFIG_MAPS, config_map("a"))
        assert (answer.code, "locked" in answer.json["message"]) == (503, True)
        assert server.ask("GET", CONFIG_MAPS).code == 200
        other.execute("ROLLBACK")
        assert server.ask("POST", CONFIG_MAPS, config_map("a")).code == 201


@pytest.mark.parametrize("what", ["text", "another application's", "truncated"])
def test_what_is_no_data_file_is_refused_and_left_alone(serve, tmp_path, what):
    data = tmp_path / "wrong.db"
    if what == "text":
        data.write_bytes(b"this is no database\n" * 1000)
    elif what == "another application's":
        with closing(sqlite3.connect(data)) as other:
            other.execute("CREATE TABLE theirs (a)")
            other.commit()
    else:
        with serve("--data", str(data)) as server:
            for number in range(30):
                server.ask("POST", CONFIG_MAPS, config_map(f"a{number}", 5000))
        os.truncate(data, data.stat().st_size // 3)
    before = data.read_bytes()
    told = refused(tmp_path, data)
    assert str(data) in told or "database" in told
    if what in ("text", "another application's"):
        assert data.read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_file_is_an_error(tmp_path, serve):
    folder = tmp_path / "readonly"
    folder.mkdir()
    with serve("--data", str(folder / "a.db")):
        pass
    folder.chmod(0o500)
    try:
        assert "a.db" in refused(tmp_path, folder / "a.db")
    finally:
        folder.chmod(0o700)


def test_damaged_pages_never_bring_a_server_down(serve, tmp_path):
    """Random bytes of the file are changed: the server refuses to start, or serves what it can
    read."""
    sound = tmp_path / "sound.db"
    with serve("--data", str(sound)) as server:
        for number in range(40):
            assert server.ask("POST", CONFIG_MAPS, config_map(f"a{number}", 2000)).code == 201
    size = sound.stat().st_size
    rounds = 60 if served.LONG else 3
    outcomes = {"refused": 0, "served": 0}
    for number in range(rounds):
        data = tmp_path / f"damaged{number}.db"
        shutil.copy(sound, data)
        place = 100 + (size - 200) * (number + 1) // (rounds + 1)
        with data.open("r+b") as file:
            file.seek(place)
            file.write(os.urandom(64))
        try:
            with serve("--data", str(data)) as server:
                answer = server.ask("GET", CONFIG_MAPS)
                assert answer.code in (200, 500, 503)
                if answer.code == 200:
                    assert answer.json["kind"] == "ConfigMapList"
                assert server.process.poll() is None
            outcomes["served"] += 1
        except RuntimeError:  # it did not start, and reported why
            outcomes["refused"] += 1
    assert "Traceback" not in (tmp_path / "serve.log").read_text()
    print(outcomes)
