"""`inkube serve` whose output cannot be written: the disk is full, or the reader has ended."""

import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import IO

import patience
import pytest
import yaml

FULL = Path("/dev/full")  # full(4): each write fails as on a full disk

pytestmark = pytest.mark.skipif(not FULL.exists(), reason="looks at /dev/full")


def start(
    folder: Path, workers: int, *, out: int | IO[bytes], err: int | IO[bytes]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            sys.executable, "-m", "inkube", "serve", "-v", "--port", "0", "--data", "inkube.db",
            "--kubeconfig", "kubeconfig", "--workers", str(workers),
        ],
        cwd=folder, stdout=out, stderr=err,
    )  # fmt: skip


def ask(folder: Path) -> int:
    """Return the code of the response to one request; it also writes a line of the log."""
    (cluster,) = yaml.safe_load((folder / "kubeconfig").read_text())["clusters"]
    url = cluster["cluster"]["server"] + "/version"
    with urllib.request.urlopen(url, timeout=patience.SECONDS) as answer:
        code: int = answer.status
        return code


def end(server: subprocess.Popen[bytes]) -> int:
    server.send_signal(signal.SIGTERM)
    return server.wait(patience.SECONDS)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_whose_log_cannot_be_written_serves_and_stops(tmp_path: Path, workers: int):
    with FULL.open("wb") as full:
        server = start(tmp_path, workers, out=subprocess.PIPE, err=full)
    with server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline().startswith(b"inkube serves on")
            assert [ask(tmp_path) for _ in range(6)] == [200] * 6
            assert end(server) == 0
            assert server.stdout.read().endswith(b"\nstopping\n")
        finally:
            server.kill()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("reason", ["no space left on device", "broken pipe"])
def test_a_server_whose_output_cannot_be_written_serves_and_stops(
    tmp_path: Path, workers: int, reason: str
):
    if reason == "broken pipe":
        reader, writer = os.pipe()
        os.close(reader)
    else:
        writer = os.open(FULL, os.O_WRONLY)
    server = start(tmp_path, workers, out=writer, err=subprocess.PIPE)
    os.close(writer)
    with server:
        try:
            assert server.stderr is not None
            while b"nothing more is printed to standard output" not in (
                line := server.stderr.readline()
            ):
                assert line, "it has not ended"
            assert line.decode().endswith(f": {reason}\n")
            assert ask(tmp_path) == 200
            assert end(server) == 0
            assert b"Traceback" not in server.stderr.read()
        finally:
            server.kill()


def test_a_reader_that_ends_later_does_not_shorten_the_stop(tmp_path: Path):
    """As of `inkube serve | tee file`, after Ctrl+C has ended both: `stopping` has no reader."""
    server = start(tmp_path, 1, out=subprocess.PIPE, err=subprocess.PIPE)
    with server:
        try:
            assert server.stdout is not None
            while server.stdout.readline() != b"Ctrl+C stops it.\n":
                assert server.poll() is None
            server.stdout.close()
            assert end(server) == 0
        finally:
            server.kill()
