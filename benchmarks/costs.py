"""The processor time of requests in the server, compared with other types of requests.

Sixteen clients or one send types of requests in turns to a server on a SQLite file. The lowest of
the turns is used, because other work on the machine affected it least. Only ratios are meaningful.
"""

import itertools
import json
import sqlite3
import ssl
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from typing import NamedTuple

from benchmarks import figures, load, servers
from benchmarks.figures import Figure
from benchmarks.load import Load
from benchmarks.objects import COLLECTION, definition, deployment, installed, pod, thing
from benchmarks.servers import Request, Server

CLIENTS = 16
STARTS = 3
TURNS = 5
SECONDS = 0.4
SHORT_TURNS = 12
SHORT = 0.15
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
LISTED, LONG = "/api/v1/namespaces/default/configmaps?limit=500", 5_000
GREETING = Request("GET", "/api/v1/namespaces/default").raw  # waits until the server accepted
Make = Callable[[], bytes]
_NUMBERS = itertools.count()


class Cost(NamedTuple):
    """The cost of one type of request: processor time of the server in µs, and requests per
    second."""

    cpu: float
    rate: float


class Sort(NamedTuple):
    """One type of request. `wanted` is the start of its status line, `tls` trusts a server, and
    `greeting` is sent on each connection before the measurement."""

    make: Make
    wanted: bytes = b"2"
    tls: ssl.SSLContext | None = None
    greeting: bytes = b""


def measure() -> Iterable[Figure]:
    yield from _writes()
    with on_a_file() as server:
        yield from _races(server)
        yield from _unchanged(server)
        yield from _alone(server)
        yield from _lists(server)
    yield _secured()


@contextmanager
def on_a_file(python: str = sys.executable, *options: str) -> Iterator[Server]:
    """Yield a server on a file that serves Things. `python` can be an environment with another
    inkube."""
    with (
        tempfile.TemporaryDirectory() as folder,
        servers.inkube("--data", f"{folder}/it", *options, python=python) as found,
    ):
        installed(found, definition())
        yield found


def costs(server: Server, sorts: dict[str, Sort]) -> dict[str, Cost]:
    """Return the cost of each type, measured in turns."""
    return _best({name: (server, sort) for name, sort in sorts.items()})


def _best(sorts: dict[str, tuple[Server, Sort]]) -> dict[str, Cost]:
    best = dict.fromkeys(sorts, Cost(float("inf"), 0.0))
    for _ in range(TURNS):
        for name, (server, sort) in sorts.items():
            found = turn(server, sort)
            cpu, rate = min(best[name].cpu, found.cpu), max(best[name].rate, found.rate)
            best[name] = Cost(cpu, rate)
    return best


def turn(server: Server, sort: Sort, seconds: float = SECONDS) -> Cost:
    """Return the cost of a type in one turn. Handshakes are not counted, because connections stay
    open."""
    before: list[float] = []
    how = Load(
        CLIENTS, sort.wanted, sort.tls, lambda: before.append(server.cpu_seconds), sort.greeting
    )
    rate = load.send(server.port, load.for_seconds(seconds, sort.make), how)
    return Cost((server.cpu_seconds - before[0]) / (rate * seconds) * 1e6, rate)


def _secured() -> Figure:
    """Measure GET over TLS, as the median of some starts.

    The rate is that of the server's processor time, because the TLS of the client takes as much of
    the machine as that of the server.
    """
    get = Request("GET", "/api/v1/namespaces/default").raw
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    sorts = {
        name: Sort(lambda: get, tls=tls, greeting=get)
        for name, tls in (("plain", None), ("tls", trusting))
    }
    ratios, notes = [], []
    for _ in range(STARTS):
        with servers.inkube() as plain, servers.inkube("--in-memory", "--tls") as secured:
            both = {"plain": plain, "tls": secured}
            found = _best({name: (both[name], sort) for name, sort in sorts.items()})
        cost, bare = found["tls"], found["plain"]
        ratios.append(bare.cpu / cost.cpu)
        notes.append(f"{cost.cpu:.0f} µs beside {bare.cpu:.0f} µs")
    ratio = statistics.median(ratios)
    note = f"CPU {', '.join(notes)}"
    return Figure("GET over TLS, per second of CPU", ratio, "x plain", at_least=0.65, note=note)


def numbered(request: Request) -> Make:
    """Return requests that differ only in the number after `new-`, created at a low cost."""
    raw = request.raw
    return lambda: raw.replace(b"new-00000000", b"new-%08d" % next(_NUMBERS))


def creates() -> dict[str, Sort]:
    """Return creates that are stored, creates with dry run, and creates that a rule refuses."""
    body, wrong = thing("new-00000000"), thing("new-00000000")
    wrong["spec"]["mode"] = "Odd"
    requests = {
        "create": (Request("POST", COLLECTION, body), b"201"),
        "dry run": (Request("POST", f"{COLLECTION}?dryRun=All", body), b"201"),
        "refused create": (Request("POST", COLLECTION, wrong), b"422"),
    }
    return {
        name: Sort(numbered(request), wanted, greeting=GREETING)
        for name, (request, wanted) in requests.items()
    }


def built_in() -> dict[str, Sort]:
    """Creates of Pods and Deployments with the fields that most charts set, and dry runs."""
    pods, deployments = "/api/v1/namespaces/default/pods", "/apis/apps/v1/namespaces/default"
    found = {}
    for name, path, body in (
        ("Pod", pods, pod("new-00000000")),
        ("Deployment", f"{deployments}/deployments", deployment("new-00000000")),
    ):
        for what, query in (("create", ""), ("dry run", "?dryRun=All")):
            make = numbered(Request("POST", path + query, body))
            found[f"{what} of a {name}"] = Sort(make, b"201", greeting=GREETING)
    return found


def _writes() -> Iterable[Figure]:
    """Measure creates of three types in short turns, each compared with stored creates next to it,
    so that the load of the machine affects both. Uses some starts, because the memory layout of a
    process affects its speed."""
    sorts = creates()
    dry, refused, costs = [], [], []
    for _ in range(STARTS):
        with on_a_file() as server:
            turns = [
                {name: turn(server, sort, SHORT).cpu for name, sort in sorts.items()}
                for _ in range(SHORT_TURNS)
            ]
        dry.append(statistics.median(each["dry run"] / each["create"] for each in turns))
        refused.append(statistics.median(each["refused create"] / each["create"] for each in turns))
        costs.append(statistics.median(each["create"] for each in turns))
    for what, found, most in (
        ("create under dry run", dry, 1.0),
        ("create that is refused", refused, 0.7),
    ):
        starts = ", ".join(f"{ratio:.2f}" for ratio in found)
        note = f"CPU {min(costs):,.0f} µs a create; starts {starts}"
        yield Figure(what, statistics.median(found), "x create", at_most=most, note=note)


RACED = tuple(f"raced-{number}" for number in range(CLIENTS))


def fill(server: Server, names: Sequence[str] = RACED) -> None:
    """Create Things."""
    with closing(server.connect()) as connection:
        for name in names:
            servers.ask(connection, Request("POST", COLLECTION, thing(name)))


def patches(names: Sequence[str] = RACED) -> Make:
    """Return merge patches of these objects, one after the other. Each changes something."""
    change = {"spec": {"notes": {"n": "new-00000000"}}}
    raw = [Request("PATCH", f"{COLLECTION}/{name}", change, MERGE).raw for name in names]
    turns = itertools.cycle(raw)
    return lambda: next(turns).replace(b"new-00000000", b"new-%08d" % next(_NUMBERS))


def _races(server: Server) -> Iterable[Figure]:
    fill(server)
    found = costs(server, {"many": Sort(patches(RACED)), "one": Sort(patches(RACED[:1]))})
    many, one = found["many"], found["one"]
    note = f"{one.rate:,.0f}/s, CPU {one.cpu:,.0f} µs beside {many.cpu:,.0f} µs"
    yield Figure(
        "16 patch one object", one.rate / many.rate, "x 16 objects", at_least=0.5, note=note
    )


def unchanging() -> dict[str, Sort]:
    """Return a GET, and patches of a Thing that change nothing: of its spec, and an apply of the
    whole object."""
    path, whole = f"{COLLECTION}/{RACED[0]}", thing(RACED[0])
    get = Request("GET", path).raw
    merge = Request("PATCH", path, {"spec": whole["spec"]}, MERGE).raw
    apply = Request("PATCH", f"{path}?fieldManager=bench&force=true", whole, APPLY).raw
    return {
        "get": Sort(lambda: get),
        "merge patch": Sort(lambda: merge),
        "apply": Sort(lambda: apply),
    }


def _unchanged(server: Server) -> Iterable[Figure]:
    """Measure patches that change nothing in short turns, each compared with the GETs of its
    turn."""
    sorts = unchanging()
    for sort in sorts.values():
        turn(server, sort, SHORT)  # the first apply becomes the owner of its fields
    turns = [
        {name: turn(server, sort, SHORT).cpu for name, sort in sorts.items()}
        for _ in range(SHORT_TURNS)
    ]
    get = min(each["get"] for each in turns)
    for name in ("merge patch", "apply"):
        ratio = statistics.median(each[name] / each["get"] for each in turns)
        note = f"CPU {min(each[name] for each in turns):,.0f} µs beside {get:,.0f} µs"
        yield Figure(f"{name} that changes nothing", ratio, "x GET", at_most=2.0, note=note)


def _alone(server: Server) -> Iterable[Figure]:
    """Measure one client with one create at a time, so that each step adds to the time."""
    make = numbered(Request("POST", COLLECTION, thing("new-00000000")))
    inserts, stored, kept = [], [], []
    with servers.inkube() as memory, _a_table() as insert:
        installed(memory, definition())
        for _ in range(TURNS):
            inserts.append(_seconds_of(insert))
            stored.append(1 / load.send(server.port, load.for_seconds(SECONDS, make), Load(1)))
            kept.append(1 / load.send(memory.port, load.for_seconds(SECONDS, make), Load(1)))
    on_file, in_memory, bare = (min(each) * 1e6 for each in (stored, kept, inserts))
    note = f"{on_file:,.0f} µs; {in_memory:,.0f} µs in memory, {bare:,.0f} µs an insert"
    ratio = on_file / (in_memory + bare)
    yield Figure("create alone", ratio, "x memory + insert", at_most=2.5, note=note)


@contextmanager
def _a_table() -> Iterator[Callable[[], object]]:
    """Yield a function that inserts a row of 1 KB into a SQLite file, and waits for the disk."""
    with tempfile.TemporaryDirectory() as folder:
        database = sqlite3.connect(f"{folder}/it", isolation_level=None)
        for pragma in ("journal_mode = WAL", "synchronous = FULL"):
            database.execute(f"PRAGMA {pragma}")
        database.execute("CREATE TABLE log (revision INTEGER PRIMARY KEY, key TEXT, data BLOB)")
        database.execute("CREATE INDEX log_by_key ON log (key, revision)")
        row = ("/registry/things/default/it", b"x" * 1024)
        with closing(database):
            yield lambda: database.execute("INSERT INTO log (key, data) VALUES (?, ?)", row)


def _seconds_of(do: Callable[[], object]) -> float:
    started = time.perf_counter()
    until, count = started + SECONDS, 0
    while time.perf_counter() < until:
        do()
        count += 1
    return (time.perf_counter() - started) / count


def _lists(server: Server) -> Iterable[Figure]:
    with closing(server.connect()) as connection:
        for number in range(LONG):
            meta = {"name": f"c-{number:05}", "labels": {"app": "bench"}}
            body = {"metadata": meta, "data": {"text": "x" * 500}}
            servers.ask(connection, Request("POST", LISTED.partition("?")[0], body))
    page = Request("GET", LISTED).raw
    table = Request("GET", LISTED, accept=TABLE).raw
    whole = Request("GET", LISTED.partition("?")[0]).raw
    packed = whole.replace(b"Host:", b"Accept-Encoding: gzip\r\nHost:")
    found = costs(
        server,
        {
            "list": Sort(lambda: page),
            "table": Sort(lambda: table),
            "whole": Sort(lambda: whole),
            "packed": Sort(lambda: packed),
        },
    )
    plain = found["list"].cpu
    note = f"CPU {plain:,.0f} µs a list"
    first, alone = _first(server)
    what = f"CPU {first:,.0f} µs beside {alone:,.0f} µs a list, one client"
    yield Figure("page of 500 as a Table, first", first / alone, "x list", at_most=10, note=what)
    ratio = found["table"].cpu / plain
    yield Figure("page of 500 as a Table, read again", ratio, "x list", at_most=3, note=note)
    ratio = found["packed"].cpu / found["whole"].cpu
    note = f"CPU {found['whole'].cpu:,.0f} µs plain"
    yield Figure("list of 5,000, gzipped", ratio, "x plain", at_most=2.5, note=note)


def _first(server: Server) -> tuple[float, float]:
    """Return the processor time in µs of a page of 500 as a Table with new rows, and as a list.

    One client reads all pages one time in each form; the forms differ only in name.
    """
    forms = [(version, include) for version in ("v1", "v1beta1") for include in ("", "Metadata")]
    table = plain = float("inf")
    with closing(server.connect()) as connection:
        for version, include in forms:
            plain = min(plain, _walk(server, connection, "application/json", ""))
            accept = TABLE.replace("v=v1", f"v={version}")
            table = min(table, _walk(server, connection, accept, include))
    return table, plain


def _walk(server: Server, connection: HTTPConnection, accept: str, include: str) -> float:
    """Return the processor time in µs of one page, as the mean over all pages."""
    token, pages, before = "", 0, server.cpu_seconds
    while token or not pages:
        query = f"&includeObject={include}&continue={token}"
        page = servers.ask(connection, Request("GET", LISTED + query, accept=accept))
        metadata = json.loads(page)["metadata"]
        token, pages = metadata.get("continue", ""), pages + 1
    return (server.cpu_seconds - before) / pages * 1e6


if __name__ == "__main__":
    figures.main(measure)
