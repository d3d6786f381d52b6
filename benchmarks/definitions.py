"""Many large definitions: 200 CRDs with 240 properties are created, served and published in
OpenAPI.

The processor time of the server is compared with that of importing `aiohttp.web`, measured in
turns, so that the load of the machine affects both. Each turn uses a new server. The lowest of the
turns is used for both.
"""

from collections.abc import Iterable
from contextlib import closing
from http.client import HTTPConnection
from typing import NamedTuple

from benchmarks import figures, servers
from benchmarks.figures import Figure
from benchmarks.objects import API_VERSION, Object, crd, installed
from benchmarks.servers import Request, Server

DEFINITIONS = 200
GROUPS, FIELDS = 12, 19  # the spec contains GROUPS objects with FIELDS properties: 240 in all
TURNS = 3
_FLOORS = 3
POSTED, GROUP, CHANGED, WHOLE = "served", "OpenAPI v3", "OpenAPI v3 after a change", "OpenAPI v2"


class Turn(NamedTuple):
    """The results of one server: seconds of processor time by type of request, and its growth in
    MiB."""

    costs: dict[str, float]
    mib: float


def measure() -> Iterable[Figure]:
    posted = [crd(f"larges{n}", f"Large{n}", _schema(n)) for n in range(DEFINITIONS)]
    changed = crd("larges0", "Large0", _schema(DEFINITIONS))
    floors, turns = list[float](), list[Turn]()
    for _ in range(TURNS):
        floors += [servers.floor() for _ in range(_FLOORS)]
        turns.append(_turn(posted, changed))
    floor, mib = min(floors), min(turn.mib for turn in turns)
    what = f"{DEFINITIONS} CRDs of {GROUPS * (FIELDS + 1)} properties"
    targets = {
        POSTED: (f"{what}, {POSTED}", 4.0),
        GROUP: (f"{GROUP}, its index and {DEFINITIONS} kinds", 0.5),
        CHANGED: (f"{CHANGED} of one of {DEFINITIONS} kinds", 0.5),
        WHOLE: (f"the first {WHOLE} with {DEFINITIONS} kinds", 3.5),
    }
    for name, (text, most) in targets.items():
        cost = min(turn.costs[name] for turn in turns)
        note = f"CPU {cost * 1000:.0f} ms beside {floor * 1000:.0f} ms"
        yield Figure(text, cost / floor, "x import aiohttp.web", at_most=most, note=note)
    yield Figure(f"{what}, memory", mib, "MiB", at_most=60)


def _turn(posted: list[Object], changed: Object) -> Turn:
    with servers.inkube() as server, closing(server.connect()) as connection:
        servers.ask(connection, Request("GET", "/openapi/v3/apis/apps/v1"))  # loads the code
        before, mib = server.cpu_seconds, server.mib
        installed(server, *posted)
        costs, grown = {POSTED: server.cpu_seconds - before}, server.mib - mib
        costs[GROUP] = _documents(server, connection)
        path = (
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
            + (changed["metadata"]["name"])
        )
        patch = Request("PATCH", path, {"spec": changed["spec"]}, "application/merge-patch+json")
        servers.ask(connection, patch)
        costs[CHANGED] = _documents(server, connection)
        before = server.cpu_seconds
        servers.ask(connection, Request("GET", "/openapi/v2"))
        costs[WHOLE] = server.cpu_seconds - before
    return Turn(costs, grown)


def _documents(server: Server, connection: HTTPConnection) -> float:
    """Request the documents that a client needs to apply one of these objects."""
    before = server.cpu_seconds
    servers.ask(connection, Request("GET", "/openapi/v3"))
    servers.ask(connection, Request("GET", f"/openapi/v3/apis/{API_VERSION}"))
    return server.cpu_seconds - before


def _schema(number: int) -> Object:
    """Return a schema that is different for each number, so that nothing cached for one helps
    another."""
    text = f"what this field of {number} is for, in a sentence"
    kinds: list[Object] = [
        {"type": "string", "description": text, "maxLength": 90 + number},
        {"type": "integer", "minimum": number, "default": 300},
        {"type": "array", "items": {"type": "string"}},
    ]
    groups = {
        f"group{n}of{number}": {
            "type": "object",
            "description": "some settings that belong together",
            "properties": {f"field{m}": kinds[m % len(kinds)] for m in range(FIELDS)},
        }
        for n in range(GROUPS)
    }
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": groups}}}


if __name__ == "__main__":
    figures.main(measure)
