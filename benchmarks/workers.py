"""One process on a file, and two behind one port: the gain in GETs and in events to watchers.

The client runs on the same cores, so it reduces both results, and that of two processes more.
`pipelines` takes a few cycles for each response, and the figures contain its share. The processor
time of a GET or an event in all processes shows the result on a machine without other load.
"""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import uvloop

from benchmarks import figures, load, pipelines, reads, servers
from benchmarks.figures import Figure
from benchmarks.objects import definition, installed
from benchmarks.servers import Request, Server

MAP = "/api/v1/namespaces/default/configmaps/read"
READS = 10_000
TURNS = 5  # the best is used, because other work affected it least
_READ = Request("GET", MAP).raw
FAN_OUTS = 5
WORK = 0.002  # processor seconds of a worker that has responded to some GETs


class Turn(NamedTuple):
    """GETs per second, processor seconds for each, and the client's share of a core."""

    speed: float
    cost: float
    share: float


def measure() -> Iterable[Figure]:
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
        yield from _fan_out(one, two)


def _fan_out(one: Server, two: Server) -> Iterable[Figure]:
    """Measure changes that 64 writers make and 200 watchers read, in turns."""
    found: dict[Server, list[tuple[float, float]]] = {one: [], two: []}
    for server in found:
        installed(server, definition())
        load.send(server.port, reads.creates(range(reads.UPDATES)))
    for turn in range(FAN_OUTS):
        for server, turns in found.items():
            turns.append(_watched(server, turn))
    time, cost = ({each: min(turn[at] for turn in found[each]) for each in found} for at in (0, 1))
    events = reads.WATCHERS * reads.UPDATES
    note = f"{events / time[two]:,.0f}/s, {events / time[one]:,.0f}/s"
    yield Figure("events with two workers to one", time[one] / time[two], "×", note=note)
    note = f"CPU {cost[two] / events * 1e6:.1f} µs, {cost[one] / events * 1e6:.1f} µs"
    # both processes read, decode and apply each change, so the gain is less than that of GETs
    what, gain = "events with two workers to one, by processor time", 2 * cost[one] / cost[two]
    yield Figure(what, gain, "×", at_least=1.4, note=note)


def _watched(server: Server, turn: int) -> tuple[float, float]:
    """Return seconds and processor seconds. Raises RuntimeError for lost events."""
    before = list[float]()
    taken, lost = uvloop.run(reads.watch(server.port, turn, lambda: before.append(_used(server))))
    if lost:
        raise RuntimeError(f"{lost} events were lost")
    return taken, _used(server) - before[0]


def _used(server: Server) -> float:
    return sum(map(servers.cpu_seconds, processes(server)))


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
    before = {pid: servers.cpu_seconds(pid) for pid in processes(server)}
    while not all(servers.cpu_seconds(pid) > each + WORK for pid, each in before.items()):
        pipelines.send(server.port, _READ, 100)
    pipelines.send(server.port, _READ, 2_000)


def read(server: Server) -> Turn:
    """Send many concurrent GETs."""
    before = _used(server)
    sent = pipelines.send(server.port, _READ, READS)
    used = _used(server) - before
    return Turn(sent.speed, used / sent.answers, sent.share)


def processes(server: Server) -> list[int]:
    """Return the processes that respond."""
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    return [int(pid) for pid in children] or [server.pid]


if __name__ == "__main__":
    figures.main(measure)
