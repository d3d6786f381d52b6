"""Requests compared with a minimal aiohttp handler that responds with the same bytes.

Both servers run at the same time, each in its own process on uvloop, and receive requests from this
process in turns. Creates are measured in requests per second, because they wait for a disk. The
ratio of a start is that of its best turns, because other work on the machine affected them least.

GETs wait for nothing, so their processor time is measured, in short turns that are compared with
the ones next to them, so that the load of the machine affects both. The memory layout of a process
makes it up to a third faster or slower, so the median of some starts is used.
"""

import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

from benchmarks import costs, figures, load, servers
from benchmarks.figures import Figure
from benchmarks.objects import COLLECTION, definition, installed, thing
from benchmarks.servers import Request, Server

STARTS = 3
TURNS = 3
SECONDS = 0.5
SHORT_TURNS = 16
SHORT = 0.1
_GET = Request("GET", f"{COLLECTION}/first").raw


class Start(NamedTuple):
    """The result of one start of both servers."""

    ratio: float
    """The requests of inkube as a percentage of the other server's."""
    note: str


def measure() -> Iterable[Figure]:
    """Measure GET, and create in memory and on a SQLite file."""
    gets, creates, files = list[Start](), list[Start](), list[Start]()
    create = costs.numbered(Request("POST", COLLECTION, thing("new-00000000")))
    for _ in range(STARTS):
        with both() as pair:
            gets.append(compare_costs(pair, lambda: _GET))
            creates.append(compare(pair, create))
        with tempfile.TemporaryDirectory() as folder, both("--data", f"{folder}/it.db") as pair:
            files.append(compare(pair, create))
    yield _figure("GET of 1 KB, per second of CPU", 75, gets)
    yield _figure("create of 1 KB, in memory", 15, creates)
    yield _figure("create of 1 KB, SQLite file", 15, files)


@contextmanager
def both(*options: str) -> Iterator[tuple[Server, Server]]:
    """Yield inkube with one object, and the minimal handler with the bytes of this object."""
    with servers.inkube(*options) as server:
        installed(server, definition())
        with closing(server.connect()) as connection:
            answer = servers.ask(connection, Request("POST", COLLECTION, thing("first")))
        with servers.bare(answer) as bare:
            yield server, bare


def compare(pair: tuple[Server, Server], make: Callable[[], bytes]) -> Start:
    """Send requests to both in turns. Compares the best rates."""
    rates: list[list[float]] = [[], []]
    cpus: list[list[float]] = [[], []]
    for _ in range(TURNS):
        for server, rate, cost in zip(pair, rates, cpus, strict=True):
            before = server.cpu_seconds
            rate.append(load.send(server.port, load.for_seconds(SECONDS, make)))
            cost.append((server.cpu_seconds - before) / (rate[-1] * SECONDS) * 1e6)
    ours, theirs = map(max, rates)
    note = f"{ours:,.0f}/s beside {theirs:,.0f}/s; {_cpu(*map(min, cpus))}"
    return Start(ours / theirs * 100, note)


def compare_costs(pair: tuple[Server, Server], make: Callable[[], bytes]) -> Start:
    """Send requests to both in short turns. The server that begins changes from turn to turn.
    Compares the median of the ratios of neighboring turns."""
    cpus: list[tuple[float, float]] = []
    for turn in range(SHORT_TURNS):
        found = [0.0, 0.0]
        for which in (0, 1) if turn % 2 else (1, 0):
            found[which] = _cost(pair[which], make)
        cpus.append((found[0], found[1]))
    ratio = statistics.median(other / own for own, other in cpus) * 100
    return Start(ratio, _cpu(*map(statistics.median, zip(*cpus, strict=True))))


def _cpu(ours: float, theirs: float) -> str:
    return f"CPU {ours:,.0f} µs beside {theirs:,.0f} µs"


def _cost(server: Server, make: Callable[[], bytes]) -> float:
    before = server.cpu_seconds
    answers = load.send(server.port, load.for_seconds(SHORT, make)) * SHORT
    return (server.cpu_seconds - before) / answers * 1e6


def _figure(what: str, target: float, starts: list[Start]) -> Figure:
    middle = sorted(starts)[len(starts) // 2]
    note = f"{middle.note}; starts {', '.join(f'{start.ratio:.1f}' for start in starts)}"
    return Figure(what, middle.ratio, "% of bare aiohttp", at_least=target, note=note)


if __name__ == "__main__":
    figures.main(measure)
