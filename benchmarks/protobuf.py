"""Protobuf compared with JSON: the server's processor time of a GET and of a list of 5,000.

Go's generated clients request protobuf, which must not cost more. Both forms are requested in turns
of one run, so that the load of the machine affects both.
"""

import statistics
from collections.abc import Iterable
from contextlib import closing
from http.client import HTTPConnection

from benchmarks import figures, load, servers
from benchmarks.figures import Figure
from benchmarks.objects import new
from benchmarks.servers import Request, Server

COLLECTION = "/api/v1/namespaces/default/configmaps"
LABELS = {"app": "web"}
LISTED = 5_000
GETS = 3_000
LISTS = 20
ROUNDS = 7  # the median of the ratios is used
MEDIA = ("application/json", "application/vnd.kubernetes.protobuf")


def measure() -> Iterable[Figure]:
    with servers.inkube() as server:
        load.send(server.port, (_create(number) for number in range(LISTED)))
        yield _compared(server, "GET", f"{COLLECTION}/map-00000", GETS, at_most=1.0)
        yield _compared(server, f"list of {LISTED:,}", COLLECTION, LISTS, at_most=2.2)


def _create(number: int) -> bytes:
    name, data = f"map-{number:05}", {"a": "b" * 500}
    return Request("POST", COLLECTION, new("v1", "ConfigMap", name, labels=LABELS, data=data)).raw


def _compared(server: Server, what: str, path: str, times: int, *, at_most: float) -> Figure:
    """Measure the processor time of protobuf as a multiple of that of JSON."""
    ratios = []
    with closing(server.connect()) as connection:
        for media in MEDIA:
            _spent(server, connection, path, media, 2)  # fills the caches
        for _ in range(ROUNDS):
            plain, packed = (_spent(server, connection, path, each, times) for each in MEDIA)
            ratios.append(packed / plain)
    note = f"from {min(ratios):.2f} to {max(ratios):.2f}"
    value = statistics.median(ratios)
    return Figure(f"protobuf {what}, CPU", value, "x JSON's", at_most=at_most, note=note)


def _spent(server: Server, connection: HTTPConnection, path: str, media: str, times: int) -> float:
    """Return seconds of the server's processor time."""
    request, before = Request("GET", path, accept=media), server.cpu_seconds
    for _ in range(times):
        servers.ask(connection, request)
    return server.cpu_seconds - before


if __name__ == "__main__":
    figures.main(measure)
