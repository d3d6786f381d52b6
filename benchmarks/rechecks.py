"""Rechecks of healthy repositories against the scripted world: processor time, and what is written.

One process, so that its processor time is the server's; a clock that is moved, so that no time is
waited for.
"""

import asyncio
import time
from collections.abc import Iterable
from typing import Any

from benchmarks import figures
from benchmarks.figures import Figure
from inkube import APIServer
from inkube.controllers.clock import FakeClock

REPOSITORIES = 10_000
GVR = "provisioning.grafana.app/v0alpha1/repositories"
PLACE = {"path": "team/dashboards", "branches": ["main"], "defaultBranch": "main"}
HOST: dict[str, Any] = {
    "apiVersion": "world.inkube.dev/v1",
    "kind": "GitHost",
    "metadata": {"name": "git.example"},
    "spec": {"repositories": [PLACE]},
}


def measure() -> Iterable[Figure]:
    """See the module."""
    seconds, written = asyncio.run(_recheck())
    note = f"{written} writes"
    what = f"processor time of a recheck of {REPOSITORIES:,} healthy repositories"
    yield Figure(what, seconds, "s", at_most=2, note=note)


async def _recheck() -> tuple[float, int]:
    """Processor seconds of one recheck of all, and the revisions it made."""
    clock = FakeClock(ticking=True)
    async with APIServer(offline=True, clock=clock, max_repositories=0) as server:
        await server.client.create(HOST)
        for number in range(REPOSITORIES):
            await server.client.create(_repository(number))
        await server.settled(600)
        listed = (await server.client.list(GVR)).items
        assert all(item["status"]["health"]["healthy"] for item in listed), "all are healthy"
        before, started = server.store.revision, time.process_time()
        clock.advance(301)
        for _ in range(50):
            await asyncio.sleep(0)
        await server.settled(600)
        return time.process_time() - started, server.store.revision - before


def _repository(number: int) -> dict[str, Any]:
    git = {"url": "https://git.example/team/dashboards", "branch": "main", "path": f"p{number}"}
    return {
        "apiVersion": "provisioning.grafana.app/v0alpha1",
        "kind": "Repository",
        "metadata": {"name": f"repository-{number:05}", "namespace": "default"},
        "spec": {"title": "Good", "type": "git", "git": git},
    }


if __name__ == "__main__":
    figures.main(measure)
