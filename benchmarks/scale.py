"""A million objects: the cost of requests with 1,000, 100,000 and 1,000,000 objects.

    make bench ARGS="scale"       # some minutes, 3 GiB of memory, 1 GiB in the temporary folder
    INKUBE_SCALE=200000 make bench ARGS="scale"

The servers run at the same time and receive requests in turns, so that the load of the machine
affects all. The figures are ratios to the smallest. The files are written directly, in the form in
which servers would have written them.
"""

import asyncio
import json
import math
import os
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

import orjson

from benchmarks import figures, objects, servers
from benchmarks.figures import Figure
from benchmarks.servers import Request, Server
from inkube import APIServer
from inkube.apiserver.registry import continuation, keys
from inkube.storage.log import Log, Record
from inkube.storage.sql.sqlite import SqliteOptions, sqlite_log

MOST = int(os.environ.get("INKUBE_SCALE", "1000000"))
SIZES = (1_000, min(100_000, MOST // 2), MOST)
MATCHES = 10  # objects with the same label
PAGE = 500
PIECE = 2**20  # bytes of a list of all that are read at once
ROUNDS = 120
FILLED = 10_000  # rows that are written at once
MAPS = "/api/v1/namespaces/default/configmaps"


class Served(NamedTuple):
    """A server with a number of objects, and the elapsed seconds and processor seconds of its
    start."""

    size: int
    server: Server
    path: Path
    start: float
    start_cpu: float
    stored: int
    """The bytes of keys and JSON."""


def measure() -> Iterable[Figure]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        served = [_serve(stack, folder / f"{size}.db", size) for size in SIZES]
        yield from _sizes(served[-1])
        for each in served:  # finish work that a start leaves for later
            _warm(each)
        for what, ask in QUESTIONS.items():
            yield from _compared(what, served, ask)
        largest = served[-1]
        while not _is_indexed(largest):
            _selector(largest, 0)
        found = _times(ROUNDS, lambda n: _selector(largest, n))
        yield Figure(f"label that {MATCHES} of {largest.size:,} have", found, "ms", at_most=5)


def _serve(stack: ExitStack, path: Path, size: int) -> Served:
    stored = asyncio.run(_fill(path, size))
    began = time.perf_counter()
    server = stack.enter_context(servers.inkube("--data", str(path), "--no-fsync"))
    took = time.perf_counter() - began
    return Served(size, server, path, took, server.cpu_seconds, stored)


def _warm(served: Served) -> None:
    """Send requests until the last ten responses took no longer than the ten before."""
    before, now = math.inf, _times(10, partial(_get, served))
    while now < 0.9 * before:
        before, now = now, _times(10, partial(_get, served))


def _is_indexed(served: Served) -> bool:
    """Return whether a label is found faster than all objects can be searched."""
    return _times(5, partial(_selector, served)) < served.size / 1_000 / 10 + 20


def _sizes(largest: Served) -> Iterator[Figure]:
    millions = largest.size / 1e6
    with servers.inkube() as empty:
        base = empty.mib
    bytes_each = (largest.server.mib - base) * 2**20 / largest.size
    stored = largest.stored / largest.size
    yield Figure(
        "until a start answers", largest.start / millions, "s a million", at_most=6,
        note=f"{largest.start_cpu / millions:.1f} s of the processor; the rest it waited for one",
    )  # fmt: skip
    yield Figure(
        "memory beside stored bytes", bytes_each - stored, "bytes an object", at_most=200,
        note=f"{bytes_each:.0f} of RSS, {stored:.0f} stored (key and JSON)",
    )  # fmt: skip
    file = largest.path.stat().st_size / largest.stored
    yield Figure("file", file, "× stored bytes", at_most=1.3)
    before = largest.server.mib
    largest.server.forget_peak()
    sent, beginning = _whole_list(largest)
    grown = (largest.server.peak_mib - before) * 2**20 / largest.size
    note = f"{sent / largest.size:.0f} sent; the first after {beginning:.2f} s"
    yield Figure("memory for a list of all", grown, "bytes an object", at_most=60, note=note)


def _compared(
    what: str, served: list[Served], ask: Callable[[Served, int], float]
) -> Iterator[Figure]:
    """Yield the medians of a request for every size, measured in turns."""
    found: list[list[float]] = [[] for _ in served]
    for n in range(ROUNDS):
        for place, each in enumerate(served):
            found[place].append(ask(each, n) * 1000)
    medians = [statistics.median(times) for times in found]
    for each, median in zip(served[1:], medians[1:], strict=True):
        note = f"{median:.2f} ms, {medians[0]:.2f} ms at {served[0].size:,}"
        yield Figure(f"{what} at {each.size:,}", median / medians[0], "×", at_most=1.3, note=note)


def _times(rounds: int, ask: Callable[[int], float]) -> float:
    return statistics.median([ask(n) * 1000 for n in range(rounds)])


def _asked(served: Served, request: Request) -> tuple[float, bytes]:
    with closing(served.server.connect()) as connection:
        connection.connect()
        return servers.timed(connection, request)


def _whole_list(served: Served) -> tuple[int, float]:
    """Return the bytes of a list of all objects, and the seconds until its first byte."""
    with closing(served.server.connect()) as connection:
        began = time.perf_counter()
        connection.request("GET", MAPS)
        response = connection.getresponse()
        beginning, sent = time.perf_counter() - began, 0
        while piece := response.read(PIECE):
            sent += len(piece)
        return sent, beginning


def _get(served: Served, n: int) -> float:
    return _asked(served, Request("GET", f"{MAPS}/{_name(n * 7919 % served.size)}"))[0]


def _create(served: Served, n: int) -> float:
    value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "new-"}}
    return _asked(served, Request("POST", MAPS, {**value, "data": {"n": str(n)}}))[0]


def _watch(served: Served, n: int) -> float:
    """Return the seconds until a watch from the newest version has begun."""
    request = Request("GET", f"{MAPS}?watch=1&resourceVersion={_newest(served)}")
    with socket.create_connection(("127.0.0.1", served.server.port)) as connection:
        began = time.perf_counter()
        connection.sendall(request.raw)
        assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        return time.perf_counter() - began


def _page(place: float) -> Callable[[Served, int], float]:
    def ask(served: Served, n: int) -> float:
        token = ""
        if place:
            token = f"&continue={_token(served, int((served.size - PAGE) * place))}"
        took, body = _asked(served, Request("GET", f"{MAPS}?limit={PAGE}{token}"))
        assert body.count(b'"uid"') >= PAGE / 2
        return took

    return ask


def _newest(served: Served) -> int:
    _, body = _asked(served, Request("GET", f"{MAPS}?limit=1"))
    return int(json.loads(body)["metadata"]["resourceVersion"])


def _token(served: Served, after: int) -> str:
    """Return the continue token of a page that ends there."""
    return continuation.encode(_name(after), _newest(served))


def _selector(served: Served, n: int) -> float:
    label = n % (served.size // MATCHES)
    took, body = _asked(served, Request("GET", f"{MAPS}?labelSelector=part%3Dp{label}"))
    assert body.count(b'"uid"') == MATCHES
    return took


def _name(n: int) -> str:
    return f"object-{n:07}"


QUESTIONS: dict[str, Callable[[Served, int], float]] = {
    "GET": _get,
    "create": _create,
    "watch start": _watch,
    "first page of 500": _page(0),
    "middle page of 500": _page(0.5),
    "last page of 500": _page(1),
}


async def _fill(path: Path, size: int) -> int:
    """Create a file with `size` objects. Returns the bytes of their keys and JSON."""
    async with APIServer(data=path, durable=False, controllers=False) as server:
        labels, data = {"part": "pattern"}, {"text": "x" * 60}
        await server.client.create(
            objects.new("v1", "ConfigMap", "pattern", "default", labels, data=data)
        )
        pattern = server.store.list(keys.key("configmaps", "default", "pattern"))[0].data
    log = sqlite_log(path, SqliteOptions(synchronous="NORMAL"))
    await log.open()
    try:
        return await _write(log, pattern, size)
    finally:
        await log.close()


async def _write(log: Log, pattern: bytes, size: int) -> int:
    """Append `size` objects with the same pattern. Returns the bytes of their keys and JSON."""
    revision = (await log.newest()).revision  # a server that stops writes one more time
    stored = 0
    for start in range(0, size, FILLED):
        records = []
        for n in range(start, min(start + FILLED, size)):
            revision += 1
            key = keys.key("configmaps", "default", _name(n))
            data = _variant(pattern, n, size, revision)
            stored += len(key) + len(data)
            records.append(Record(revision, key, 0, revision, False, data, 0))
        async with log.begin() as transaction:
            await transaction.append(records)
    return stored


def _variant(pattern: bytes, n: int, size: int, revision: int) -> bytes:
    value = orjson.loads(pattern)
    metadata = value["metadata"]
    metadata["name"], metadata["resourceVersion"] = _name(n), str(revision)
    metadata["uid"] = f"00000000-0000-4000-8000-{n:012}"
    metadata["labels"]["part"] = f"p{n % (size // MATCHES)}"
    return orjson.dumps(value)


if __name__ == "__main__":
    figures.main(measure)
