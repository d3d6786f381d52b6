"""Live checks of 1,000 failing repositories, and the response times of other requests meanwhile.

Every outside response takes 200 ms, and every repository is checked again each second, so the
controllers are never idle. GETs are measured in turns with those of an idle server, so that the
load of the machine affects both.
"""

import contextlib
import json
import statistics
import time
from collections.abc import Iterable
from contextlib import closing

from benchmarks import figures, load, objects, servers
from benchmarks.figures import Figure
from benchmarks.objects import Object
from benchmarks.servers import Request, Server

REPOSITORIES = 1_000
DELAY = 0.2
READS = 2_000
WARM_UP = 200
PATIENCE = 30.0
HOST = "git.example"
HOSTS = "/apis/world.inkube.dev/v1/githosts"
COLLECTION = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories"
READ = Request("GET", "/api/v1/namespaces/default")


def measure() -> Iterable[Figure]:
    options = ("--in-memory", "--offline", "--recheck-unhealthy", "1", "--max-repositories", "0")
    with servers.inkube(*options) as server, servers.inkube(*options) as idle:
        with closing(server.connect()) as connection:
            servers.ask(connection, Request("POST", HOSTS, _host()))
        started = time.perf_counter()
        repositories = (Request("POST", COLLECTION, _bad(n)).raw for n in range(REPOSITORIES))
        load.send(server.port, repositories)
        yield _told(server, started)
        answers(WARM_UP, server, idle)  # opens connections and fills caches
        before = server.cpu_seconds
        busy, quiet = (_p99(found) for found in answers(READS, server, idle))
        used = server.cpu_seconds - before
    what = f"p99 of GET beside {REPOSITORIES:,} failing repositories, over an idle server's"
    note = f"{busy:.2f} over {quiet:.2f} ms; the busy one worked {used:.1f} s"
    yield Figure(what, busy / quiet, "times", at_most=3, note=note)


def answers(count: int, *asked: Server) -> list[list[float]]:
    """Return the milliseconds of each GET for each server."""
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(closing(server.connect())) for server in asked]
        rounds = [
            [servers.timed(each, READ)[0] * 1000 for each in connections] for _ in range(count)
        ]
    return [list(found) for found in zip(*rounds, strict=True)]


def _told(server: Server, started: float) -> Figure:
    """Measure the time from the first create to the last repository whose status contains its
    error."""
    while time.perf_counter() - started < PATIENCE:
        with closing(server.connect()) as connection:
            items = json.loads(servers.ask(connection, Request("GET", COLLECTION)))["items"]
        told = sum(bool(item.get("status", {}).get("fieldErrors")) for item in items)
        if told == REPOSITORIES:
            break
        time.sleep(0.25)
    else:
        raise RuntimeError(f"{told} of {REPOSITORIES} were checked within {PATIENCE:.0f} s")
    seconds = time.perf_counter() - started
    note = f"each outside answer takes {DELAY * 1000:.0f} ms"
    return Figure(f"{REPOSITORIES:,} repositories created and checked", seconds, "s", note=note)


def _p99(found: list[float]) -> float:
    return statistics.quantiles(found, n=100)[98]


def _host() -> Object:
    spec = {
        "repositories": [{"path": "team/dashboards", "branches": ["main"]}],
        "outage": {"delayMilliseconds": round(DELAY * 1000)},
    }
    return objects.new("world.inkube.dev/v1", "GitHost", HOST, spec=spec)


def _bad(number: int) -> Object:
    git = {"url": f"https://{HOST}/team/dashboards", "branch": f"gone-{number}"}
    spec = {"title": "Bad", "type": "git", "git": git}
    api_version = "provisioning.grafana.app/v0alpha1"
    return objects.new(api_version, "Repository", f"repository-{number:04}", spec=spec)


if __name__ == "__main__":
    figures.main(measure)
