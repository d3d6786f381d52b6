"""A PostgreSQL for tests: a cluster in a temporary folder, stopped after the tests.

PostgreSQL refuses to run as root, so root runs it as the user `postgres` of the Debian package.
"""

import asyncio
import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import asyncpg
from patience import SECONDS
from ports import free_port

SETTINGS = {
    "fsync": "off",  # tests do not check that data survives a power failure
    "full_page_writes": "off",
    "unix_socket_directories": "''",
    "listen_addresses": "127.0.0.1",
    "max_connections": "60",
    "shared_buffers": "32MB",
    "autovacuum": "off",
    "log_min_messages": "fatal",
}


def programs() -> Path | None:
    """Return the folder of initdb and postgres; None if PostgreSQL is not installed."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent  # a link need not have the others beside it
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return places[-1].parent if places else None


def missing() -> str:
    """Return the reason why tests that need PostgreSQL cannot run; empty if they can."""
    if programs() is None:
        return "PostgreSQL is not installed"
    if _is_root() and shutil.which("runuser") is None:
        return "PostgreSQL does not run as root and there is no runuser"
    return ""


class Cluster:
    """A running cluster. It can be stopped, killed, and started again on the same data."""

    def __init__(
        self,
        folder: Path,
        *,
        durable: bool = False,
        settings: Mapping[str, str] | None = None,
        of: "Cluster | None" = None,
    ) -> None:
        """Create a new cluster, or a replica of another one, which follows it."""
        self._data = folder / "data"
        self._log = folder / "log"
        self._durable = durable
        self._settings = settings or {}
        self._numbers = itertools.count()
        self.port = free_port()
        found = programs()
        assert found is not None, "ask `missing` first"
        self._programs = found
        if of is not None:
            _run([*_as_user(), found / "pg_basebackup", "-D", self._data, "-d", of.url("postgres"),
                  "-R", "-X", "stream", "-c", "fast", "--no-sync"])  # fmt: skip
            self.start()
            return
        _run([*_as_user(), found / "initdb", "-D", self._data, "-U", "postgres", "-A", "trust",
              "--no-sync", "--locale=C.UTF-8", "--encoding=UTF8",
              *(["--data-checksums"] if settings else [])])  # fmt: skip
        # pg_rewind runs a server itself
        with (self._data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = {value}\n" for name, value in self._settings.items())
        self.start()

    @property
    def pid(self) -> int:
        """The main process of the cluster."""
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        durable = {"fsync": "on"} if self._durable else {}
        settings = {**SETTINGS, **self._settings, **durable, "port": self.port}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        self._control("start", "-w", "-o", options)

    def stop(self, mode: str = "fast") -> None:
        """Stop it: `fast` ends connections, `immediate` is like a crash."""
        self._control("stop", "-w", "-m", mode)

    def replica(self, folder: Path) -> "Cluster":
        """Create a replica that follows this cluster."""
        return Cluster(folder, durable=self._durable, settings=self._settings, of=self)

    def promote(self) -> None:
        """Make a replica a primary."""
        self._control("promote", "-w")

    def rewind(self, primary: "Cluster") -> None:
        """Make a replica of a stopped cluster from which `primary` has branched off."""
        _run([*_as_user(), self._programs / "pg_rewind", "-D", self._data, "-R", "--no-sync",
              f"--source-server={primary.url('postgres')}"])  # fmt: skip
        self.start()

    async def receiver(self) -> int:
        """Return the process of a replica that receives commits, or 0."""
        connection = await asyncpg.connect(self.url("postgres"))
        try:
            return await connection.fetchval("SELECT pid FROM pg_stat_wal_receiver") or 0
        finally:
            await connection.close()

    def copy_to(self, folder: Path) -> None:
        """Copy the data of a stopped cluster."""
        _run(["cp", "-a", self._data, folder])

    def put_back(self, folder: Path) -> None:
        """Replace the data of a stopped cluster by a copy, which is moved."""
        shutil.rmtree(self._data)
        _run(["mv", folder, self._data])

    def remove(self) -> None:
        """Stop it, and delete its data."""
        with contextlib.suppress(subprocess.CalledProcessError):
            self.stop("immediate")
        shutil.rmtree(self._data, ignore_errors=True)

    def restart(self, mode: str = "fast") -> None:
        """Stop and start it."""
        self.stop(mode)
        self.start()

    async def database(self) -> str:
        """Create a database, and return its URL."""
        name = f"test{next(self._numbers)}"
        await self.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    async def execute(self, statement: str) -> None:
        """Execute a statement in the cluster's own database."""
        connection = await asyncpg.connect(self.url("postgres"))
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    async def cut(self) -> None:
        """End every connection except the one of this function."""
        await self.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )

    def url(self, name: str) -> str:
        """Return the URL of a database."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def _control(self, *arguments: str) -> None:
        _run([*_as_user(), self._programs / "pg_ctl", "-D", self._data, "-l", self._log,
              *arguments])  # fmt: skip


@contextlib.contextmanager
def cluster(*, durable: bool = False) -> Iterator[Cluster]:
    """Run a cluster as long as the block."""
    with folder() as place:
        running = Cluster(place, durable=durable)
        try:
            yield running
        finally:
            with contextlib.suppress(subprocess.CalledProcessError):
                running.stop("immediate")


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Yield a temporary folder in which PostgreSQL can create clusters."""
    made = Path(tempfile.mkdtemp(prefix="inkube-postgresql-"))
    try:
        give(made)
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


async def gone(pid: int, number: int = signal.SIGKILL) -> None:
    """Send a signal that ends a process, and wait for its end."""
    os.kill(pid, number)
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        await asyncio.sleep(0.01)


def give(folder: Path) -> None:
    """Give a folder to the user who runs PostgreSQL."""
    if _is_root():
        shutil.chown(folder, "postgres")


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _as_user() -> list[str]:
    return ["runuser", "-u", "postgres", "--"] if _is_root() else []


def _run(command: list[object]) -> None:
    # Run a program in a folder that its user may enter; print output only on failure.
    with (
        tempfile.TemporaryFile() as told
    ):  # a pipe would stay open in the server that pg_ctl starts
        done = subprocess.run(
            [str(word) for word in command], check=False, cwd="/", stdout=told, stderr=told,
            timeout=SECONDS,
        )  # fmt: skip
        if done.returncode:
            told.seek(0)
            raise subprocess.CalledProcessError(
                done.returncode, done.args, told.read().decode(errors="replace")[-2000:]
            )
