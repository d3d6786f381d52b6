"""Servers as users run them: `inkube serve` on one file or one database, and their faults.

A fleet is one setup: its servers (each a single process, or a parent with workers) and their
storage. Its faults are methods of `Breaker`; when one returns, every server is ready again.
"""

import asyncio
import contextlib
import math
import os
import random
import signal
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import NamedTuple, Protocol

import aiohttp
import asyncpg
import failovers
import patience
import postgresql
import touches
from histories import Row

PROGRAM = Path(sys.executable).with_name("inkube")
LEASE = 2
"""The lease duration of the controllers in seconds."""
ASLEEP = 3.5
"""The seconds that a process is stopped: longer than the lease, and than PostgreSQL leaves a lock
to a stopped process."""
PATIENCE = 300.0 * patience.PATIENCE
"""The seconds until a server must be ready again."""
LOOK = 0.05


class SetUp(NamedTuple):
    """The number of servers, their workers, and the kind of storage."""

    about: str
    servers: int
    workers: int
    on_postgresql: bool = False
    is_promoted: bool = False
    is_touched: bool = False


SET_UPS = {
    "alone": SetUp("one server on a file", 1, 1),
    "workers": SetUp("one server of two workers on a file", 1, 2),
    "servers": SetUp("two servers on a file", 2, 1),
    "replicas": SetUp("two servers of two workers on PostgreSQL", 2, 2, on_postgresql=True),
    "promoted": SetUp(
        "two servers on PostgreSQL with a replica that is promoted", 2, 1,
        on_postgresql=True, is_promoted=True,
    ),
    "touched": SetUp(
        "one server of two workers on a file that is touched from outside", 1, 2, is_touched=True
    ),
}  # fmt: skip


class Loss(NamedTuple):
    """The log as it was read at a time without a server, after commits may have been lost: its
    rows, and the revision of its horizon. Everything that clients ask from then on is judged by it.
    Acknowledged writes that were asked after the time `kept` may not be lost."""

    time: float
    rows: list[Row]
    horizon: int
    kept: float


class Data(Protocol):
    """The storage of a fleet."""

    @property
    def options(self) -> list[str]:
        """Options of `inkube serve` that select it."""
        ...

    @property
    def visits(self) -> list[list[str]]:
        """Commands of inkube that may read it at any time."""
        ...

    async def rows(self, after: int) -> tuple[list[Row], int]:
        """Return the rows of the log after a revision, the rows left from before its horizon, and
        this horizon (the revision up to which it is compacted). Read without a server."""
        ...


class File:
    """One SQLite file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def options(self) -> list[str]:
        """See Data."""
        return ["--data", str(self.path)]

    @property
    def visits(self) -> list[list[str]]:
        """See Data."""
        return [["check", str(self.path)], ["log", *self.options]]

    async def rows(self, after: int) -> tuple[list[Row], int]:
        """See Data."""
        uri = f"{self.path.as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as database:
            database.execute("BEGIN")
            ((compacted,),) = database.execute(
                "SELECT max(value) FROM meta WHERE name IN ('compacted', 'epoch')"
            )
            rows = database.execute(
                "SELECT revision, key, previous, deleted, data FROM log"
                " WHERE revision > ? OR revision <= ? ORDER BY revision",
                (after, compacted),
            )
            return [_row(row) for row in rows], compacted


class Database:
    """A database of a PostgreSQL whose faults are tested, too."""

    def __init__(self, cluster: postgresql.Cluster, url: str) -> None:
        self._cluster = cluster
        self._url = url

    @property
    def cluster(self) -> postgresql.Cluster:
        """The cluster that serves it."""
        return self._cluster

    @property
    def direct(self) -> str:
        """Its URL at the cluster itself."""
        return self._url

    @property
    def options(self) -> list[str]:
        """See Data."""
        return ["--database", self._url]

    @property
    def visits(self) -> list[list[str]]:
        """See Data."""
        return [["log", *self.options]]

    async def rows(self, after: int) -> tuple[list[Row], int]:
        """See Data."""
        connection = await asyncpg.connect(self.direct)
        try:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                compacted = await connection.fetchval(
                    "SELECT max(value) FROM inkube.meta WHERE name IN ('compacted', 'epoch')"
                )
                rows = await connection.fetch(
                    "SELECT revision, key, previous, deleted, data FROM inkube.log"
                    " WHERE revision > $1 OR revision <= $2 ORDER BY revision",
                    after,
                    compacted,
                )
                return [_row(row) for row in rows], compacted
        finally:
            await connection.close()


class Promoted(Database):
    """A database of a primary with a replica, which take turns."""

    def __init__(self, pair: failovers.Pair, name: str) -> None:
        super().__init__(pair.primary, pair.url(name))
        self.pair = pair
        self._name = name

    @property
    def cluster(self) -> postgresql.Cluster:
        """The primary."""
        return self.pair.primary

    @property
    def direct(self) -> str:
        """See Database."""
        return self.pair.direct(self._name)


class Touched(File):
    """A file that other programs change."""


def _row(row: Iterable[object]) -> Row:
    made = Row._make(row)
    return made._replace(deleted=bool(made.deleted))


class Server:
    """One `inkube serve` with its workers. It keeps its port after a restart."""

    def __init__(self, folder: Path, arguments: list[str], workers: int) -> None:
        folder.mkdir()
        self._folder = folder
        self._arguments = arguments
        self._count = workers if workers > 1 else 0
        self._port = 0
        self._orphans: list[int] = []
        self.process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def log(self) -> str:
        """The warnings and errors of its log."""
        return (self._folder / "serve.log").read_text(errors="replace")

    @property
    def pids(self) -> list[int]:
        """Its live processes: itself, then its workers."""
        if self.process is None or not lives(self.process.pid):
            return []
        own = self.process.pid
        found = _read(f"/proc/{own}/task/{own}/children") if self._count else ""
        return [own, *filter(lives, map(int, found.split()))]

    async def start(self) -> None:
        """Start it, and return when it reports that it serves. Raises RuntimeError."""
        workers = ["--workers", str(self._count)] if self._count else []
        with (self._folder / "serve.log").open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                PROGRAM, "serve", "-q", "--port", str(self._port), "--lease-duration", str(LEASE),
                "--engine", os.environ.get("INKUBE_ENGINE", "fast"),
                "--kubeconfig", str(self._folder / "kubeconfig"), *workers, *self._arguments,
                stdout=-1, stderr=log,
            )  # fmt: skip
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            first = (await self.process.stdout.readline()).decode()
        if "serves on" not in first:
            await self.close()
            raise RuntimeError(f"a server did not start: {first}{self.log[-2000:]}")
        self._port = int(first.rsplit(":", 1)[1])

    async def end(self, number: int = signal.SIGKILL) -> None:
        """End it. Its workers notice this and end by themselves; `back` waits for that. Raises
        TimeoutError."""
        if self.process is None:
            return
        self._orphans += self.pids[1:]
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, number)  # asyncio has to reap the process
        async with asyncio.timeout(PATIENCE):
            await self.process.wait()

    async def close(self) -> None:
        """End it with all its workers. Raises TimeoutError."""
        await self.end()
        await self._wait_for_orphans()

    async def silent(self) -> None:
        """Wait until nobody listens at its port. Raises TimeoutError."""
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", self._port)
                except OSError:
                    return
                writer.close()
                await asyncio.sleep(LOOK)

    async def _wait_for_orphans(self) -> None:
        for pid in self._orphans:
            await gone(pid)
        self._orphans = []

    async def back(self, web: aiohttp.ClientSession) -> None:
        """Wait until all its processes run and each is ready. Raises TimeoutError."""
        await self._wait_for_orphans()
        ready = 0
        async with asyncio.timeout(PATIENCE):
            while ready < max(1, self._count):  # the parent alternates between workers
                try:
                    async with web.get(f"{self.url}/readyz") as answer:
                        ready = ready + 1 if answer.status == 200 else 0
                except aiohttp.ClientError:
                    ready = 0
                if len(self.pids) != 1 + self._count:
                    ready = 0
                await asyncio.sleep(LOOK)


async def gone(pid: int) -> None:
    """Wait until a process, which may not be our child, has ended. Raises TimeoutError."""
    async with asyncio.timeout(PATIENCE):
        while lives(pid):  # noqa: ASYNC110 # nobody tells
            await asyncio.sleep(LOOK)


def lives(pid: int) -> bool:
    """Return whether a process has not ended. One that has may still wait for its parent (a
    zombie)."""
    state = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return bool(state) and state[0] not in "ZX"


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


class Fleet:
    """The servers of one setup."""

    def __init__(self, servers: list[Server], data: Data, seed: int) -> None:
        self.servers = servers
        self.data = data
        self.random = random.Random(seed)

    async def revive(self) -> None:
        """Start the servers that ended by themselves. Raises RuntimeError."""
        for server in self.servers:
            if not server.pids:
                await server.start()

    async def back(self) -> None:
        """Wait until every server is ready. Raises TimeoutError."""
        connector = aiohttp.TCPConnector(force_close=True)
        async with aiohttp.ClientSession(connector=connector) as web:
            for server in self.servers:
                await server.back(web)


@contextlib.asynccontextmanager
async def running(what: SetUp, folder: Path, seed: int) -> AsyncIterator[Fleet]:
    """Run a fleet in its own folder; it ends with the block."""
    async with contextlib.AsyncExitStack() as stack:
        data: Data
        if what.on_postgresql:
            if what.is_promoted:
                data = await _promoted(stack, seed)
            else:
                cluster = stack.enter_context(postgresql.cluster(durable=True))
                data = Database(cluster, await cluster.database())
        else:
            data = (Touched if what.is_touched else File)(folder / "inkube.db")
        servers = [
            Server(folder / f"server{number}", data.options, what.workers)
            for number in range(what.servers)
        ]
        for server in servers:
            stack.push_async_callback(server.close)
            await server.start()
        fleet = Fleet(servers, data, seed)
        await fleet.back()
        yield fleet


async def _promoted(stack: contextlib.AsyncExitStack, seed: int) -> Promoted:
    pair = failovers.Pair(stack.enter_context(postgresql.folder()), random.Random(seed))
    stack.push_async_callback(pair.close)
    await pair.open()
    return Promoted(pair, await pair.database())


class Breaker:
    """Faults of a fleet."""

    def __init__(self, fleet: Fleet, cut: Callable[[], Awaitable[None]]) -> None:
        self._fleet = fleet
        self._cut = cut
        self.kills = 0
        """The number of killed processes, databases included."""
        self.told: list[str] = []
        """Errors in the data that commands reported."""

    @property
    def names(self) -> list[str]:
        """Every fault, the most important first."""
        if isinstance(self._fleet.data, Promoted):
            return ["promote", "put_back", "kill", "promote", "sleep", "sever"]
        if isinstance(self._fleet.data, Touched):
            return [*touches.ALL, "kill_one", "kill_all"]
        found = ["kill", "kill_all", "sleep", "cut", "end", "visit"]
        if len(self._workers()) > 1:
            found[1:1] = ["kill_one", "end_one", "kill_beside_sleeper"]
        if isinstance(self._fleet.data, Database):
            found += ["crash", "sever", "restart"]
        return found

    async def cause(self, name: str) -> None:
        """Cause a fault. Raises TimeoutError, and RuntimeError if a server does not come back."""
        await self._fleet.revive()
        await getattr(self, name)()
        await self._fleet.back()

    async def lose(self, name: str) -> Loss | None:
        """Cause a fault after which commits may be lost; None if it is no such fault. Raises
        TimeoutError, and RuntimeError if a server does not come back."""
        data = self._fleet.data
        if name in ("promote", "put_back"):
            assert isinstance(data, Promoted)
            await self._fleet.revive()
            self.kills += 1
            change = data.pair.promoted if name == "promote" else data.pair.put_back
            async with contextlib.AsyncExitStack() as asleep:
                if self._fleet.random.random() < 0.5:  # it comes back when others have written
                    sleeper = self._fleet.random.choice(self._workers())
                    await asleep.enter_async_context(_asleep(sleeper))
                async with change():
                    loss = Loss(time.monotonic(), *await data.rows(-1), math.inf)
                await asyncio.sleep(ASLEEP / 2)
        elif name in touches.ALL:
            assert isinstance(data, Touched)
            await self._fleet.revive()
            loss = await self._touch(data, touches.ALL[name])
        else:
            return None
        await self._fleet.back()
        return loss

    async def _touch(self, data: Touched, touch: touches.Touch) -> Loss:
        """Change the file, let clients go on, and do what the documentation says: stop the server,
        check the file, repair it if it is damaged, start again."""
        (server,) = self._fleet.servers
        if touch.when_stopped:
            await self._stop(server)
        else:
            await asyncio.to_thread(touch.prepare, data.path)
            await asyncio.sleep(self._fleet.random.uniform(0.2, 1.5))
        await asyncio.to_thread(touch.do, data.path, self._fleet.random)
        touched = time.monotonic()
        if not touch.when_stopped:
            await asyncio.sleep(self._fleet.random.uniform(0.2, 1.5))
            await self._stop(server)
        code, found = await self._run("check", str(data.path))
        if code:
            if touch.keeps:
                self.told.append(f"{touch.do.__name__} damages nothing: {found}")
            if "-wal" in found and touch.when_stopped:
                with contextlib.suppress(RuntimeError):
                    await server.start()
                    self.told.append(f"a server started on a damaged file: {found}")
                    await self._stop(server)
            code, told = await self._run("repair", str(data.path))
            if code:
                self.told.append(f"repair: {told}")
        kept = -math.inf if touch.keeps else touched
        loss = Loss(time.monotonic(), *await data.rows(-1), kept)
        await server.start()
        return loss

    async def _stop(self, server: Server) -> None:
        pids = server.pids
        await server.end()
        for pid in pids:
            self._kill(pid)
        await server.close()
        await server.silent()  # a worker that the parent has just created ends by itself

    async def _run(self, *command: str) -> tuple[int, str]:
        program = await asyncio.create_subprocess_exec(PROGRAM, *command, stdout=-1, stderr=-2)
        told, _ = await program.communicate()
        return program.returncode or 0, told.decode()[-2000:]

    async def kill(self) -> None:
        """kill -9 of a server, which its workers notice, and a new one in its place."""
        server = self._fleet.random.choice(self._fleet.servers)
        self.kills += 1
        await server.end()
        await server.start()

    async def kill_all(self) -> None:
        """kill -9 of every process at once."""
        for server in self._fleet.servers:
            for pid in server.pids:
                self._kill(pid)
        for server in self._fleet.servers:
            await server.end()
            await server.start()

    async def kill_one(self) -> None:
        """kill -9 of one of several serving processes. A parent replaces its worker."""
        await self._replace(self._fleet.random.choice(self._workers()))

    async def end_one(self) -> None:
        """SIGTERM to one of several serving processes, which closes what it has open."""
        await self._replace(self._fleet.random.choice(self._workers()), signal.SIGTERM)

    async def kill_beside_sleeper(self) -> None:
        """`kill_one` while another process is stopped for longer than the lease."""
        sleeper, other = self._fleet.random.sample(self._workers(), 2)
        async with _asleep(sleeper):
            await asyncio.sleep(ASLEEP / 2)
            # a start waits for a file that the stopped process has locked, but not forever
            replaced = asyncio.create_task(self._replace(other))
            await asyncio.sleep(ASLEEP / 2)
        await replaced

    async def sleep(self) -> None:
        """A process is stopped at any point, and continues after the lease expired."""
        async with _asleep(self._fleet.random.choice(self._workers())):
            await asyncio.sleep(ASLEEP)

    async def cut(self) -> None:
        """Every connection of clients is closed, even during requests."""
        await self._cut()

    async def end(self) -> None:
        """A server is stopped with SIGTERM and started again."""
        server = self._fleet.random.choice(self._fleet.servers)
        await server.end(signal.SIGTERM)
        await server.start()

    async def visit(self) -> None:
        """Commands open the data while it is served, and close it again."""
        for command in self._fleet.data.visits:
            code, told = await self._run(*command)
            if code:
                self.told.append(f"inkube {' '.join(command)}: {told}")

    async def restart(self) -> None:
        """The database is restarted."""
        await asyncio.to_thread(self._cluster.restart)

    async def crash(self) -> None:
        """The database crashes and recovers."""
        self.kills += 1
        await asyncio.to_thread(self._cluster.restart, "immediate")

    async def sever(self) -> None:
        """Every connection to the database is closed."""
        await self._cluster.cut()

    @property
    def _cluster(self) -> postgresql.Cluster:
        assert isinstance(self._fleet.data, Database)
        return self._fleet.data.cluster

    def _workers(self) -> list[int]:
        """Return the processes that serve requests."""
        return [pid for server in self._fleet.servers for pid in server.pids[1:] or server.pids]

    async def _replace(self, pid: int, number: int = signal.SIGKILL) -> None:
        self.kills += number == signal.SIGKILL
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        for server in self._fleet.servers:
            if server.process is not None and server.process.pid == pid:
                await server.end(number)
                await server.start()
                return
        await gone(pid)

    def _kill(self, pid: int) -> None:
        self.kills += 1
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@contextlib.asynccontextmanager
async def _asleep(pid: int) -> AsyncIterator[None]:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
