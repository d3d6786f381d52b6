"""A PostgreSQL for tests: a cluster in a temporary folder, stopped after the tests.

PostgreSQL refuses to run as root, so root runs it as the user `postgres` of the Debian package.
"""

import asyncio
import contextlib
import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
from patience import SECONDS

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
    """The folder of initdb and postgres; None if PostgreSQL is not installed."""
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return places[-1].parent if places else None


def missing() -> str:
    """The reason why tests that need PostgreSQL cannot run; empty if they can."""
    if programs() is None:
        return "PostgreSQL is not installed"
    if _is_root() and shutil.which("runuser") is None:
        return "PostgreSQL does not run as root and there is no runuser"
    return ""


class Cluster:
    """A running cluster. It can be stopped, killed, and started again on the same data."""

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        self._data = folder / "data"
        self._log = folder / "log"
        self._durable = durable
        self._numbers = itertools.count()
        self.port = _free_port()
        found = programs()
        assert found is not None, "ask `missing` first"
        self._programs = found
        _run([*_as_user(), found / "initdb", "-D", self._data, "-U", "postgres", "-A", "trust",
              "--no-sync", "--locale=C.UTF-8", "--encoding=UTF8"])  # fmt: skip
        self.start()

    @property
    def pid(self) -> int:
        """The main process of the cluster."""
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        settings = {**SETTINGS, **({"fsync": "on"} if self._durable else {}), "port": self.port}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        self._control("start", "-w", "-o", options)

    def stop(self, mode: str = "fast") -> None:
        """Stop it: `fast` ends connections, `immediate` is like a crash."""
        self._control("stop", "-w", "-m", mode)

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
        """The URL of a database."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def _control(self, *arguments: str) -> None:
        _run([*_as_user(), self._programs / "pg_ctl", "-D", self._data, "-l", self._log,
              *arguments])  # fmt: skip


@contextlib.contextmanager
def cluster(*, durable: bool = False) -> Iterator[Cluster]:
    """Run a cluster as long as the block."""
    folder = Path(tempfile.mkdtemp(prefix="inkube-postgresql-"))
    running: Cluster | None = None
    try:
        if _is_root():
            shutil.chown(folder, "postgres")
        running = Cluster(folder, durable=durable)
        yield running
    finally:
        if running is not None:
            with contextlib.suppress(subprocess.CalledProcessError):
                running.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)


async def gone(pid: int, number: int = signal.SIGKILL) -> None:
    """Send a signal that ends a process, and wait for its end."""
    os.kill(pid, number)
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        await asyncio.sleep(0.01)


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _as_user() -> list[str]:
    return ["runuser", "-u", "postgres", "--"] if _is_root() else []


def _run(command: list[object]) -> None:
    # Run a program in a folder that its user may enter; print output only on failure.
    subprocess.run(
        [str(word) for word in command], check=True, cwd="/", stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, timeout=SECONDS,
    )  # fmt: skip


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
