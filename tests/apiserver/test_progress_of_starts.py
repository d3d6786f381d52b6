"""A starting server opens its port first, and reports its progress until it is ready."""

import asyncio
import contextlib

import aiohttp
import pytest
from patience import within

from inkube import APIServer
from inkube.apiserver import cli, process
from inkube.apiserver.commands import terminal
from inkube.apiserver.discovery.stages import DEFINING, LOADING, Stage
from inkube.apiserver.sources import foundation
from inkube.storage import writer
from inkube.storage.sql.sqlite import sqlite_log


def config_map(number):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"a{number}", "namespace": "default"},
    }


class SlowLog:
    """A log that pauses its reading until the test continues it; `held` is set during the pause."""

    def __init__(self, log):
        self._log = log
        self.held = asyncio.Event()
        self.turns = asyncio.Semaphore(2)

    async def rows(self, revision, limit):
        if self.turns.locked():
            self.held.set()
        await self.turns.acquire()
        return await self._log.rows(revision, limit)

    def __getattr__(self, name):
        return getattr(self._log, name)


@pytest.fixture
async def file(tmp_path):
    async with APIServer(data=tmp_path / "a.db") as server:
        for number in range(20):
            await server.client.create(config_map(number))
    return tmp_path / "a.db"


@pytest.fixture
def log(file, monkeypatch):
    monkeypatch.setattr(writer, "LOADED", 5)
    slow = SlowLog(sqlite_log(file))
    monkeypatch.setattr(foundation, "log", lambda options, begun: slow)
    return slow


async def test_readyz_reports_the_progress_while_a_file_is_loaded(file, log):
    server = APIServer(data=file)
    start = asyncio.create_task(server.__aenter__())
    async with aiohttp.ClientSession() as http:

        async def ask(path):
            async with http.get(server.url + path) as answer:
                return answer.status, await answer.text(), answer.headers.get("Retry-After")

        async with within():
            await log.held.wait()
        try:
            assert (await ask("/healthz"))[0] == 500
            code, text, _ = await ask("/readyz?verbose")
            assert code == 500
            assert "[-]log failed: loading: 8" in text
            assert text.endswith("readyz check failed\n")
            assert (await ask("/livez"))[0] == 200
            code, text, again = await ask("/api/v1/namespaces")
            assert (code, again) == (503, "1")
            assert "the server is starting: loading: " in text
        finally:
            for _ in range(20):
                log.turns.release()
        await start
        assert server.stage is None
        assert await ask("/readyz") == (200, "ok", None)
        assert (await ask("/api/v1/namespaces"))[0] == 200
    await server.stop()


async def test_a_start_that_takes_long_can_be_ended(file, log):
    server, stop = APIServer(data=file), process.eventloop.Stop(signals=())
    async with contextlib.AsyncExitStack() as stack:
        ending = asyncio.create_task(cli._start_server(server, stack, stop))
        async with within():
            await log.held.wait()
            stop.requested.set()
            assert await ending is False
    with pytest.raises(OSError, match="Connect"):
        await asyncio.open_connection("127.0.0.1", server.port)


async def test_definitions_that_are_made_are_counted():
    server = APIServer(definitions=[config_map(number) for number in range(3)])
    seen = []

    async def look():
        while server.stage is not None:
            seen.append(server.stage)
            await asyncio.sleep(0)

    looking = asyncio.create_task(look())
    async with server:
        await looking
    assert seen[0].check == LOADING
    told = [str(stage) for stage in seen if stage.check == DEFINING]
    assert "importing definitions: 33% (1 of 3)" in told


def test_a_bar_shows_the_stage_its_progress_and_its_total():
    stage = Stage(LOADING, "loading", 3, 4, "12 objects")
    picture = terminal.picture(stage)
    assert picture.startswith("loading ")
    assert picture.endswith(" 75%  12 objects")
    assert picture.count("█") == 22
    assert terminal.picture(stage._replace(total=0)) == "loading (12 objects)"


async def test_a_short_start_prints_no_progress(capsys):
    async with terminal.print_progress(lambda: Stage(LOADING, "loading")):
        pass
    assert capsys.readouterr() == ("", "")


async def test_a_server_is_ready_only_after_what_has_to_be_there_before():
    server = APIServer()
    seen = []

    def write():
        seen.append((server.stage is None, "server:" in server.kubeconfig()))

    server.before_ready = write
    async with server:
        assert seen == [(False, True)]
        assert server.stage is None


async def test_a_kubeconfig_that_cannot_be_written_ends_the_start(tmp_path):
    server = APIServer()
    server.before_ready = lambda: cli._write_access(server, tmp_path / "none" / "kubeconfig")
    with pytest.raises(OSError, match="No such file"):
        await server.__aenter__()
