"""Requests per second beside a bare aiohttp handler that answers the same bytes.

Both servers run at once, each in its own process on uvloop; load from this process goes to one and
the other in turns. A start's ratio is that of the best turns, which other work on the machine
disturbed least. Where a process finds its memory makes it up to a third faster or slower, so the
median of some starts counts; beside it stand the processor times per request of that start.
"""

import itertools
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
_GET = Request("GET", f"{COLLECTION}/first").raw


class Rates(NamedTuple):
    """Best requests per second and least processor time per request in µs: ours and the other's."""

    ours: float
    theirs: float
    cost: float
    other_cost: float

    @property
    def ratio(self) -> float:
        """Our requests as a percentage of the other's."""
        return self.ours / self.theirs * 100


def measure() -> Iterable[Figure]:
    """GET, and create in memory and on a SQLite file."""
    gets, creates, files = [], [], []
    for _ in range(STARTS):
        with both() as pair:
            gets.append(compare(pair, lambda: _GET))
            creates.append(compare(pair, _creates()))
        with tempfile.TemporaryDirectory() as folder, both("--data", f"{folder}/it.db") as pair:
            files.append(compare(pair, _creates()))
    yield _figure("GET of 1 KB", 60, gets)
    yield _figure("create of 1 KB, in memory", 15, creates)
    yield _figure("create of 1 KB, SQLite file", 15, files)


@contextmanager
def both(*options: str) -> Iterator[tuple[Server, Server]]:
    """inkube with one object, and the bare handler that answers its bytes."""
    with servers.inkube(*options) as server:
        installed(server, definition())
        with closing(server.connect()) as connection:
            answer = servers.ask(connection, Request("POST", COLLECTION, thing("first")))
        with servers.bare(answer) as bare:
            yield server, bare


def _creates() -> Callable[[], bytes]:
    """Requests that differ in the name alone, made cheaply: it is the server that is measured."""
    pattern = Request("POST", COLLECTION, thing("new-00000000")).raw
    numbers = itertools.count()
    return lambda: pattern.replace(b"new-00000000", b"new-%08d" % next(numbers))


def compare(pair: tuple[Server, Server], make: Callable[[], bytes]) -> Rates:
    """Requests to one and the other in turns."""
    rates: list[list[float]] = [[], []]
    costs: list[list[float]] = [[], []]
    for _ in range(TURNS):
        for server, rate, cost in zip(pair, rates, costs, strict=True):
            before = server.cpu_seconds
            rate.append(load.send(server.port, load.for_seconds(SECONDS, make)))
            cost.append((server.cpu_seconds - before) / (rate[-1] * SECONDS) * 1e6)
    return Rates(*map(max, rates), *map(min, costs))


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
