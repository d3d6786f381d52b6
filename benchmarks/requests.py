"""Requests compared with a minimal aiohttp handler that responds with the same bytes.

Both servers run at the same time, each in its own process on uvloop, and receive requests from this
process in turns. Creates are measured in requests per second, because they wait for a disk. The
ratio of a start is that of its best turns, because other work on the machine affected them least.

GETs wait for nothing, so their processor time is measured, in short turns that are compared with
the ones next to them, so that the load of the machine affects both. The memory layout of a process
makes it up to a third faster or slower, so the median of some starts is used.
"""

import itertools
import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

from benchmarks import figures, load, servers
from benchmarks.figures import Figure
from benchmarks.objects import COLLECTION, definition, installed, thing
from benchmarks.servers import Request, Server

STARTS = 3
TURNS = 3
SECONDS = 0.5
SHORT_TURNS = 16
SHORT = 0.1
_GET = Request("GET", f"{COLLECTION}/first").raw


class Rates(NamedTuple):
    """Best requests per second, and lowest processor time per request in µs, of inkube and of the
    other server."""

    ours: float
    theirs: float
    cost: float
    other_cost: float

    @property
    def ratio(self) -> float:
        """The requests of inkube as a percentage of the other server's."""
        return self.ours / self.theirs * 100


def measure() -> Iterable[Figure]:
    """Measure GET, and create in memory and on a SQLite file."""
    gets, creates, files = list[Costs](), list[Rates](), list[Rates]()
    for _ in range(STARTS):
        with both() as pair:
            gets.append(compare_costs(pair, lambda: _GET))
            creates.append(compare(pair, _creates()))
        with tempfile.TemporaryDirectory() as folder, both("--data", f"{folder}/it.db") as pair:
            files.append(compare(pair, _creates()))
    yield _of_costs("GET of 1 KB, per second of CPU", 75, gets)
    yield _figure("create of 1 KB, in memory", 15, creates)
    yield _figure("create of 1 KB, SQLite file", 15, files)


class Costs(NamedTuple):
    """Processor time per request in µs, of inkube and of the other server, as medians of short
    turns."""

    ours: float
    theirs: float
    ratio: float
    """The requests of inkube in the same processor time, as a percentage of the other server's: the
    median of the ratios of neighboring turns."""


@contextmanager
def both(*options: str) -> Iterator[tuple[Server, Server]]:
    """Yield inkube with one object, and the minimal handler with the bytes of this object."""
    with servers.inkube(*options) as server:
        installed(server, definition())
        with closing(server.connect()) as connection:
            answer = servers.ask(connection, Request("POST", COLLECTION, thing("first")))
        with servers.bare(answer) as bare:
            yield server, bare


def _creates() -> Callable[[], bytes]:
    """Return requests that differ only in the name, created at a low cost, so that the server is
    measured."""
    pattern = Request("POST", COLLECTION, thing("new-00000000")).raw
    numbers = itertools.count()
    return lambda: pattern.replace(b"new-00000000", b"new-%08d" % next(numbers))


def compare(pair: tuple[Server, Server], make: Callable[[], bytes]) -> Rates:
    """Send requests to both in turns."""
    rates: list[list[float]] = [[], []]
    costs: list[list[float]] = [[], []]
    for _ in range(TURNS):
        for server, rate, cost in zip(pair, rates, costs, strict=True):
            before = server.cpu_seconds
            rate.append(load.send(server.port, load.for_seconds(SECONDS, make)))
            cost.append((server.cpu_seconds - before) / (rate[-1] * SECONDS) * 1e6)
    return Rates(*map(max, rates), *map(min, costs))


def compare_costs(pair: tuple[Server, Server], make: Callable[[], bytes]) -> Costs:
    """Send requests to both in short turns. The server that begins changes from turn to turn."""
    costs: list[tuple[float, float]] = []
    for turn in range(SHORT_TURNS):
        found = [0.0, 0.0]
        for which in (0, 1) if turn % 2 else (1, 0):
            found[which] = _cost(pair[which], make)
        costs.append((found[0], found[1]))
    ours, theirs = zip(*costs, strict=True)
    ratio = statistics.median(other / own for own, other in costs) * 100
    return Costs(statistics.median(ours), statistics.median(theirs), ratio)


def _cost(server: Server, make: Callable[[], bytes]) -> float:
    before = server.cpu_seconds
    answers = load.send(server.port, load.for_seconds(SHORT, make)) * SHORT
    return (server.cpu_seconds - before) / answers * 1e6


def _of_costs(what: str, target: float, starts: list[Costs]) -> Figure:
    middle = sorted(starts, key=lambda costs: costs.ratio)[len(starts) // 2]
    note = (
        f"CPU {middle.ours:,.0f} µs beside {middle.theirs:,.0f} µs; "
        f"starts {', '.join(f'{costs.ratio:.1f}' for costs in starts)}"
    )
    return Figure(what, middle.ratio, "% of bare aiohttp", at_least=target, note=note)


def _figure(what: str, target: float, starts: list[Rates]) -> Figure:
    middle = sorted(starts, key=lambda rates: rates.ratio)[len(starts) // 2]
    note = (
        f"{middle.ours:,.0f}/s beside {middle.theirs:,.0f}/s; "
        f"CPU {middle.cost:,.0f} µs beside {middle.other_cost:,.0f} µs; "
        f"starts {', '.join(f'{rates.ratio:.1f}' for rates in starts)}"
    )
    return Figure(what, middle.ratio, "% of bare aiohttp", at_least=target, note=note)


if __name__ == "__main__":
    figures.main(measure)
