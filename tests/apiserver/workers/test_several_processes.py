"""`inkube serve --workers N`: one server of several processes, tested from outside."""

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import ssl
import sys
import urllib.parse
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import dumps
import patience
import pytest
import yaml
from patience import KUBECTL

from inkube.apiserver.dumps import ImportOptions, import_dump
from inkube.apiserver.http import GRACE_SECONDS

PATIENCE = patience.SECONDS
MAPS = "/api/v1/namespaces/default/configmaps"


class Served:
    """A serving command and its output."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.url = ""
        self.out: list[str] = []
        self.log: list[str] = []
        self._news = asyncio.Condition()
        self._reading = [
            asyncio.create_task(self._read(process.stdout, self.out)),
            asyncio.create_task(self._read(process.stderr, self.log)),
        ]

    async def _read(self, stream: asyncio.StreamReader | None, lines: list[str]) -> None:
        assert stream is not None
        async for line in stream:
            lines.append(line.decode().rstrip("\n"))
            async with self._news:
                self._news.notify_all()

    async def told(self, pattern: str, lines: list[str] | None = None) -> str:
        """Return the first line of the log, or of other lines, that matches a pattern."""
        where = self.log if lines is None else lines

        def found() -> str | None:
            return next((line for line in where if re.search(pattern, line)), None)

        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(lambda: found() is not None)
        line = found()
        assert line is not None
        return line

    async def ended(self) -> int:
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*self._reading)
            return await self.process.wait()

    def workers(self) -> list[int]:
        """Return its child processes."""
        found = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in found.split()]


Serve = Callable[..., Any]


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    started: list[Served] = []

    async def begin(*options: str, count: int = 2, ready: bool = True) -> Served:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "inkube", "serve", "--workers", str(count), "--port", "0",
            "--kubeconfig", str(tmp_path / "kubeconfig"), *options,
            stdout=-1, stderr=-1, cwd=tmp_path,
        )  # fmt: skip
        served = Served(process)
        started.append(served)
        if ready:
            line = await served.told("inkube serves on", served.out)
            said = json.loads(line)["message"] if line.startswith("{") else line
            served.url = said.rpartition(" ")[2]
        return served

    yield begin
    for served in started:
        with contextlib.suppress(ProcessLookupError):
            served.process.terminate()
        await served.ended()


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(force_close=True)
    async with aiohttp.ClientSession(connector=connector) as session:
        yield session


async def counted(http: aiohttp.ClientSession, served: Served) -> dict[str, float]:
    """Return the samples of `/metrics`."""
    async with http.get(f"{served.url}/metrics") as answer:
        lines = (await answer.text()).splitlines()
    pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in pairs}


async def all_answer(http: aiohttp.ClientSession, served: Served, count: int) -> None:
    """Wait until every worker reports its metrics."""
    async with asyncio.timeout(PATIENCE):
        while (await counted(http, served)).get("inkube_workers") != count:
            pass


async def running_requests(http: aiohttp.ClientSession, served: Served) -> float:
    """Return the number of requests that change objects and run now, in all workers."""
    samples = await counted(http, served)
    return samples.get('apiserver_current_inflight_requests{request_kind="mutating"}', 0.0)


async def gone(handle: int) -> None:
    """Wait until the process of a pidfd (pidfd_open(2)) has ended."""
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(handle, ended.set)
    try:
        async with asyncio.timeout(PATIENCE):
            await ended.wait()
    finally:
        asyncio.get_running_loop().remove_reader(handle)
        os.close(handle)


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


async def test_workers_share_a_port_and_what_is_stored(serve: Serve, http: Any, tmp_path: Path):
    served = await serve("-v")
    await all_answer(http, served, 2)
    before = await counted(http, served)
    for number in range(10):
        body = {"metadata": {"name": f"m{number}"}}
        async with http.post(served.url + MAPS, json=body) as answer:
            assert answer.status == 201
        async with http.get(f"{served.url}{MAPS}/m{number}") as answer:
            assert answer.status == 200
    name = (
        'apiserver_request_total{code="200",component="apiserver",dry_run="",group="",'
        'resource="configmaps",scope="resource",subresource="",verb="GET",version="v1"}'
    )
    assert (await counted(http, served))[name] - before.get(name, 0) == 10
    served.process.terminate()
    assert await served.ended() == 0
    assert served.out[-1] == "stopping"
    assert sum("inkube serves on" in line for line in served.out) == 1
    assert (tmp_path / "kubeconfig").exists()
    by = Counter(line.split()[0] for line in served.log if MAPS in line)
    assert by == {"worker-1": 10, "worker-2": 10}


@linux
async def test_a_worker_that_is_killed_is_followed_by_another(serve: Serve, http: Any):
    served = await serve()
    await all_answer(http, served, 2)
    first, second = served.workers()
    os.kill(first, signal.SIGKILL)
    await served.told(r"worker 1 ended \(signal 9\) and is started again")
    await served.told("worker 1 serves again")
    await all_answer(http, served, 2)
    assert first not in served.workers()
    assert second in served.workers()


@linux
async def test_a_worker_that_hangs_is_passed_by_and_left_out(serve: Serve, http: Any):
    served = await serve("--lease-duration", "2")
    await all_answer(http, served, 2)
    stopped = served.workers()[0]
    os.kill(stopped, signal.SIGSTOP)
    try:
        timeout = aiohttp.ClientTimeout(2 * patience.PATIENCE)  # for a client whose worker hangs
        answered = 0
        async with asyncio.timeout(PATIENCE):
            while answered < 6:  # in a row: no connection goes to the worker that hangs
                try:
                    async with http.get(f"{served.url}/readyz", timeout=timeout) as answer:
                        assert answer.status == 200
                        answered += 1
                except TimeoutError:
                    answered = 0
        assert (await counted(http, served))["inkube_workers"] == 1
    finally:
        os.kill(stopped, signal.SIGCONT)
    await all_answer(http, served, 2)


@linux
async def test_workers_end_with_a_parent_that_is_killed(serve: Serve, http: Any):
    served = await serve()
    await all_answer(http, served, 2)
    handles = [os.pidfd_open(pid) for pid in served.workers()]
    assert len(handles) == 2
    served.process.kill()
    await asyncio.gather(*map(gone, handles))


async def test_workers_show_one_certificate_and_take_one_token(
    serve: Serve, tmp_path: Path, http: Any
):
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("secret,me,1,system:masters\n")
    served = await serve("--tls", "--token-auth-file", str(tokens))
    trust = ssl.create_default_context(cafile=str(tmp_path / "kubeconfig.ca.crt"))
    written = (tmp_path / "kubeconfig").read_text()
    (user,) = yaml.safe_load(written)["users"]
    admin = user["user"]["token"]
    for token in ("secret", admin) * 3:
        headers = {"Authorization": f"Bearer {token}"}
        async with http.get(f"{served.url}/api", ssl=trust, headers=headers) as answer:
            assert answer.status == 200


async def test_logs_are_of_one_form(serve: Serve, http: Any):
    served = await serve("-v", "--log-format", "json")
    await all_answer(http, served, 2)
    async with asyncio.timeout(PATIENCE):
        while {json.loads(line)["worker"] for line in served.log} != {1, 2}:
            await counted(http, served)
    told = [json.loads(line) for line in served.log]
    assert {"time", "level", "message"} <= set(told[0])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--in-memory"], "workers share stored data"),
        (["--seed", "1"], "works in one process"),
        (["--host", "0.0.0.0"], "needs a token file"),
    ],
)
async def test_what_workers_cannot_do_together_is_refused(
    serve: Serve, options: list[str], why: str
):
    served = await serve(*options, ready=False)
    assert await served.ended() == 1
    assert why in "\n".join(served.log)


async def test_an_error_of_the_start_is_printed_once(serve: Serve, tmp_path: Path):
    other = tmp_path / "other.db"
    other.write_bytes(b"nothing like it" * 1000)
    served = await serve("--data", str(other), ready=False)
    assert await served.ended() == 1
    assert sum("is not a database" in line for line in served.log) == 1


async def test_workers_on_postgresql_share_a_database(serve: Serve, http: Any, cluster: Any):
    served = await serve("--database", await cluster.database())
    await all_answer(http, served, 2)
    for number in range(6):
        async with http.post(served.url + MAPS, json={"metadata": {"name": f"m{number}"}}) as made:
            assert made.status == 201
        async with http.get(f"{served.url}{MAPS}/m{number}") as answer:
            assert answer.status == 200


async def test_what_lives_in_the_worker_that_leads_answers_at_every_worker(
    serve: Serve, http: Any, tmp_path: Path
):
    """A file that was copied into a container is found through any worker."""
    client = shutil.which("kubectl")
    if client is None:
        pytest.skip("kubectl is not installed")
    served = await serve("--workloads", "--nodes", "1", "-v")
    await all_answer(http, served, 2)

    async def kubectl(*words: str, given: str = "") -> str:
        process = await asyncio.create_subprocess_exec(
            client, "--kubeconfig", tmp_path / "kubeconfig", *words, stdin=-1, stdout=-1,
            cwd=tmp_path,
        )  # fmt: skip
        async with asyncio.timeout(PATIENCE):
            out, _ = await process.communicate(given.encode())
        assert process.returncode == 0
        return out.decode()

    container = {"name": "c", "image": "i"}
    pod = {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
    script = {"kind": "Script", "metadata": {"name": "s"}, "spec": {"files": {"/etc/own": "own"}}}
    await kubectl(
        "apply", "-f", "-",
        given=json.dumps({"apiVersion": "workloads.inkube.dev/v1", **script})
        + json.dumps({"apiVersion": "v1", **pod}),
    )  # fmt: skip
    await kubectl("wait", "--for=condition=Ready", "pod/p", KUBECTL)
    (tmp_path / "mine").write_text("given\n")
    await kubectl("cp", "mine", "p:/tmp/mine")
    asked = [await kubectl("exec", "p", "--", "cat", "/tmp/mine") for _ in range(4)]
    assert asked == ["given\n"] * 4
    names = Counter(line.split()[0] for line in served.log if "/pods/p/exec" in line)
    assert set(names) == {"worker-1", "worker-2"}, "each was asked"


@linux
async def test_a_worker_that_stops_alone_leaves_new_connections_to_the_others(
    serve: Serve, http: Any
):
    """It may take as long as its running requests to stop."""
    served = await serve()
    await all_answer(http, served, 2)
    url = urllib.parse.urlsplit(served.url)
    body = b'{"metadata":{"name":"slow"}}'
    opened = [await asyncio.open_connection(url.hostname, url.port) for _ in range(4)]
    for _, writer in opened:  # each worker has some of them, and waits for the rest of a body
        writer.write(
            f"POST {MAPS} HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
        )
    async with asyncio.timeout(PATIENCE):
        while (await running_requests(http, served)) < 4:
            pass
    stopped = served.workers()[0]
    os.kill(stopped, signal.SIGTERM)
    await served.told("worker-1 .*waiting up to .* s for running requests")
    for _ in range(6):  # not with aiohttp's client, which asks again when a connection is reset
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        writer.write(f"GET /version HTTP/1.0\r\nHost: {url.netloc}\r\n\r\n".encode())
        async with asyncio.timeout(PATIENCE):
            assert (await reader.readline()).split()[1] == b"200"
        writer.close()
    assert stopped in served.workers()
    codes = []
    for reader, writer in opened:
        writer.write(body)
        async with asyncio.timeout(PATIENCE):
            codes.append((await reader.readline()).split()[1])
        writer.close()
    assert sorted(codes) == [b"201", b"409", b"409", b"409"]
    await served.told("worker 1 serves again")


@linux
async def test_a_worker_that_stops_ends_the_streams_that_it_forwards(
    serve: Serve, http: Any, tmp_path: Path
):
    served = await serve("--workloads", "--nodes", "1", "--data", str(tmp_path / "inkube.db"))
    await all_answer(http, served, 2)
    pods = f"{served.url}/api/v1/namespaces/default/pods"
    spec = {"containers": [{"name": "c", "image": "i"}]}
    async with http.post(pods, json={"metadata": {"name": "p"}, "spec": spec}) as made:
        assert made.status == 201
    async with http.get(f"{pods}?watch=1") as events, asyncio.timeout(PATIENCE):
        async for line in events.content:
            if json.loads(line)["object"]["status"].get("phase") == "Running":
                break
    logs = [await http.get(f"{pods}/p/log?follow=true") for _ in range(4)]
    assert {each.status for each in logs} == {200}
    for pid in reversed(served.workers()):  # the first one usually leads
        handle = os.pidfd_open(pid)
        os.kill(pid, signal.SIGTERM)
        async with asyncio.timeout(GRACE_SECONDS / 2):
            await gone(handle)
    for each in logs:
        each.close()


@linux
async def test_a_worker_that_stops_sends_the_rest_of_the_logs_of_a_dump(
    serve: Serve, http: Any, tmp_path: Path
):
    """Each worker reads them from the file, with and without simulated nodes."""
    text = b"a line of a log\n" * 1_000_000  # more than buffers of sockets take
    meta = {"name": "p", "namespace": "default", "uid": "1", "resourceVersion": "50"}
    spec = {"nodeName": "kube-node-1", "containers": [{"name": "c", "image": "i"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
    kinds = [dumps.Listed("", "v1", "pods", "Pod", [pod])]
    source = dumps.must_gather(kinds, [dumps.Log("default", "p", "c", text)], tmp_path)
    file = tmp_path / "inkube.db"
    await import_dump(source, file, ImportOptions(), report=lambda *_: None)
    served = await serve("--workloads", "--nodes", "1", "--data", str(file))
    await all_answer(http, served, 2)
    url = f"{served.url}/api/v1/namespaces/default/pods/p/log?follow=true"
    for number, pid in zip((2, 1), reversed(served.workers()), strict=True):
        logs = [await http.get(url) for _ in range(4)]
        assert {each.status for each in logs} == {200}
        os.kill(pid, signal.SIGTERM)
        await served.told(f"worker-{number} .*waiting up to .* s for running requests")
        async with asyncio.timeout(PATIENCE):
            assert [await each.read() == text for each in logs] == [True] * 4
            await served.told(f"worker {number} serves again")


async def test_messages_for_a_shared_stream_are_taken_by_every_worker(
    serve: Serve, http: Any, tmp_path: Path
):
    served = await serve("--data", str(tmp_path / "inkube.db"))
    stream = f"{served.url}/inkube/v1/watch"

    async def read(answer: Any) -> Any:
        while not (line := await answer.content.readline()).startswith(b"data: "):
            pass
        return json.loads(line.removeprefix(b"data: "))

    async with patience.within(), http.get(stream) as answer:
        name = (await read(answer))["stream"]
        for number in range(8):  # connections go to the workers in turn
            message = {"open": str(number), "path": MAPS}
            async with http.post(f"{stream}/{name}", json=message) as taken:
                assert taken.status == 200, await taken.text()
            assert (await read(answer))["watch"] == str(number)
        async with http.post(f"{stream}/1-gone", json={"close": "1"}) as taken:
            assert taken.status == 404
