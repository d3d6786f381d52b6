"""What other programs do to a data file: a cleaning job, a backup that is copied back, a bad disk.

None of them asks SQLite first. Nothing in the calling process may have the file open.
"""

import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

PAGE = 4096
FRAME = 24 + PAGE


class Touch(NamedTuple):
    """One change of a file. `keeps`: no commit may be lost. `when_stopped`: done after every
    process was killed, otherwise while they run. `prepare` is called a moment before."""

    do: Callable[[Path, random.Random], None]
    keeps: bool = False
    when_stopped: bool = False
    prepare: Callable[[Path], None] = lambda path: None


def _beside(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


def _back_up(path: Path) -> None:
    with (
        closing(sqlite3.connect(path)) as source,
        closing(sqlite3.connect(_beside(path, ".old"))) as copy,
    ):
        source.backup(copy)


def _without_index(path: Path, _: random.Random) -> None:
    _beside(path, "-shm").unlink(missing_ok=True)


def _without_wal(path: Path, _: random.Random) -> None:
    _beside(path, "-wal").unlink(missing_ok=True)


def _cut_wal(path: Path, chance: random.Random) -> None:
    wal = _beside(path, "-wal")
    os.truncate(wal, 32 + FRAME * chance.randrange(max(1, (wal.stat().st_size - 32) // FRAME // 4)))


def _time_changed(path: Path, _: random.Random) -> None:
    os.utime(path)


def _copied_over(path: Path, _: random.Random) -> None:
    shutil.copyfile(_beside(path, ".old"), path)


def _renamed_over(path: Path, _: random.Random) -> None:
    _beside(path, ".old").replace(path)


def _overwritten(path: Path, chance: random.Random) -> None:
    with path.open("r+b") as file:
        file.seek(PAGE * chance.randrange(max(1, path.stat().st_size // PAGE)))
        file.write(chance.randbytes(PAGE))


def _flipped(path: Path, chance: random.Random) -> None:
    wal = _beside(path, "-wal")
    if not wal.exists() or wal.stat().st_size < 32:
        return
    with wal.open("r+b") as file:
        place = chance.randrange(wal.stat().st_size)
        file.seek(place)
        old = file.read(1)[0]
        file.seek(place)
        file.write(bytes([old ^ chance.randrange(1, 256)]))


ALL: Mapping[str, Touch] = {
    "index_deleted": Touch(_without_index, keeps=True),
    "copied_over": Touch(_copied_over, prepare=_back_up),
    "bit_flipped_in_wal": Touch(_flipped, when_stopped=True),
    "renamed_over": Touch(_renamed_over, prepare=_back_up),
    "page_overwritten": Touch(_overwritten),
    "wal_deleted": Touch(_without_wal),
    "wal_cut": Touch(_cut_wal),
    "time_changed": Touch(_time_changed, keeps=True),
    "index_deleted_when_stopped": Touch(_without_index, keeps=True, when_stopped=True),
}
