"""Rechecks of healthy repositories against the scripted world: processor time and written
revisions.

The server runs in this process, so that the processor time of the process is that of the server.
The clock is moved, so that the measurement does not wait.
"""

import asyncio
import time
from collections.abc import Iterable

from benchmarks import figures, objects
from benchmarks.figures import Figure
from benchmarks.objects import Object
from inkube import APIServer
from inkube.controllers.clock import FakeClock

REPOSITORIES = 10_000
GVR = "provisioning.grafana.app/v0alpha1/repositories"
PLACE = {"path": "team/dashboards", "branches": ["main"], "defaultBranch": "main"}
HOST = objects.new("world.inkube.dev/v1", "GitHost", "git.example", spec={"repositories": [PLACE]})


def measure() -> Iterable[Figure]:
    seconds, written = asyncio.run(_recheck())
    note = f"{written} writes"
    what = f"processor time of a recheck of {REPOSITORIES:,} healthy repositories"
    yield Figure(what, seconds, "s", at_most=2, note=note)


async def _recheck() -> tuple[float, int]:
    """Return the processor seconds of one recheck of all repositories, and the revisions that it
    created."""
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


def _repository(number: int) -> Object:
    git = {"url": "https://git.example/team/dashboards", "branch": "main", "path": f"p{number}"}
    spec = {"title": "Good", "type": "git", "git": git}
    name, api_version = f"repository-{number:05}", "provisioning.grafana.app/v0alpha1"
    return objects.new(api_version, "Repository", name, "default", spec=spec)


if __name__ == "__main__":
    figures.main(measure)
