"""Whole files: a file appears under its name complete, or not at all.

Every file that inkube writes for its users is written here: snapshots, captures, keys, kubeconfigs,
pages, exports, programs. A draft next to the file (`.NAME.*.draft`) is written, flushed to the disk
and renamed, so a process that is killed leaves at most a draft. `tests/test_whole_files.py` finds
other writers in the syntax trees.
"""

import contextlib
import errno
import logging
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from inkube.storage.errors import LogError

logger = logging.getLogger(__name__)

PRIVATE = 0o600
"""The mode of files with secrets, independent of the umask."""
PUBLIC = 0o666
"""The mode of other files, reduced by the umask, as usual."""
PROGRAM = 0o777
"""The mode of programs, reduced by the umask."""
BESIDE = ("-wal", "-shm", "-journal")
"""The ends of the names of files that SQLite adds to a database."""
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})
"""Errors of file systems without hard links."""


def write(path: Path | str, content: bytes | str, *, mode: int = PUBLIC) -> None:
    """Write a file, or replace it. A device or a pipe is written as it is. Raises OSError; the
    earlier file then remains."""
    path = Path(os.path.realpath(path))  # a link leads to the same file afterwards
    data = content.encode() if isinstance(content, str) else content
    if path.exists() and not path.is_file():
        with _about(path), path.open("wb") as device:
            device.write(data)
        return
    with _draft(path, mode) as draft, _about(path):
        _fill(draft, data)
        os.replace(draft, path)


def create(path: Path, content: bytes, *, mode: int = PUBLIC) -> None:
    """Write a new file. Raises FileExistsError and other OSErrors."""
    with _draft(path, mode) as draft, _about(path):
        _fill(draft, content)
        _publish(draft, path)


@contextlib.contextmanager
def new_database(path: Path) -> Iterator[Path]:
    """In the block, the caller writes a database of SQLite to the yielded path, and closes it. Then
    it appears under its name.

    Raises FileExistsError if the file exists, or a file that SQLite would read together with it,
    such as the `-wal` of an earlier database; and other OSErrors.
    """
    for each in (path, *beside(path)):
        if os.path.lexists(each):
            raise FileExistsError(errno.EEXIST, "there is already a file", str(each))
    with _draft(path, PRIVATE) as draft:
        try:
            yield draft
        except BaseException as error:
            for each in beside(draft):
                each.unlink(missing_ok=True)
            if isinstance(error, LogError):  # about the file that its caller knows
                names = str(draft.absolute()), str(path.absolute())
                error.args = tuple(str(each).replace(*names) for each in error.args)
            raise
        with _about(path):
            _sync(draft)
            _publish(draft, path)


def beside(path: Path) -> list[Path]:
    """Return the paths of the files that SQLite adds to a database."""
    return [path.with_name(path.name + end) for end in BESIDE]


def make_private(path: Path) -> None:
    """Remove the permissions of other users on a file of inkube, and log that."""
    if os.name == "nt":
        return  # on this system, permissions are not modes
    try:
        status = path.stat()
    except FileNotFoundError:
        return
    mode = stat.S_IMODE(status.st_mode)
    if not mode & 0o077 or not stat.S_ISREG(status.st_mode):
        return
    try:
        path.chmod(PRIVATE)
    except OSError as error:
        logger.warning("%s may be read by others (%o) and stays so: %s", path, mode, error)
    else:
        logger.warning("%s could be read by others (%o) and is its owner's alone now", path, mode)


def check_regular(path: Path) -> None:
    """Raise OSError for a device, a pipe, a socket or a folder: to open a pipe would wait for
    another process."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))


@contextlib.contextmanager
def _draft(path: Path, mode: int) -> Iterator[Path]:
    """Create an empty file next to a path, and remove it at the end if it still exists. After the
    block, the folder is flushed to the disk."""
    draft = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.draft")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    with _about(path):
        os.close(os.open(draft, flags, mode))
    try:
        yield draft
        _sync_folder(path.parent)
    finally:
        draft.unlink(missing_ok=True)


@contextlib.contextmanager
def _about(path: Path) -> Iterator[None]:
    """Let the errors of a draft name the file that its caller knows."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _fill(draft: Path, data: bytes) -> None:
    with draft.open("r+b") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _publish(draft: Path, path: Path) -> None:
    """Give a draft its name, unless another file has it. Raises FileExistsError."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, "there is already a file", str(path)) from error
        os.replace(draft, path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Flush a folder, so that a new name survives a power cut. Some systems cannot do that."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
