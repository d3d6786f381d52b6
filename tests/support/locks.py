"""Checks whether a process drops locks that SQLite relies on.

On POSIX, a process that closes any descriptor of a file loses all its locks on that file, also
those of other descriptors. There are two ways to observe this:

    python tests/support/locks.py REPORT COMMAND…  # inkube COMMAND…, or a program; reports the
                                                   # data files that Python opens (audit hook)
    traced(folder)                                 # runs a command under strace; `dropped` reads
                                                   # the traces and simulates the kernel's locks
"""

import contextlib
import os
import re
import runpy
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import patience

DATA = re.compile(r"\.db(-wal|-shm|-journal)?$")
"""Matches the names of data files and the files next to them."""
CAREFUL = (
    "storage/files.py:_open_index",  # stays open until the last connection is closed
    "storage/wal.py:_index",  # before the first connection
    "storage/wal.py:read",  # SQLite has no locks on a -wal
    "storage/repair.py:repair",  # locks the file itself, before the first connection
)
PATIENCE = patience.SECONDS
CALLS = "open,openat,creat,close,close_range,dup,dup2,dup3,fcntl,clone,clone3,fork,vfork"


def watched(report: Path) -> list[str]:
    """Return the start of a command line that records in `report` which files Python opens."""
    return [sys.executable, __file__, str(report)]


def traced(folder: Path) -> list[str]:
    """Return the start of a command line with which strace writes a file for each thread to
    `folder`."""
    folder.mkdir()
    # -D: the command stays the child of its starter
    return [shutil.which("strace") or "strace", "-D", "-ff", "-ttt", "-y", "-q",
            "-e", f"trace={CALLS}", "-e", "signal=none", "-o", str(folder / "trace")]  # fmt: skip


def _tell_what_is_opened(report: Path) -> None:
    """Record opened data files, in this process and in its forks. A file that is created
    exclusively cannot have locks yet, and `CAREFUL` functions open files only where no lock can be
    dropped, as the traces show."""
    told = os.open(report, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def heard(event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        path, flags = os.fsdecode(arguments[0]), arguments[2] or 0
        if DATA.search(path) and not flags & os.O_EXCL:
            caller = sys._getframe(1)
            while caller.f_back is not None and caller.f_code.co_filename.endswith("pathlib.py"):
                caller = caller.f_back
            where = f"{caller.f_code.co_filename}:{caller.f_code.co_name}"
            if where.endswith(CAREFUL):
                return
            os.write(told, f"{path} is opened in {where}\n".encode())

    sys.addaudithook(heard)


@dataclass
class _Process:
    """The kernel's state of one process: `files` contains paths by descriptor; `locks` contains, by
    path, the locked intervals and the descriptor that locked each of them."""

    files: dict[int, str] = field(default_factory=dict)
    own: set[int] = field(default_factory=set)
    """The descriptors that the process opened itself, not the inherited ones."""
    locks: dict[str, dict[tuple[int, int], int]] = field(default_factory=lambda: defaultdict(dict))


_LINE = re.compile(r"^(\d+\.\d+) (\w+)\((.*)\)\s+= (-?\d+)(?:<(.*?)>)?")
_INTERVAL = re.compile(r"l_start=(\d+), l_len=(\d+)")
_FILE = re.compile(r"^(\d+)<(.*?)>")


def dropped(folder: Path) -> tuple[list[str], int]:
    """Return each close of a data file that dropped locks of its process, each lock through an
    inherited descriptor, and the number of all locks."""
    _wait_for_tracers(folder)
    calls = []
    for trace in folder.iterdir():
        thread = int(trace.suffix[1:])
        for line in trace.read_text(errors="replace").splitlines():
            if found := _LINE.match(line):
                at, name, arguments, result, path = found.groups()
                calls.append((float(at), thread, name, arguments, int(result), path or ""))
    judge = _Judge()
    for _, thread, name, arguments, result, path in sorted(calls):
        judge.hear(thread, name, arguments, result, path)
    return judge.found, judge.locks


def _wait_for_tracers(folder: Path) -> None:
    """Wait until strace, which is not our child, has written everything."""
    deadline = time.monotonic() + PATIENCE
    while any(str(folder).encode() in command for command in _commands()):
        assert time.monotonic() < deadline, "a traced command goes on"
        time.sleep(0.01)


def _commands() -> Iterator[bytes]:
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield each.read_bytes()


class _Judge:
    """Follows the system calls of all processes."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.locks = 0
        self._processes: dict[int, _Process] = {}

    def hear(self, thread: int, name: str, arguments: str, result: int, path: str) -> None:
        """Process one finished system call."""
        process = self._processes.setdefault(thread, _Process())
        if result < 0:
            return
        if name in ("clone", "clone3", "fork", "vfork"):
            if "CLONE_THREAD" in arguments:
                self._processes[result] = process
            else:
                self._processes[result] = _Process(dict(process.files))
        elif name in ("open", "openat", "creat"):
            if DATA.search(path):
                process.files[result] = path
                process.own.add(result)
        elif name == "close":
            self._close(thread, process, int(arguments.partition("<")[0]))
        elif name == "close_range":
            first, last = (int(each) for each in arguments.split(",")[:2])
            for number in [each for each in process.files if first <= each <= last]:
                self._close(thread, process, number)
        elif "F_SETLK" in arguments and (found := _FILE.match(arguments)):
            self._lock(thread, process, int(found[1]), found[2], arguments)
        elif name.startswith("dup") or "F_DUPFD" in arguments:
            source = int(arguments.partition("<")[0])
            if source in process.files:
                process.files[result] = process.files[source]

    def _lock(self, thread: int, process: _Process, number: int, path: str, how: str) -> None:
        found = _INTERVAL.search(how)
        if not DATA.search(path) or found is None:
            return
        start, length = int(found[1]), int(found[2])
        locked, end = process.locks[path], start + length if length else 2**63
        for each in [each for each in locked if start <= each[0] and each[1] <= end]:
            del locked[each]
        if "F_UNLCK" in how:
            return
        self.locks += 1
        locked[start, end] = number
        if number not in process.own:
            self.found.append(f"{thread} locks {path} through a descriptor it inherited")

    def _close(self, thread: int, process: _Process, number: int) -> None:
        path = process.files.pop(number, None)
        process.own.discard(number)
        if path is None:
            return
        if set(process.locks.pop(path, {}).values()) & process.files.keys():
            self.found.append(f"{thread} closes {path}, which it had locked")


def _main() -> None:
    report, program, *arguments = sys.argv[1:]
    _tell_what_is_opened(Path(report))
    sys.argv = [program, *arguments]
    if program.endswith(".py"):
        runpy.run_path(program, run_name="__main__")
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _main()
