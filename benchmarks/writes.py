"""The duration of single changes, one after the other, for a Python client with a keep-alive
connection.

The client is http.client of the standard library. The figures include its own time; the line of the
bare aiohttp handler shows how much that is.
"""

import statistics
from collections.abc import Callable, Iterable
from contextlib import closing

from benchmarks import figures, servers
from benchmarks.figures import Figure
from benchmarks.objects import API_VERSION, COLLECTION, definition, installed, new, thing
from benchmarks.servers import Request, Server

COUNT = 400
WARM = 50
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
PATH = f"{COLLECTION}/one"


def measure() -> Iterable[Figure]:
    with servers.inkube() as server:
        installed(server, definition())
        with closing(server.connect()) as connection:
            answer = servers.ask(connection, Request("POST", COLLECTION, thing("one")))
        with servers.bare(answer) as bare:
            floor = _milliseconds(bare, merge)
        note = f"bare handler {floor:.2f} ms"
        for what, make in (("merge patch", merge), ("status patch", seen), ("apply", applied)):
            figure = _milliseconds(server, make)
            yield Figure(f"{what}, p50", figure, "ms", at_most=1.5, note=note)


def merge(number: int) -> Request:
    """Return a merge patch of the spec."""
    return Request("PATCH", PATH, {"spec": {"replicas": number + 10}}, MERGE)


def seen(number: int) -> Request:
    """Return a merge patch of the status."""
    return Request("PATCH", f"{PATH}/status", {"status": {"seen": str(number)}}, MERGE)


def applied(number: int) -> Request:
    """Return a server-side apply that changes one field of its own."""
    spec = {"title": "applied", "notes": {"round": str(number)}, "ports": [{"name": "extra"}]}
    body = new(API_VERSION, "Thing", "one", spec={**spec, "mode": "Fast"})
    return Request("PATCH", f"{PATH}?fieldManager=bench&force=true", body, APPLY)


def _milliseconds(server: Server, make: Callable[[int], Request]) -> float:
    with closing(server.connect()) as connection:
        found = [servers.timed(connection, make(number))[0] for number in range(WARM + COUNT)]
    return statistics.median(found[WARM:]) * 1000


if __name__ == "__main__":
    figures.main(measure)
