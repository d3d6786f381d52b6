"""`inkube serve` as a process of its own: what it prints, when it stops, how it fails."""

import asyncio
import contextlib
import os
import re
import signal
import sqlite3
import sys
import time
from pathlib import Path

import aiohttp
import pytest
import yaml

import inkube

HOME = str(Path(inkube.__path__[0]).absolute().parent)
MAIN = [sys.executable, "-m", "inkube.apiserver.cli"]


@contextlib.asynccontextmanager
async def command(folder, *arguments):
    """The command in a folder of its own, ended afterwards."""
    process = await asyncio.create_subprocess_exec(
        *MAIN,
        *map(str, arguments),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": HOME},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def address(process):
    """The address it prints first."""
    async with asyncio.timeout(30):
        line = (await process.stdout.readline()).decode()
    return re.fullmatch(r"inkube serves on (\S+)\n", line)[1]


async def failed(folder, *arguments):
    """The exit code and what stderr says."""
    async with command(folder, "serve", "--port", 0, *arguments) as process, asyncio.timeout(30):
        _, text = await process.communicate()
    return process.returncode, text.decode()


async def test_the_address_is_printed_once_the_server_is_ready(tmp_path):
    async with (
        command(tmp_path, "serve", "--port", 0, "--in-memory") as process,
        aiohttp.ClientSession() as http,
    ):
        url = await address(process)
        async with http.get(f"{url}/readyz") as answer:
            assert await answer.text() == "ok"
        config = yaml.safe_load((tmp_path / "inkube.kubeconfig").read_text())
        assert config["clusters"][0]["cluster"]["server"] == url
        assert (tmp_path / "inkube.kubeconfig").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_stops_it_within_two_seconds_even_with_open_watches(tmp_path, number):
    async with (
        command(tmp_path, "serve", "--port", 0, "--data", "a.db") as process,
        aiohttp.ClientSession() as http,
    ):
        url = await address(process)
        watches = [await http.get(f"{url}/api/v1/configmaps?watch=1") for _ in range(5)]
        started = time.monotonic()
        process.send_signal(number)
        async with asyncio.timeout(10):
            _, text = await process.communicate()
        assert process.returncode == 0
        assert time.monotonic() - started < 2
        assert b"Traceback" not in text
        for watch in watches:
            watch.close()


async def test_data_files_that_are_none_are_one_clear_line(tmp_path):
    (tmp_path / "text.db").write_text("no database\n" * 500)
    with contextlib.closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE log (a TEXT)")
        other.commit()
    for name in ("text.db", "other.db", "missing/a.db"):
        code, text = await failed(tmp_path, "--data", name)
        assert code == 1, text
        assert text.startswith("Error: "), text
        assert len(text.splitlines()) == 1, text


async def test_a_port_in_use_is_one_clear_line(tmp_path):
    async with command(tmp_path, "serve", "--port", 0, "--in-memory") as process:
        port = (await address(process)).rpartition(":")[2]
        code, text = await failed(tmp_path, "--in-memory", "--port", port)
    assert code == 1
    assert "address already in use" in text
    assert len(text.splitlines()) == 1


async def test_other_addresses_than_loopback_need_credentials(tmp_path):
    code, text = await failed(tmp_path, "--in-memory", "--host", "0.0.0.0")
    assert code == 1
    assert "is not a loopback address" in text
    assert len(text.splitlines()) == 1


async def test_memory_and_a_file_exclude_each_other(tmp_path):
    code, text = await failed(tmp_path, "--in-memory", "--data", "a.db")
    assert code == 2
    assert "exclude each other" in text


async def test_files_are_validated_without_a_server(tmp_path):
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A}\n")
    async with command(tmp_path, "validate", "a.yaml") as process, asyncio.timeout(30):
        out, text = await process.communicate()
    assert process.returncode == 1
    assert b"metadata.name" in out
    assert text == b"1 document, 1 error\n"
