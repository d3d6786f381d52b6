"""One process on a file, and two behind one port: the gain in GETs on two cores.

The client runs on the same cores, so it reduces both results, and that of two processes more.
`pipelines` takes a few cycles for each response, and the figures contain its share. The processor
time of a GET in all processes shows the result on a machine without other load.
"""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from benchmarks import figures, pipelines, servers
from benchmarks.figures import Figure
from benchmarks.servers import Request, Server

MAP = "/api/v1/namespaces/default/configmaps/read"
READS = 10_000
TURNS = 5  # the best is used, because other work affected it least
_READ = Request("GET", MAP).raw
_TICKS = os.sysconf("SC_CLK_TCK")


class Turn(NamedTuple):
    """GETs per second, processor seconds for each, and the client's share of a core."""

    speed: float
    cost: float
    share: float


def measure() -> Iterable[Figure]:
    """See the module."""
    if (os.cpu_count() or 1) < 2 or not hasattr(os, "fork"):
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        servers.inkube("--data", f"{folder}/one.db") as one,
        servers.inkube("--data", f"{folder}/two.db", "--workers", "2") as two,
    ):
        found: dict[Server, list[Turn]] = {one: [], two: []}
        for server in found:
            _prepare(server)
        for _ in range(TURNS):
            for server, turns in found.items():
                turns.append(read(server))
        best = {server: max(turn.speed for turn in turns) for server, turns in found.items()}
        cost = {server: min(turn.cost for turn in turns) for server, turns in found.items()}
        share = max(turn.share for turns in found.values() for turn in turns)
        note = f"{best[two]:.0f}/s, {best[one]:.0f}/s; the client takes {share:.0%} of a core"
        ratio = best[two] / best[one]
        yield Figure("GETs with two workers to one", ratio, "×", at_least=1.6, note=note)
        yield _by_processor_time("GETs", cost[one], cost[two])


def _by_processor_time(what: str, one: float, two: float) -> Figure:
    """Return the gain of two processes if each has a core, from the processor time of both for the
    same work."""
    what = f"{what} with two workers to one, by processor time"
    return Figure(what, 2 * one / two, "×", at_least=1.6)


def _prepare(server: Server) -> None:
    """Create an object, and wait until both workers have responded."""
    body = {"metadata": {"name": "read"}, "data": {"a": "b"}}
    connection = server.connect()
    servers.ask(connection, Request("POST", MAP.rpartition("/")[0], body))
    connection.close()
    while len(processes(server)) > 1 and not all(seconds(pid) for pid in processes(server)):
        pipelines.send(server.port, _READ, 100)
    pipelines.send(server.port, _READ, 2_000)


def read(server: Server) -> Turn:
    """Send many concurrent GETs."""
    before = sum(map(seconds, processes(server)))
    sent = pipelines.send(server.port, _READ, READS)
    used = sum(map(seconds, processes(server))) - before
    return Turn(sent.speed, used / sent.answers, sent.share)


def processes(server: Server) -> list[int]:
    """Return the processes that respond."""
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    return [int(pid) for pid in children] or [server.pid]


def seconds(pid: int) -> float:
    """Return the processor seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


if __name__ == "__main__":
    figures.main(measure)
