"""Requests per second beside a bare aiohttp handler that answers the same bytes.

Both servers run at once, each in its own process on uvloop; load from this process goes to one and
the other in turns. A ratio is that of the best turns, which other work on the machine disturbed
least; beside it each server's processor time per request.
"""

import itertools
import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing

from benchmarks import figures, load, servers
from benchmarks.figures import Figure
from benchmarks.objects import COLLECTION, definition, installed, thing
from benchmarks.servers import Request, Server

TURNS = 8
SECONDS = 0.5


def measure() -> Iterable[Figure]:
    """GET, and create in memory and on a SQLite file."""
    with servers.inkube() as server:
        installed(server, definition())
        with closing(server.connect()) as connection:
            answer = servers.ask(connection, Request("POST", COLLECTION, thing("first")))
        with servers.bare(answer) as bare:
            get = Request("GET", f"{COLLECTION}/first").raw
            yield compare("GET of 1 KB", 60, (server, bare), lambda: get)
            yield compare("create of 1 KB, in memory", 15, (server, bare), _creates())
    with (
        tempfile.TemporaryDirectory() as folder,
        servers.bare(answer) as bare,
        servers.inkube("--data", f"{folder}/inkube.db") as server,
    ):
        installed(server, definition())
        yield compare("create of 1 KB, SQLite file", 15, (server, bare), _creates())


def _creates() -> Callable[[], bytes]:
    """Requests that differ in the name alone, made cheaply: it is the server that is measured."""
    pattern = Request("POST", COLLECTION, thing("new-00000000")).raw
    numbers = itertools.count()
    return lambda: pattern.replace(b"new-00000000", b"new-%08d" % next(numbers))


def compare(
    what: str, target: float, pair: tuple[Server, Server], make: Callable[[], bytes]
) -> Figure:
    """Our requests per second as a percentage of the other's."""
    rates: list[list[float]] = [[], []]
    costs: list[list[float]] = [[], []]
    for _ in range(TURNS):
        for server, rate, cost in zip(pair, rates, costs, strict=True):
            before = server.cpu_seconds
            rate.append(load.send(server.port, load.for_seconds(SECONDS, make)))
            cost.append((server.cpu_seconds - before) / (rate[-1] * SECONDS))
    ours, theirs = map(max, rates)
    mine, other = (min(cost) * 1e6 for cost in costs)
    note = f"{ours:,.0f}/s beside {theirs:,.0f}/s; CPU {mine:,.0f} µs beside {other:,.0f} µs"
    return Figure(what, ours / theirs * 100, "% of bare aiohttp", at_least=target, note=note)


if __name__ == "__main__":
    figures.main(measure)
