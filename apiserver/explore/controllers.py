"""Controllers that an exploration starts, kills and starts again: commands and coroutines."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from inkube.apiserver.watchdogs import Watchdog

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_GROUP, _USER, _SYSTEM = 2, 11, 12
"""Members of `/proc/PID/stat` after the name of the program."""
LOG_BYTES = 64 * 1024
"""How much of the end of a controller's log is kept."""
STOP_SECONDS = 5.0
"""The time between SIGTERM and SIGKILL at the end of a run."""


class Running(Protocol):
    """A controller that runs."""

    @property
    def exit_code(self) -> int | None:
        """The exit code of a controller that ended by itself; None while it runs."""
        ...

    def processor_seconds(self) -> float:
        """Return the processor time that it has used. A controller that uses more is still at work,
        even if it does not write. 0 where this cannot be read."""
        ...

    async def kill(self) -> None:
        """End it at once, without a chance to clean up."""
        ...

    async def stop(self) -> None:
        """Ask it to end, and wait. Kill it if it does not."""
        ...


class Controller(Protocol):
    """A controller that can be started several times."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    async def start(self, kubeconfig: Path, log: Path) -> Running:
        """Start it against a server. Its output is appended to `log`. Raises OSError."""
        ...


@dataclass(frozen=True, slots=True)
class Command:
    """A program, started in a new process group with KUBECONFIG in its environment. The group ends
    with this process."""

    words: Sequence[str]
    folder: Path = field(default_factory=Path)
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The first words of the command line."""
        return " ".join(self.words)

    async def start(self, kubeconfig: Path, log: Path) -> "_Process":
        """Start the program. Raises OSError."""
        ours = {"KUBECONFIG": str(kubeconfig), "PYTHONUNBUFFERED": "1"}
        environment = os.environ | self.environment | ours
        for name in ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
            environment.pop(name, None)  # clients prefer these to a kubeconfig
        with log.open("ab") as output:
            try:
                process = await asyncio.create_subprocess_exec(
                    *self.words,
                    cwd=self.folder,
                    env=environment,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            except OSError as error:
                raise _unstarted(self, error) from error
        try:
            return _Process(process, Watchdog(-process.pid))
        except OSError:
            os.killpg(process.pid, signal.SIGKILL)
            raise


def _unstarted(command: Command, error: OSError) -> OSError:
    """Return why the program of a command cannot be started."""
    word, folder = command.words[0], command.folder.absolute()
    if isinstance(error, FileNotFoundError):
        where = f"in the folder {folder}" if os.path.dirname(word) else "on PATH"
        return OSError(f"cannot start {word!r}: there is no such program {where}")
    return OSError(f"cannot start {word!r}: {(error.strerror or str(error)).lower()}")


@dataclass(frozen=True, slots=True)
class Suite:
    """A command that runs tests against the server of KUBECONFIG, and exits with code 0 if they
    pass.

    `agents` are patterns of the user agents whose requests are disturbed. Without them, these are
    the clients that watch, or all if none does.
    """

    words: Sequence[str]
    folder: Path = field(default_factory=Path)
    environment: Mapping[str, str] = field(default_factory=dict)
    agents: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The command line."""
        return " ".join(self.words)


class _Process:
    def __init__(self, process: asyncio.subprocess.Process, watchdog: Watchdog) -> None:
        self._process = process
        self._watchdog = watchdog
        self._is_ended = False

    @property
    def exit_code(self) -> int | None:
        return None if self._is_ended else self._process.returncode

    def processor_seconds(self) -> float:
        return sum(_ticks(self._process.pid)) / _TICKS_PER_SECOND

    async def ended(self, seconds: float) -> None:
        """Wait until it ends by itself, that long at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._process.wait()

    async def kill(self) -> None:
        self._signal(signal.SIGKILL)
        self._watchdog.close()
        await self._process.wait()

    async def stop(self) -> None:
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._process.wait()
        except TimeoutError:
            pass
        finally:
            await self.kill()

    def _signal(self, number: signal.Signals) -> None:
        self._is_ended = True
        with contextlib.suppress(ProcessLookupError):  # it has ended, and so has its group
            os.killpg(self._process.pid, number)


@dataclass(frozen=True, slots=True)
class Coroutine:
    """A coroutine function that receives the path of a kubeconfig. To kill it is to cancel it."""

    work: Callable[[Path], Awaitable[None]]

    @property
    def name(self) -> str:
        """The qualified name of the function."""
        return getattr(self.work, "__qualname__", repr(self.work))

    async def start(self, kubeconfig: Path, log: Path) -> "_Task":
        """Start the coroutine in a task."""
        return _Task(asyncio.ensure_future(self._run(kubeconfig, log)))

    async def _run(self, kubeconfig: Path, log: Path) -> None:
        try:
            await self.work(kubeconfig)
        except Exception as error:
            with log.open("a") as output:
                output.write(f"{type(error).__name__}: {error}\n")
            raise


class _Task:
    def __init__(self, task: "asyncio.Future[None]") -> None:
        self._task = task

    @property
    def exit_code(self) -> int | None:
        if not self._task.done() or self._task.cancelled():
            return None
        return 0 if self._task.exception() is None else 1

    def processor_seconds(self) -> float:
        return time.process_time()

    async def kill(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def stop(self) -> None:
        await self.kill()


def _ticks(group: int) -> Iterator[int]:
    """Yield the processor time of each process of a group, in ticks (proc(5))."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended
            members = path.read_text().rpartition(")")[2].split()
            if int(members[_GROUP]) == group:
                yield int(members[_USER]) + int(members[_SYSTEM])


def tail(log: Path) -> str:
    """Return the end of a log; "" if nothing was written."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - LOG_BYTES))
        return file.read().decode(errors="replace")
