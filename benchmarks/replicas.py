"""Two servers on PostgreSQL and one on a file: the cost of creates, and the delay of watches
between servers.

Starts its own PostgreSQL cluster in a temporary folder. Without PostgreSQL, there are no figures.
"""

import asyncio
import http.client
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks import figures, load, servers
from benchmarks.figures import Figure
from benchmarks.objects import new
from benchmarks.servers import Request, Server

sys.path.append(str(Path(__file__).parent.parent / "tests" / "support"))

import postgresql

MAPS = "/api/v1/namespaces/default/configmaps"
DATA = {"a": "b"}
CREATES = 1_500
EVENTS = 60


def measure() -> Iterable[Figure]:
    if postgresql.missing():
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        postgresql.cluster(durable=True) as cluster,
        servers.inkube("--data", f"{folder}/inkube.db") as file,
    ):
        url = asyncio.run(cluster.database())
        with servers.inkube("--database", url) as here, servers.inkube("--database", url) as there:
            yield created(here, file)
            yield heard(here, there)


def created(database: Server, file: Server) -> Figure:
    """Measure many concurrent creates, in turns on both. The better of three results is used."""
    seconds: dict[Server, list[float]] = {database: [], file: []}
    for turn in range(3):
        for server, found in seconds.items():
            began = time.perf_counter()
            load.send(server.port, _creates(turn))
            found.append(time.perf_counter() - began)
    ratio = min(seconds[file]) / min(seconds[database])
    note = f"{CREATES / min(seconds[database]):.0f}/s, {CREATES / min(seconds[file]):.0f}/s"
    return Figure("creates through PostgreSQL to SQLite", ratio, "×", at_least=0.5, note=note)


def heard(here: Server, there: Server) -> Figure:
    """Measure the time from the request of a create to its event on the other server."""
    watching = http.client.HTTPConnection("127.0.0.1", there.port, timeout=30)
    writing = here.connect()
    listed = servers.ask(writing, Request("GET", f"{MAPS}?limit=1"))
    version = json.loads(listed)["metadata"]["resourceVersion"]
    watching.request("GET", f"{MAPS}?watch=1&resourceVersion={version}")
    stream = watching.getresponse()
    found = []
    for n in range(EVENTS):
        began = time.perf_counter()
        servers.ask(writing, Request("POST", MAPS, new("v1", "ConfigMap", f"heard-{n}", data=DATA)))
        assert f'"heard-{n}"'.encode() in stream.readline()
        found.append((time.perf_counter() - began) * 1000)
    watching.close()
    writing.close()
    note = f"the longest {max(found):.0f} ms; with the create"
    return Figure(
        "a create is heard at another server", statistics.median(found), "ms", at_most=20,
        note=note,
    )  # fmt: skip


def _creates(turn: int) -> Iterator[bytes]:
    names = (f"m-{turn}-{n}" for n in range(CREATES))
    return (Request("POST", MAPS, new("v1", "ConfigMap", name, data=DATA)).raw for name in names)


if __name__ == "__main__":
    figures.main(measure)
