"""The files of a data file: their permissions, and whether they still exist.

A data file contains Secrets, so only its owner can read it and the files that SQLite adds (`-wal`,
`-shm`). SQLite gives those two the rights of the file itself.
"""

import contextlib
import errno
import logging
import os
import stat
import threading
from pathlib import Path

from inkube.storage.errors import Unavailable

logger = logging.getLogger(__name__)

PRIVATE = 0o600
BESIDE = ("-wal", "-shm", "-journal")

_creating = threading.Lock()


def create(path: Path) -> None:
    """Make the file where there is none, and never open one that is there.

    POSIX takes all locks on a file from a process that closes any of its descriptors of it, and
    SQLite's locks are such: with them another process would take the file for its own, and delete
    a `-wal` that is still written to. A descriptor of a file that is only just made holds none;
    `_creating` keeps another thread from connecting to it meanwhile. Raises OSError when it cannot
    be made, read or written.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    with _creating, contextlib.suppress(FileExistsError):
        os.close(os.open(os.path.realpath(path), flags, PRIVATE))
    if not os.access(path, os.R_OK | os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def make_private(path: Path) -> None:
    """Take from others what they may do with a file that is known to be ours, and say so."""
    if os.name == "nt":
        return  # rights there are no modes
    for each in (path, *(path.with_name(path.name + end) for end in BESIDE)):
        _make_private(each)


def _make_private(path: Path) -> None:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return
    if not mode & 0o077:
        return
    try:
        path.chmod(PRIVATE)
    except OSError as error:
        logger.warning("%s may be read by others (%o) and stays so: %s", path, mode, error)
    else:
        logger.warning("%s could be read by others (%o) and is its owner's alone now", path, mode)


class Presence:
    """Checks that paths still lead to the files that were opened: writes to a file that was deleted
    or replaced are lost. This includes the `-wal`, which contains the latest commits; SQLite
    deletes it only when no process has the file open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._wal = path.with_name(f"{path.name}-wal")
        self._opened: dict[Path, tuple[int, int] | None] = {}

    def note(self) -> None:
        """The file that the name leads to now is the one."""
        self._opened[self._path] = _identity(self._path)

    def note_wal(self) -> None:
        """A connection has opened the `-wal`: the same as those that were open before."""
        if self._opened.setdefault(self._wal, _identity(self._wal)) is None:
            del self._opened[self._wal]  # on a file system that shows none

    def forget_wal(self) -> None:
        """No connection is open any more: the next one may find another `-wal`."""
        self._opened.pop(self._wal, None)

    def check(self) -> None:
        """Raises Unavailable."""
        for path, opened in self._opened.items():
            if _identity(path) != opened:
                raise Unavailable(
                    f"{path} was deleted or replaced while it was served; nothing is written. "
                    "Put it back, or start again"
                )


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
