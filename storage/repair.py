"""Checking a data file without serving it, and making a sound one of what can be read.

`soundness` says what is damaged. This module reads files that a log cannot open. Used by `inkube
check` and `inkube repair`.
"""

import contextlib
import itertools
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from inkube.storage import alarms, files, pages, soundness, wal, wholefiles
from inkube.storage.errors import Unavailable
from inkube.storage.log import EPOCH, FIRST_REVISION, Record
from inkube.storage.sql import statements
from inkube.storage.sql.sqlite import APPLICATION_ID

if sys.platform != "win32":
    import fcntl

_MAGIC = b"SQLite format 3\0"
_FORGET = """
DELETE FROM log WHERE revision <= :until AND (
    deleted OR EXISTS (SELECT 1 FROM log AS later WHERE later.key = log.key
                       AND (later.revision, later.rowid) > (log.revision, log.rowid)
                       AND later.revision <= :until))
"""


def problems(path: Path, is_sound: soundness.Sound) -> list[str]:
    """Return everything that is wrong with a file, each as a line. Raises sqlite3.Error or OSError.

    A damaged `-wal` is all that is reported: to look further, SQLite would open it, and write a
    `-shm` that no longer counts the commits that are lost.
    """
    alarm = alarms.read(path)
    is_unchecked = alarm is not None and alarm.damage == files.UNCHECKED
    noticed = [f"the file: {alarm}"] if alarm and alarm.damage and not is_unchecked else []
    if damage := wal.damage(path):
        return [*noticed, f"the file: {damage}"]
    try:
        found = noticed + [f"the file: {text}" for text in soundness.structure(path)]
        if alarm is not None and is_unchecked and (text := soundness.end(path, alarm.revision)):
            found.append(f"the log: {text}")
        return found + [
            str(each) for each in (*soundness.breaks(path), *soundness.rows(path, is_sound))
        ]
    except sqlite3.Error as error:
        if not noticed:
            raise
        return [*noticed, f"the file: {error}"]


def notice(path: Path) -> str:
    """Return what a server noticed about a file that is not damaged: that it was replaced, or "".
    Raises OSError."""
    alarm = alarms.read(path)
    return "" if alarm is None or alarm.damage else str(alarm)


class Repaired(NamedTuple):
    """The rows that were found and not kept, the revision up to which history was removed (0:
    none), the number of rows that were kept, the copy of the file as it was, and what is wrong with
    the new one nevertheless."""

    dropped: list[soundness.Finding]
    forgotten: int
    kept: int
    copy: Path
    left: list[str]


def repair(path: Path, is_sound: soundness.Sound) -> Repaired:
    """Replace a file by one with every row that can be read, so that each key has its last
    undamaged state. History up to the last contradiction or missing row is compacted, so that no
    client reads a wrong history. The log begins an epoch, so that no revision is used twice and no
    client continues from one that is lost. The file as it was stays, with its `-wal`, under a name
    that no earlier repair has used. The alarm of the file is cleared.

    Raises Unavailable if a server uses the file, sqlite3.Error or OSError, also for a file that is
    no database; then nothing has changed.
    """
    if files.uses_index(path):
        raise Unavailable(f"{path} is in use: stop every server of it")
    wholefiles.check_regular(path)
    made = path.with_name(f"{path.name}.repairing")
    with path.open("r+b") as file:
        _lock(path, file)
        contents = wal.read(path)
        made.unlink(missing_ok=True)
        files.create(made)
        try:
            with closing(sqlite3.connect(made, isolation_level=None)) as connection:
                _create(connection)
                dropped = _fill(connection, pages.Pages(path, file, contents), is_sound)
                alarm = alarms.read(path)
                until = _settle(connection, dropped, 0 if alarm is None else alarm.revision)
                ((kept,),) = connection.execute("SELECT count(*) FROM log")
            if alarm is None and not kept and not dropped and _is_of_others(file):
                raise sqlite3.DatabaseError("it contains no row of a log, and is no database")
            copy = _replace(path, made)
            alarms.clear(path)
        finally:
            made.unlink(missing_ok=True)
    return Repaired(dropped, until, kept, copy, soundness.structure(path))


def _is_of_others(file: BinaryIO) -> bool:
    """Return whether a file has contents that do not begin as each SQLite database."""
    file.seek(0)
    return file.read(len(_MAGIC)) not in (b"", _MAGIC)


def _lock(path: Path, file: Any) -> None:
    """Lock the file as SQLite does for a process that needs it for itself. Raises Unavailable."""
    if sys.platform == "win32":
        return  # an open file cannot be replaced on this system
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
    except OSError as error:
        raise Unavailable(f"{path} is in use: stop every server of it") from error


def _create(connection: sqlite3.Connection) -> None:
    for definition in statements.sqlite().definitions:
        connection.execute(definition)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("BEGIN")
    connection.execute("INSERT INTO meta VALUES ('schema', ?)", (statements.SCHEMA,))


def _fill(
    connection: sqlite3.Connection, source: pages.Pages, is_sound: soundness.Sound
) -> list[soundness.Finding]:
    """Add the rows that are whole, and return the others. A row that is read twice never differs,
    except for its digest."""
    insert = (
        f"INSERT OR REPLACE INTO log ({soundness.CELLS}, digest) "  # noqa: S608
        f"VALUES ({', '.join('?' * (len(Record._fields) + 1))})"
    )
    damaged: dict[int, str] = {}
    for row in source.rows():
        if isinstance(row, pages.Mark):
            _set_mark(connection, row.name, row.value)
        elif soundness.is_whole((*row.record, row.digest), is_sound):
            connection.execute(insert, (*row.record, row.digest))
        else:
            damaged[row.record.revision] = row.record.key
    whole = "SELECT count(*) FROM log WHERE revision = ?"
    later = "SELECT count(*) FROM log WHERE key = ? AND revision > ?"
    return [
        soundness.Finding(revision, key, not soundness.first(connection, later, key, revision))
        for revision, key in sorted(damaged.items())
        if not soundness.first(connection, whole, revision)
    ]


def _settle(
    connection: sqlite3.Connection, dropped: list[soundness.Finding], alarm_revision: int
) -> int:
    """Compact what contradicts itself, begin an epoch, also above the revision of an alarm, and
    return the revision up to which the log was compacted (0: no history was removed)."""
    compacted = soundness.first(connection, soundness.MARK, "compacted") or FIRST_REVISION
    _set_mark(connection, "compacted", compacted)
    ends = [each.until for each in soundness.contradictions(connection)] + [
        each.revision for each in dropped
    ]
    until = max(compacted, *ends) if ends else 0
    if until:
        connection.execute(_FORGET, {"until": until})
        _set_mark(connection, "compacted", until)
        _set_mark(connection, "boundary", until)
        _set_mark(connection, "boundary_digest", 0)
        _set_mark(connection, "kept", soundness.first(connection, soundness.KEPT, until) or 0)
    known = max(
        soundness.first(connection, query) or 0 for query in (soundness.LAST, soundness.LAST_MARK)
    )
    epoch = max(known, until, alarm_revision) + EPOCH
    for name in ("epoch", f"epoch-{epoch}"):
        _set_mark(connection, name, epoch)
    connection.execute("COMMIT")
    return until


def _replace(path: Path, repaired: Path) -> Path:
    """Put the new file in the place of the old one, and return the path at which the old one is."""
    with repaired.open("rb") as file:
        os.fsync(file.fileno())
    old = path.with_name(f"{path.name}-wal")
    for number in itertools.count(1):
        copy = path.with_name(f"{path.name}.before-repair{f'-{number}' if number > 1 else ''}")
        with contextlib.suppress(FileExistsError):
            _link(path, copy, old, copy.with_name(f"{copy.name}-wal"))
            break
    old.unlink(missing_ok=True)
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    repaired.replace(path)
    return copy


def _link(path: Path, copy: Path, old: Path, copied: Path) -> None:
    """Give a file and its -wal a second name, which takes no room, or raise OSError."""
    os.link(path, copy)
    if old.exists():
        try:
            os.link(old, copied)
        except OSError:
            copy.unlink()
            raise


def _set_mark(connection: sqlite3.Connection, name: str, value: int) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
