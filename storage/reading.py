"""Data files that are only read: a snapshot, a capture, a dump, the past of a server.

To read them takes no more than the right to read. SQLite also writes a `-shm` beside a file that it
reads, so a file that this user cannot write is read from a copy: for example the file of another
user, or one in the image of a container.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from inkube.storage import alarms, wholefiles
from inkube.storage.errors import NotOurs, Unavailable

TIMES = 3
"""How often a file is copied that its server writes meanwhile."""


@contextlib.contextmanager
def readable(path: Path) -> Iterator[Path]:
    """Yield the path at which SQLite can open a data file in the block: its own, or that of a copy.

    Raises NotOurs for an empty file, which opening would make a data file, Unavailable if its
    server writes it all the time, and OSError.
    """
    wholefiles.check_regular(path)
    if path.stat().st_size == 0 and not any(each.exists() for each in wholefiles.beside(path)):
        raise NotOurs(f"{path} is empty: it contains no data")
    if is_writable(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="inkube-read-") as folder:
        yield _copied(path, Path(folder))


def is_writable(path: Path) -> bool:
    """Return whether this user can write a file, and create files beside it."""
    return os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK)


def _copied(path: Path, folder: Path) -> Path:
    """Copy a file with what belongs to it, without its `-shm`, which SQLite makes from the
    `-wal`."""
    target = folder / path.name
    parts = {path: target, path.with_name(f"{path.name}-wal"): folder / f"{path.name}-wal"}
    parts[alarms.path(path)] = alarms.path(target)
    for _ in range(TIMES):
        before = [_state(each) for each in parts]
        for source, copy in parts.items():
            copy.unlink(missing_ok=True)
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(source, copy)
                copy.chmod(wholefiles.PRIVATE)
        if before == [_state(each) for each in parts]:
            return target
    raise Unavailable(f"{path} is written all the time, and may only be read: stop its server")


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
