"""The time until a server responds, and its memory.

New processes are started in turns: one that imports `aiohttp.web` and ends, which is the minimum;
one that imports `APIServer`; and `inkube serve` in memory, on a new file, and on a file with
objects, until it has responded to /readyz. The result is the processor time of the whole process,
including the start of the interpreter, as the median of all turns. Modules are compiled before, as
by an installation. Figures in milliseconds are not ratios, so the load of the machine affects them:
their lowest value is used, and the note contains the median. For runs of the plugin, see `_plugin`.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from benchmarks import figures, servers
from benchmarks.figures import Figure
from benchmarks.servers import Request

ROUNDS = 10
OBJECTS = 1_000
IMPORT = "from inkube import APIServer"
MEMORY, NEW, OLD = "in memory", "on a new file", f"on a file with {OBJECTS:,} objects"
SETTLES = 0.3  # seconds after which the memory of an idle server is read
_CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
_FURTHER = """
import asyncio, gc, json, statistics, time
import inkube

async def ready(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /readyz HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n")
    assert b" 200 " in await reader.readline()
    writer.close()
    await writer.wait_closed()

async def started():
    before = time.process_time(), time.perf_counter()
    async with inkube.APIServer() as server:
        after = time.process_time(), time.perf_counter()
        await ready(server.port)
    return [(end - begin) * 1000 for begin, end in zip(before, after)]

async def main():
    async with inkube.APIServer() as server:
        await ready(server.port)
        gc.collect()
        found = zip(*[await started() for _ in range(20)])
        print(json.dumps([f(each) for each in found for f in (min, statistics.median)]))

asyncio.run(main())
"""
_PLUGIN, _EMPTY = "inkube.apiserver.pytest_plugin", "empty_plugin"
_TEST = "def test_nothing():\n    assert True\n"
_UNUSED = """
import gc, json, os, sys
import pytest

home, *plugins, rounds = sys.argv[1:]

def tested(*plugin):
    quiet = ("-q", "-p", "no:cacheprovider", *plugin)
    return pytest.main([*quiet, "--rootdir", home, home + "/test_nothing.py"])

def run(plugin):
    pid = os.fork()
    if not pid:
        sys.exit(tested("-p", plugin))
    _, status, usage = os.wait4(pid, 0)
    assert not status, f"pytest with {plugin} ended with {status}"
    return (usage.ru_utime + usage.ru_stime) * 1000

stdout = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
tested()
gc.freeze()
for plugin in plugins:
    run(plugin)
costs = {plugin: [] for plugin in plugins}
for number in range(int(rounds)):
    for plugin in plugins[:: 1 if number % 2 else -1]:
        costs[plugin].append(run(plugin))
os.write(stdout, json.dumps(costs).encode())
"""
PAIRS = 150
PROCESSES = 3


class Cost(NamedTuple):
    """The result of one process: seconds of processor time and of waiting, and MiB at the measured
    moments."""

    cpu: float
    wall: float
    mib: float = 0.0


def measure() -> Iterable[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield from _starts(folder)
        yield _further()
        yield _plugin(folder)


def _starts(folder: Path) -> Iterator[Figure]:
    filled = folder / "filled.db"
    _fill(filled)
    numbers = iter(range(ROUNDS + 1))
    found = _in_turns(
        {
            servers.FLOOR: lambda: Cost(*servers.done("-c", servers.FLOOR)),
            IMPORT: lambda: Cost(*servers.done("-c", IMPORT)),
            MEMORY: lambda: _served("--in-memory"),
            NEW: lambda: _served("--data", f"{folder}/new-{next(numbers)}.db"),
            OLD: lambda: _served("--data", str(filled)),
        }
    )
    floor = found[servers.FLOOR]
    targets = {IMPORT: 1.9, MEMORY: 1.7, NEW: 1.9, OLD: 1.9}
    for name, target in targets.items():
        cost = found[name]
        what = name if name == IMPORT else f"`inkube serve` to /readyz, {name}"
        yield Figure(
            what,
            cost.cpu / floor.cpu,
            "x import aiohttp.web",
            at_most=target,
            note=f"CPU {cost.cpu * 1000:.0f} ms beside {floor.cpu * 1000:.0f} ms; "
            f"{cost.wall / floor.wall:.2f} x by the clock",
        )
    for name in (MEMORY, NEW):
        yield Figure(f"memory of `inkube serve`, {name}", found[name].mib, "MiB", at_most=55)


def _in_turns(ways: dict[str, Callable[[], Cost]]) -> dict[str, Cost]:
    """Return the median of each."""
    for way in ways.values():  # so that everything is compiled and in the page cache
        way()
    found: dict[str, list[Cost]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            found[name].append(way())
    return {
        name: Cost(*map(statistics.median, zip(*costs, strict=True)))
        for name, costs in found.items()
    }


def _served(*options: str) -> Cost:
    """Run `inkube serve` until it responds to /readyz, and read its memory afterwards."""
    began = time.perf_counter()
    with servers.inkube(*options) as server, closing(server.connect()) as connection:
        servers.ask(connection, Request("GET", "/readyz"))
        wall, cpu = time.perf_counter() - began, server.cpu_seconds
        time.sleep(SETTLES)
        return Cost(cpu, wall, server.mib)


def _fill(path: Path) -> None:
    with servers.inkube("--data", str(path)) as server, closing(server.connect()) as connection:
        for number in range(OBJECTS):
            meta = {"name": f"c-{number:05}", "labels": {"app": "bench"}}
            body = {"metadata": meta, "data": {"text": "x" * 500}}
            servers.ask(connection, Request("POST", _CONFIGMAPS, body))


def _further() -> Figure:
    """Measure a server in a process that has started one before."""
    found = []
    for _ in range(PROCESSES):  # the memory layout of a process affects its speed
        done = subprocess.run(
            [sys.executable, "-c", _FURTHER],
            capture_output=True, text=True, check=True, timeout=60, env=servers.environment(),
        )  # fmt: skip
        found.append(json.loads(done.stdout))
    cpu, middle, wall, _ = min(found)
    note = f"median {middle:.1f} ms; {wall:.1f} ms by the clock"
    return Figure("a further server in the process, CPU", cpu, "ms", at_most=3, note=note)


def _plugin(folder: Path) -> Figure:
    """Measure the cost of the plugin in a run of pytest without a server, compared with an empty
    plugin.

    An empty plugin is the comparison, because pytest takes as long to find it. Two or three
    milliseconds of 200 are less than the difference of two equal runs. So loading pytest and its
    own plugins, which is equal in both, is done one time. Each run is a fork of that process that
    imports the plugin. They take turns, and the median of the differences is used.
    """
    home = folder / "plugin"
    home.mkdir()
    (home / f"{_EMPTY}.py").touch()
    (home / "test_nothing.py").write_text(_TEST)
    done = subprocess.run(
        [sys.executable, "-c", _UNUSED, str(home), _EMPTY, _PLUGIN, str(PAIRS)],
        capture_output=True, text=True, check=True, timeout=300,
        env={**servers.environment(), "PYTHONPATH": str(home)},
    )  # fmt: skip
    costs: dict[str, list[float]] = json.loads(done.stdout)
    pairs = zip(costs[_PLUGIN], costs[_EMPTY], strict=True)
    more = statistics.median(ours - empty for ours, empty in pairs)
    least = min(costs[_PLUGIN]) - min(costs[_EMPTY])
    note = f"the least of {PAIRS} {least:.1f} ms apart; CPU {min(costs[_EMPTY]):.0f} ms of a fork"
    return Figure("pytest with the plugin, unused", more, "ms slower", at_most=5, note=note)


if __name__ == "__main__":
    figures.main(measure)
