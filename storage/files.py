"""The files of a data file: their permissions, and whether they still exist.

A data file contains Secrets, so only its owner can read it and the files that SQLite adds (`-wal`,
`-shm`). SQLite gives those two the permissions of the file itself.
"""

import contextlib
import errno
import os
import threading
from pathlib import Path

from inkube.storage import wholefiles
from inkube.storage.errors import Unavailable

_creating = threading.Lock()


def create(path: Path) -> None:
    """Create the file if it does not exist, and never open an existing one.

    POSIX releases all locks of a process on a file when the process closes any descriptor of the
    file, and SQLite uses such locks. Without them, another process would consider the file unused,
    and delete a `-wal` that is still being written. A descriptor of a new file holds no locks;
    `_creating` keeps other threads from connecting to it meanwhile. Raises OSError if the file
    cannot be created, read or written.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    with _creating, contextlib.suppress(FileExistsError):
        os.close(os.open(os.path.realpath(path), flags, wholefiles.PRIVATE))
    wholefiles.check_regular(path)
    if not os.access(path, os.R_OK | os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def make_private(path: Path) -> None:
    """Remove the permissions of other users on a data file, and log that."""
    for each in (path, *wholefiles.beside(path)):
        wholefiles.make_private(each)


class Presence:
    """Checks that the paths still refer to the opened files, because writes to a deleted or
    replaced file are lost.

    This includes the `-wal`, which contains the latest commits; SQLite deletes it only when no
    process has the file open.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._wal = path.with_name(f"{path.name}-wal")
        self._opened: dict[Path, tuple[int, int] | None] = {}

    def note(self) -> None:
        """Remember the file to which the path refers now."""
        self._opened[self._path] = _identity(self._path)

    def note_wal(self) -> None:
        """A connection has opened the `-wal`, which must be the one of the other connections."""
        if self._opened.setdefault(self._wal, _identity(self._wal)) is None:
            del self._opened[self._wal]  # the file system reports no identity

    def forget_wal(self) -> None:
        """No connection is open: the next one can create another `-wal`."""
        self._opened.pop(self._wal, None)

    def check(self) -> None:
        """Check the files. Raises Unavailable."""
        for path, opened in self._opened.items():
            if _identity(path) != opened:
                raise Unavailable(
                    f"{path} was deleted or replaced while it was served; nothing is written. "
                    "Put it back, or start again"
                )


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
