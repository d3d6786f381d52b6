"""One process on a file and two behind one port: how many more GETs two answer on two cores.

The client runs on the same cores, so it counts against both, and more against two: with cores of
its own the ratio would be higher. What a GET costs of the processor, all processes together, tells
how it would be on a machine that nobody else uses.
"""

import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

from benchmarks import figures, load, servers
from benchmarks.figures import Figure
from benchmarks.servers import Request, Server

MAP = "/api/v1/namespaces/default/configmaps/read"
READS = 6_000
TURNS = 5  # the best counts: it was disturbed least
HOW = load.Load(connections=32)
_TICKS = os.sysconf("SC_CLK_TCK")


class Turn(NamedTuple):
    """GETs per second, and seconds of processor time for each."""

    speed: float
    cost: float


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
        able = 2 * cost[one] / cost[two]
        note = f"{best[two]:.0f}/s, {best[one]:.0f}/s; by processor time {able:.2f} ×"
        ratio = best[two] / best[one]
        yield Figure("GETs with two workers to one", ratio, "×", at_least=1.6, note=note)


def _prepare(server: Server) -> None:
    """An object, and two workers that both have answered."""
    body = {"metadata": {"name": "read"}, "data": {"a": "b"}}
    connection = server.connect()
    servers.ask(connection, Request("POST", MAP.rpartition("/")[0], body))
    connection.close()
    while len(processes(server)) > 1 and not all(seconds(pid) for pid in processes(server)):
        load.send(server.port, _reads(10), HOW)
    load.send(server.port, _reads(1_000), HOW)


def read(server: Server) -> Turn:
    """Many GETs at once."""
    before = sum(map(seconds, processes(server)))
    began = time.perf_counter()
    load.send(server.port, _reads(READS), HOW)
    took = time.perf_counter() - began
    used = sum(map(seconds, processes(server))) - before
    return Turn(READS / took, used / READS)


def processes(server: Server) -> list[int]:
    """Those that answer."""
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    return [int(pid) for pid in children] or [server.pid]


def seconds(pid: int) -> float:
    """Of processor time."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _reads(count: int) -> Iterator[bytes]:
    return repeat(Request("GET", MAP).raw, count)


if __name__ == "__main__":
    figures.main(measure)
