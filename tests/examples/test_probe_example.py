"""The example with one live check: short, and it works in both phases."""

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from patience import SECONDS

import inkube

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "probe" / "probe.py"
HOME = str(Path(inkube.__path__[0]).absolute().parent)
PROBES = "/apis/example.com/v1/namespaces/default/probes"


@asynccontextmanager
async def example():
    """The address of the example, which runs in its own process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        EXAMPLE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": HOME},
    )
    try:
        line = await asyncio.wait_for(process.stdout.readline(), SECONDS)
        yield line.decode().split()[2]
    finally:
        process.terminate()
        await process.communicate()


def probe(port):
    return {
        "apiVersion": "example.com/v1",
        "kind": "Probe",
        "metadata": {"name": "a"},
        "spec": {"host": "127.0.0.1", "port": port},
    }


async def current(session, generation):
    """Watch until the controller has processed that generation; return the field errors."""
    query = {"watch": "true", "fieldSelector": "metadata.name=a"}
    async with session.get(PROBES, params=query) as stream:
        async for line in stream.content:
            status = json.loads(line)["object"].get("status", {})
            if status.get("observedGeneration") == generation:
                return status["fieldErrors"]
    raise AssertionError("the watch ended")


async def test_dry_runs_and_status_report_whether_anything_listens():
    listener = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    async with example() as url, aiohttp.ClientSession(url) as session:
        async with session.post(f"{PROBES}?dryRun=All", json=probe(1)) as answer:
            assert answer.status == 422
            [cause] = (await answer.json())["details"]["causes"]
            assert cause["field"] == "spec.port"
        async with session.post(f"{PROBES}?dryRun=All", json=probe(port)) as answer:
            assert answer.status == 201
        async with session.post(PROBES, json=probe(1)) as answer:
            assert answer.status == 201
        [error] = await current(session, 1)
        assert error["detail"].startswith("nothing listens on 127.0.0.1: ")
        headers = {"Content-Type": "application/merge-patch+json"}
        patch = b'{"spec": {"port": %d}}' % port
        async with session.patch(f"{PROBES}/a", data=patch, headers=headers) as answer:
            assert answer.status == 200
        assert await current(session, 2) == []
    listener.close()
    await listener.wait_closed()


def test_the_example_is_short():
    code = [line for line in EXAMPLE.read_text().splitlines() if line.strip()]
    assert len(code) <= 25


def test_the_page_shows_it_as_it_is():
    page = ROOT / "docs" / "howto" / "kinds.md"
    assert f"{EXAMPLE.read_text()}```\n" in page.read_text()
