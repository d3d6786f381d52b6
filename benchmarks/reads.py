"""Large reads: a list of 5,000 objects, 200 watchers, and the memory of 10,000 objects."""

import asyncio
import json
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial

import uvloop

from benchmarks import figures, load, servers
from benchmarks.costs import GREETING
from benchmarks.figures import Figure
from benchmarks.objects import COLLECTION, definition, installed, thing
from benchmarks.servers import Request, Server

LISTED = 5_000
STORED = 10_000
WATCHERS = 200
UPDATES = 100
BEGUN = 500  # watches
ROUNDS = 15
REPEATS = 3  # the best is used, because other work affected it least
PATIENCE = 20.0
_EVENT = b'{"type":"MODIFIED"'


def measure() -> Iterable[Figure]:
    with servers.inkube() as server:
        installed(server, definition())
        load.send(server.port, creates(range(100)))
        yield watched(server)
        yield begun(server)
    with servers.inkube() as server:
        installed(server, definition())
        load.send(server.port, creates(range(100)))
        before = server.mib
        load.send(server.port, creates(range(100, LISTED)))
        yield listed(server)
        load.send(server.port, creates(range(LISTED, STORED)))
        grown = server.mib - before
        yield Figure(f"memory of {STORED:,} objects of 1 KB", grown, "MiB", at_most=60)


def creates(numbers: Iterable[int]) -> Iterator[bytes]:
    return (Request("POST", COLLECTION, thing(f"thing-{n:05}")).raw for n in numbers)


def listed(server: Server) -> Figure:
    """Measure the list over HTTP, read to its end without decoding."""
    found = []
    with closing(server.connect()) as connection:
        for _ in range(ROUNDS):
            seconds, body = servers.timed(connection, Request("GET", COLLECTION))
            found.append(seconds * 1000)
    note = f"{len(body) / 1e6:.1f} MB; longest {max(found):.0f} ms"
    assert body.count(b'"kind":"Thing"') == LISTED
    what = f"list of {LISTED:,} objects of 1 KB"
    return Figure(what, statistics.median(found), "ms", at_most=15, note=note)


class _Watcher(asyncio.Protocol):
    """One watch. It counts events and keeps the bytes, which are checked after the measurement."""

    def __init__(self, done: asyncio.Future[None]) -> None:
        self._done = done
        self.events = 0
        self.received = bytearray()

    def data_received(self, data: bytes) -> None:
        # an event can arrive in two parts, so search the end of the earlier part again
        seen = max(0, len(self.received) - len(_EVENT) + 1)
        self.received += data
        self.events += self.received.count(_EVENT, seen)
        if self.events >= UPDATES and not self._done.done():
            self._done.set_result(None)


def watched(server: Server) -> Figure:
    """Measure events per second, from the first update to the last event at the last watcher."""
    times, losses = zip(*(uvloop.run(watch(server.port, n)) for n in range(REPEATS)), strict=True)
    seconds, lost = min(times), sum(losses)
    events = WATCHERS * UPDATES
    what = f"{WATCHERS} watchers x {UPDATES} updates"
    return Figure(what, events / seconds, "events/s", at_least=60_000, note=f"{lost} lost")


async def watch(
    port: int, repeat: int, begin: Callable[[], None] = lambda: None
) -> tuple[float, int]:
    """Return the seconds from the first update to the last event, and the number of lost events.
    Calls `begin` before the first update."""
    loop = asyncio.get_running_loop()
    request = Request("GET", f"{COLLECTION}?watch=1").raw
    watchers = []
    for _ in range(WATCHERS):
        done = loop.create_future()
        transport, watcher = await loop.create_connection(
            partial(_Watcher, done), "127.0.0.1", port
        )
        transport.write(request)
        watchers.append((watcher, done))
    await asyncio.sleep(1)
    begin()
    started = time.perf_counter()
    async with asyncio.timeout(PATIENCE):
        await load.run(port, _updates(repeat))
        await asyncio.wait([done for _, done in watchers])
    seconds = time.perf_counter() - started
    return seconds, sum(UPDATES - watcher.events for watcher, _ in watchers)


def begun(server: Server) -> Figure:
    """Measure the processor time of starting watches at the newest version, on open connections."""
    with closing(server.connect()) as connection:
        found = json.loads(servers.ask(connection, Request("GET", f"{COLLECTION}?limit=1")))
    version = found["metadata"]["resourceVersion"]
    path = f"{COLLECTION}?watch=1&allowWatchBookmarks=true&resourceVersion={version}"
    costs, floors = [], []
    for _ in range(REPEATS):
        costs.append(uvloop.run(_begin(server, Request("GET", path).raw)) / BEGUN)
        floors.append(servers.floor())
    cost, floor = min(costs), min(floors)
    note = f"CPU {cost * 1e6:,.0f} µs a watch; the import {floor * 1000:,.0f} ms"
    ratio = cost * 1_000 / floor
    return Figure("1,000 watches begun", ratio, "x import aiohttp.web", at_most=0.6, note=note)


class _Answered(asyncio.Protocol):
    """A connection on which only the next bytes are counted."""

    def __init__(self) -> None:
        self.answered = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        if not self.answered.done():
            self.answered.set_result(data)


async def _begin(server: Server, watch: bytes) -> float:
    """Return the processor seconds from the first watch request to the last response."""
    loop = asyncio.get_running_loop()
    made = [await loop.create_connection(_Answered, "127.0.0.1", server.port) for _ in range(BEGUN)]
    async with asyncio.timeout(PATIENCE):
        for request in (GREETING, watch):
            before = server.cpu_seconds
            for transport, protocol in made:
                protocol.answered = loop.create_future()
                transport.write(request)
            answers = await asyncio.gather(*(protocol.answered for _, protocol in made))
            assert all(answer.startswith(b"HTTP/1.1 200") for answer in answers)
    cost = server.cpu_seconds - before
    for transport, _ in made:
        transport.close()
    return cost


def _updates(repeat: int) -> Iterator[bytes]:
    media = "application/merge-patch+json"
    for number in range(UPDATES):
        patch = {"spec": {"replicas": 10 + repeat}}
        yield Request("PATCH", f"{COLLECTION}/thing-{number:05}", patch, media).raw


if __name__ == "__main__":
    figures.main(measure)
