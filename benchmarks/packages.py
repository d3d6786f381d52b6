"""A large Porch repository: 1,000 packages with three revisions each, in git on this machine.

Registration reads all of it. A list and the creation of a Draft are requested over HTTP. The result
is the elapsed time, the lowest of some turns, with a server in this process and `file://`, so that
there is no network.
"""

import asyncio
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks import figures
from benchmarks.figures import Figure
from inkube import APIServer

PACKAGES, REVISIONS, TURNS = 1_000, 3, 6
CONFIG = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/repositories"
PORCH = "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions"
_COMMITTER = "Ann <ann@example.com> 1700000000 +0000"


def measure() -> Iterable[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "large.git")
        _fill(place)
        return asyncio.run(_measure(place))


def _fill(place: Path) -> None:
    """Create the repository with git, and pack it as a host would."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", place], check=True)
    stream = "".join(_history())
    git = ["git", "-C", str(place)]
    subprocess.run([*git, "fast-import", "--quiet"], input=stream, text=True, check=True)
    subprocess.run([*git, "gc", "--quiet"], check=True)


def _history() -> Iterable[str]:
    for revision in range(1, REVISIONS + 1):
        for number in range(PACKAGES):
            package = f"team{number % 20}/package{number}"
            kptfile = f"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p{number}\n"
            content = (
                f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{number}\n"
                f"data:\n  revision: '{revision}'\n"
            )
            yield f"commit refs/heads/main\ncommitter {_COMMITTER}\ndata 1\nr\n"
            yield f"M 100644 inline {package}/Kptfile\ndata {len(kptfile)}\n{kptfile}\n"
            yield f"M 100644 inline {package}/map.yaml\ndata {len(content)}\n{content}\n"
            yield f"reset refs/tags/{package}/v{revision}\nfrom refs/heads/main\n\n"


async def _measure(place: Path) -> list[Figure]:
    async with (
        APIServer(modules="porch,world", offline=True, allow_private_hosts=True) as server,
        aiohttp.ClientSession(server.url) as http,
    ):
        worked, begun = time.process_time(), time.perf_counter()
        settings = {"type": "git", "git": {"repo": place.as_uri()}}
        await _post(http, CONFIG, {"metadata": {"name": "large"}, "spec": settings})
        await server.settled(120)
        registration = time.perf_counter() - begun
        worked = time.process_time() - worked

        async def read() -> None:
            async with http.get(PORCH) as answer:
                found = await answer.json(content_type=None)
            assert len(found["items"]) >= PACKAGES * REVISIONS

        async def read_bytes() -> None:
            async with http.get(PORCH) as answer:
                await answer.read()

        await read()
        numbers = iter(range(TURNS))

        async def create() -> None:
            name = f"new{next(numbers)}"
            spec = {"packageName": name, "repository": "large", "workspaceName": "v1"}
            await _post(http, PORCH, {"spec": spec})

        listing = [await _timed(read_bytes) for _ in range(TURNS)]
        drafts = [await _timed(create) for _ in range(TURNS)]
    what = f"registration of {PACKAGES:,} packages with {REVISIONS} revisions"
    note = f"{worked:.1f} s of processor time"
    told = ", ".join(f"{each * 1000:.0f}" for each in drafts)
    return [
        Figure(what, registration, "s", at_most=20, note=note),
        Figure("list of all revisions", min(listing) * 1000, "ms", at_most=100),
        Figure("create of a Draft", min(drafts) * 1000, "ms", at_most=50, note=f"{told} ms"),
    ]


async def _post(http: aiohttp.ClientSession, path: str, body: dict[str, Any]) -> None:
    async with http.post(path, json=body) as answer:
        if answer.status != 201:
            raise RuntimeError(f"{path}: {answer.status} {await answer.text()}")


async def _timed(act: Callable[[], Awaitable[None]]) -> float:
    begun = time.perf_counter()
    await act()
    return time.perf_counter() - begun


if __name__ == "__main__":
    figures.main(measure)
