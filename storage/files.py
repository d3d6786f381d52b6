"""The files of a data file: their permissions, and whether they are still those that were opened.

A data file contains Secrets, so only its owner can read it and the files that SQLite adds (`-wal`,
`-shm`). SQLite gives those two the permissions of the file itself.
"""

import contextlib
import errno
import functools
import os
import sqlite3
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from inkube.storage import alarms, wholefiles
from inkube.storage.errors import Unavailable

# Bytes of the two headers of a `-shm`, of the one that a commit writes last, of the header of a
# `-wal`, and of that of a frame in it (sqlite.org/walformat.html).
INDEX_HEADER, COMMIT_HEADER, WAL_HEADER, FRAME_HEADER = 96, 48, 32, 24

# Seconds that the end of a store waits for the check of its file.
LAST_CHECK = 30.0
UNCHECKED = "another program has changed its time, and it was not checked to its end"

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


def lacks_index(path: Path) -> bool:
    """Return whether a file with content has no `-shm`, as usual if no process uses it."""
    try:
        return path.stat().st_size > 0 and not path.with_name(f"{path.name}-shm").exists()
    except OSError:
        return False


def make_private(path: Path) -> None:
    """Remove the permissions of other users on a data file, and log that."""
    for each in (path, *wholefiles.beside(path)):
        wholefiles.make_private(each)


class Presence:
    """Checks that the files are the opened ones, and that only SQLite changes them: what is written
    to a deleted or replaced file is lost.

    The `-wal` contains the latest commits, and the `-shm` says where they are. SQLite deletes both
    only when no process has the file open; without its `-shm`, the next process would begin another
    history in the same `-wal`. In WAL mode the file itself is changed by checkpoints alone, and the
    `-shm` counts them, so another change is that of another program. If it changed the time and not
    the size, `find_change` compares the content with a log up to a revision: it returns what
    differs, or "", and can raise sqlite3.Error or OSError. Nothing is written meanwhile.
    """

    def __init__(self, path: Path, find_change: Callable[[Path, int], str]) -> None:
        self._path = path
        self._find_change = find_change
        self._check_of_content: _CheckOfContent | None = None
        self._wal, self._shm = (path.with_name(path.name + end) for end in ("-wal", "-shm"))
        self._opened: dict[Path, _Identity] = {}
        self._content: _Content | None = None
        self._wal_size = 0
        self._index: int | None = None
        """A descriptor of the `-shm`, or None if there is none."""
        self._commits = b""
        """The part of the `-shm` that each commit changes, at the last look."""
        self._damage = ""
        self._is_alarmed = False
        self.revision = 0
        """The newest revision that was read or written."""

    def note(self) -> None:
        """Remember the file to which the path refers now."""
        if (identity := _identity(self._path)) is not None:
            self._opened[self._path] = identity[:2]

    def note_opened(self) -> None:
        """A connection has opened the `-wal` and the `-shm`, which must be those of the other
        connections."""
        for path in (self._wal, self._shm):
            identity = _identity(path)
            if identity is not None:  # else the file system reports no identity
                self._opened.setdefault(path, identity[:2])
        if self._index is None and self._shm in self._opened:
            self._index = _INDEXES.open(self._shm, self._opened[self._shm])
        self.check()

    def forget(self) -> None:
        """No connection is open: the next one can create other files beside the data file."""
        if self._check_of_content is not None and not self._damage:
            self._check_of_content.join()
            with contextlib.suppress(Unavailable):
                self._end_check_of_content(self._check_of_content)
        identities = [self._opened.pop(path, None) for path in (self._wal, self._shm)]
        self._content = None
        self._wal_size = 0
        if self._index is not None and identities[1] is not None:
            self._index = None
            _INDEXES.close(identities[1])

    def condemn(self, reason: str) -> None:
        """Refuse everything from now on, because the file is damaged. If it was served, its alarm
        tells later servers."""
        if self._damage:
            return
        self._damage = (
            f"{self._path} is damaged ({reason}); nothing is written. Stop every server of it, "
            f"then: inkube check {self._path}"
        )
        if self._opened:
            alarms.leave(self._path, reason, self.revision)

    def has_commits(self) -> bool:
        """Return whether any process may have committed since the last call. Takes a twentieth of
        `check` and a query."""
        if self._index is None:
            return True
        try:
            found = os.pread(self._index, COMMIT_HEADER, 0)
        except OSError:
            return True  # `check` says more
        before, self._commits = self._commits, found
        return found != before

    def check(self) -> None:
        """Check the files. Raises Unavailable."""
        if self._damage:
            raise Unavailable(self._damage)
        for path, opened in self._opened.items():
            found = _identity(path)
            if found is None or found[:2] != opened:
                if path is not self._shm and not self._is_alarmed:
                    alarms.leave(self._path, "", self.revision)
                    self._is_alarmed = True
                raise Unavailable(
                    f"{path} was deleted or replaced while it was served; nothing is written. "
                    "Put it back, or start again"
                )
            if path is self._path:
                self._check_content(found[2:])
            elif path is self._wal:
                if found[2] < self._wal_size:
                    self._check_wal()
                self._wal_size = found[2]
        if self._is_alarmed:  # what was gone is back
            alarms.clear(self._path, "")
            self._is_alarmed = False

    def _check_content(self, state: tuple[int, int]) -> None:
        """Check that a checkpoint has changed the file, if it has been changed since the last check
        by size or time. Raises Unavailable."""
        if self._index is None:
            return
        if self._check_of_content is not None:
            self._end_check_of_content(self._check_of_content)
        checkpoints = _checkpoints(self._index)
        known = self._content
        if known is not None and known.state == state:
            if known.checkpoints != checkpoints:
                self._content = _Content(state, checkpoints)
            return
        found = _identity(self._path)
        if found is None or found[2:] != state or _checkpoints(self._index) != checkpoints:
            return  # a checkpoint is running: what it changes is seen after its end
        is_idle = checkpoints[-8:-4] == checkpoints[-4:]
        content = _Content(state, checkpoints)
        if known is None or known.checkpoints != checkpoints or not is_idle:
            self._content = content
            return
        if known.state[0] != state[0]:
            self.condemn("another program has changed it")
            raise Unavailable(self._damage)
        alarms.leave(self._path, UNCHECKED, self.revision)  # for the case that this process ends
        find = functools.partial(self._find_change, self._path, self.revision)
        self._check_of_content = _CheckOfContent(content, find)
        self._end_check_of_content(self._check_of_content)

    def _end_check_of_content(self, check: "_CheckOfContent") -> None:
        """Accept the content if it was found sound. Raises Unavailable."""
        if check.damage is None:
            raise Unavailable(
                f"the time of {self._path} was changed by another program; nothing is written "
                "until its content is checked. Try again"
            )
        self._check_of_content = None
        if check.damage:
            self.condemn(f"another program has changed it: {check.damage}")
            raise Unavailable(self._damage)
        alarms.clear(self._path, UNCHECKED)
        self._content = check.content

    def _check_wal(self) -> None:
        """Check that a `-wal` that has become shorter still has its commits. Raises Unavailable."""
        if self._index is None:
            return
        header = os.pread(self._index, INDEX_HEADER, 0)
        found = _identity(self._wal)
        if os.pread(self._index, INDEX_HEADER, 0) != header or len(header) < INDEX_HEADER:
            return  # it is written at the moment
        size, frames = struct.unpack_from("=HI", header, 14)
        frame = FRAME_HEADER + (size if size > 1 else 65536)
        if frames and found is not None and found[2] < WAL_HEADER + frames * frame:
            self.condemn("another program has cut its -wal")
            raise Unavailable(self._damage)


_Identity = tuple[int, int]
"""Device and inode."""


class _Indexes:
    """The descriptors of `-shm` files and how many `Presence`s use each. Closing one drops the
    locks of this process on the file, so that is done after all of its connections are closed."""

    def __init__(self) -> None:
        self._users: dict[_Identity, tuple[int, int]] = {}

    def __contains__(self, identity: _Identity) -> bool:
        return identity in self._users

    def open(self, path: Path, identity: _Identity) -> int | None:
        """Return a descriptor, or None: then changes by other programs are not noticed."""
        index, users = self._users.get(identity, (-1, 0))
        if not users:
            opened = _open_index(path)
            if opened is None:
                return None
            index = opened
        self._users[identity] = (index, users + 1)
        return index

    def close(self, identity: _Identity) -> None:
        """Give up a descriptor; the last user closes it."""
        index, users = self._users[identity]
        if users > 1:
            self._users[identity] = (index, users - 1)
            return
        del self._users[identity]
        os.close(index)


_INDEXES = _Indexes()
"""Those of the process: the locks on a file belong to the process, too."""


def uses_index(path: Path) -> bool:
    """Return whether this process has the `-shm` of a data file open."""
    identity = _identity(path.with_name(f"{path.name}-shm"))
    return identity is not None and identity[:2] in _INDEXES


def _open_index(path: Path) -> int | None:
    if not hasattr(os, "pread"):
        return None  # on this system, open files are not replaced
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


class _Content(NamedTuple):
    """Size and time of change of the file, and the checkpoints up to then."""

    state: tuple[int, int]
    checkpoints: bytes


class _CheckOfContent:
    """A comparison of the content of a file with what servers wrote, in a thread."""

    def __init__(self, content: _Content, find: Callable[[], str]) -> None:
        self.content = content
        self.damage: str | None = None
        """The damage, "" without any; None until the comparison ends."""
        self._find = find
        self._thread = threading.Thread(target=self._run, name="inkube-check", daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait for the end, but not forever."""
        self._thread.join(LAST_CHECK)

    def _run(self) -> None:
        try:
            self.damage = self._find()
        except (sqlite3.Error, OSError) as error:
            self.damage = str(error) or type(error).__name__


def _checkpoints(index: int) -> bytes:
    """Return the part of a `-shm` that checkpoints change: the salts of the `-wal`, how many of its
    frames are in the file, and how many a checkpoint has begun to copy (sqlite.org/walformat.html).
    """
    header = os.pread(index, 136, 0)
    return header[32:40] + header[96:100] + header[128:132]


def _identity(path: Path) -> tuple[int, int, int, int] | None:
    """Return device, inode, size and time of change of a file, or None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
