"""Compares this inkube with another, for example that of an earlier commit.

Usage: `python -m benchmarks.against PYTHON`. PYTHON is the interpreter of an environment in which
the other inkube is installed (`make lint` creates one as `.venv` in its checkout). Two servers on
files receive short series of each type of request from 16 clients, in turns, so that the load of
the machine affects both. A figure is the median of the ratios of all pairs of turns, from several
starts of both servers.

With `--http plain`, this inkube uses aiohttp's own loop. Compared with itself, this shows the gain
of the faster loop.
"""

import argparse
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from benchmarks import costs, figures
from benchmarks.costs import Sort
from benchmarks.figures import Figure
from benchmarks.objects import COLLECTION
from benchmarks.servers import Request, Server

STARTS = 3
TURNS = 16


def measure(python: str, *options: str) -> Iterable[Figure]:
    """See the module. `options` are additional options of this inkube's server."""
    get = Request("GET", f"{COLLECTION}/{costs.RACED[0]}").raw
    some = Request("GET", f"{COLLECTION}?limit={costs.CLIENTS}").raw
    sorts = {
        "get": Sort(lambda: get),
        "page of 16": Sort(lambda: some),
        **costs.creates(),
        "merge patch": Sort(costs.patches()),
        **costs.built_in(),
    }
    ratios: dict[str, list[float]] = {name: [] for name in sorts}
    for _ in range(STARTS):
        with _filled(*options) as here, _filled(python=python) as there:
            for name, sort in sorts.items():
                ratios[name].append(statistics.median(_pairs(sort, here, there)))
    for name, found in ratios.items():
        starts = ", ".join(f"{ratio:.2f}" for ratio in found)
        ratio = statistics.median(found)
        yield Figure(f"CPU of a {name}", ratio, "x the other's", note=f"starts {starts}")


def _pairs(sort: Sort, here: Server, there: Server) -> Iterator[float]:
    """Yield the cost of a request here as a ratio to its cost there. The servers take turns in
    starting."""
    for turn in range(TURNS):
        both = (here, there) if turn % 2 else (there, here)
        cpu = {server: costs.turn(server, sort, costs.SHORT).cpu for server in both}
        yield cpu[here] / cpu[there]


@contextmanager
def _filled(*options: str, python: str = sys.executable) -> Iterator[Server]:
    with costs.on_a_file(python, *options) as server:
        costs.fill(server)
        yield server


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare with the inkube that the command line names."""
    parser = argparse.ArgumentParser("python -m benchmarks.against", description=__doc__)
    parser.add_argument("python", metavar="PYTHON", help="an interpreter with the other inkube")
    parser.add_argument("--http", choices=["fast", "plain"], help="this one's loop for connections")
    given = parser.parse_args(arguments)
    options = ("--http", given.http) if given.http else ()
    print(figures.table(measure(given.python, *options)))


if __name__ == "__main__":
    main()
