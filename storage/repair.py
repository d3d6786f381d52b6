"""Checking a data file without serving it, and making a sound one of what can be read.

A row is damaged if it is not the row that was written: its digest differs, or it cannot be decoded.
A log is damaged if it contradicts itself: two processes wrote to the file without coordination, or
confirmed writes were lost. This module reads files that a log cannot open. Used by `inkube check`
and `inkube repair`.
"""

import contextlib
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from inkube.storage import alarms, files, pages, wal, wholefiles
from inkube.storage.errors import Unavailable
from inkube.storage.log import EPOCH, FIRST_REVISION, Record, digest
from inkube.storage.sql import statements
from inkube.storage.sql.sqlite import APPLICATION_ID

if sys.platform != "win32":
    import fcntl

Sound = Callable[[bytes, int], bool]
_CELLS = ", ".join(Record._fields)
_ROWS = f"SELECT {_CELLS}, digest FROM log ORDER BY revision"  # noqa: S608 # names of our own
_ROWS_WITHOUT = f"SELECT {_CELLS}, 0 FROM log ORDER BY revision"  # noqa: S608
_DIGESTS = "SELECT count(*) FROM pragma_table_info('log') WHERE name = 'digest'"
_NEWEST = "SELECT max(revision) FROM log GROUP BY key"
_STEPS = "SELECT revision, key, previous, deleted FROM log ORDER BY revision"
_MARK = "SELECT value FROM meta WHERE name = ?"
_LAST = "SELECT max(revision) FROM log"
_LAST_MARK = "SELECT max(value) FROM meta WHERE name IN ('compacted', 'epoch')"
_EPOCHS = "SELECT value FROM meta WHERE name LIKE 'epoch%'"
_KEPT = "SELECT count(*) FROM log WHERE revision <= ?"
_FORGET = """
DELETE FROM log WHERE revision <= :until AND (
    deleted OR EXISTS (SELECT 1 FROM log AS later WHERE later.key = log.key
                       AND (later.revision, later.rowid) > (log.revision, log.rowid)
                       AND later.revision <= :until))
"""


class Finding(NamedTuple):
    """One damaged row. `newest` is true if a read would return this row now."""

    revision: int
    key: str
    newest: bool

    def __str__(self) -> str:
        return f"{self.key} at revision {self.revision}" + ("" if self.newest else " (the past)")


class Break(NamedTuple):
    """A contradiction in the log: confirmed writes were lost or replaced. The rows after `until`
    are consistent again."""

    until: int
    text: str

    def __str__(self) -> str:
        return f"the log: {self.text}"


def problems(path: Path, is_sound: Sound) -> list[str]:
    """Return everything that is wrong with a file, each as a line. Raises sqlite3.Error or OSError.

    A damaged `-wal` is all that is reported: to look further, SQLite would open it, and write a
    `-shm` that no longer counts the commits that are lost.
    """
    alarm = alarms.read(path)
    noticed = [f"the file: {alarm}"] if alarm is not None and alarm.damage else []
    if damage := wal.damage(path):
        return [*noticed, f"the file: {damage}"]
    try:
        found = noticed + [f"the file: {text}" for text in structure(path)]
        return found + [str(each) for each in (*breaks(path), *rows(path, is_sound))]
    except sqlite3.Error as error:
        if not noticed:
            raise
        return [*noticed, f"the file: {error}"]


def notice(path: Path) -> str:
    """Return what a server noticed about a file that is not damaged: that it was replaced, or "".
    Raises OSError."""
    alarm = alarms.read(path)
    return "" if alarm is None or alarm.damage else str(alarm)


def structure(path: Path) -> list[str]:
    """Return the problems of the file itself, as SQLite reports them. Raises sqlite3.Error or
    OSError."""
    with closing(_open(path)) as connection:
        found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
    return [] if found == ["ok"] else found


def rows(path: Path, is_sound: Sound) -> list[Finding]:
    """Return the damaged rows. Raises sqlite3.Error or OSError."""
    with closing(_open(path)) as connection:
        newest = {revision for (revision,) in connection.execute(_NEWEST)}
        ((digests,),) = connection.execute(_DIGESTS)
        return [
            Finding(cells[0], str(cells[1]), cells[0] in newest)
            for cells in connection.execute(_ROWS if digests else _ROWS_WITHOUT)
            if not _is_whole(cells, is_sound)
        ]


def breaks(path: Path) -> list[Break]:
    """Return the contradictions in the log. Raises sqlite3.Error or OSError.

    After the compacted revision, the log contains every revision, and each row names the one that
    it replaces. Before it, there is one row for each existing object, as many as the last
    compaction left. Writes that were lost at the end of the log, and writes that replaced them,
    cause no contradiction and cannot be found.
    """
    with closing(_open(path)) as connection:
        connection.execute("BEGIN")  # read at one revision, while servers can write
        return list(_breaks(connection))


class Repaired(NamedTuple):
    """The rows that were found and not kept, the revision up to which history was removed (0:
    none), the number of rows that were kept, and the copy of the file as it was."""

    dropped: list[Finding]
    forgotten: int
    kept: int
    copy: Path


def repair(path: Path, is_sound: Sound) -> Repaired:
    """Replace a file by one with every row that can be read, so that each key has its last
    undamaged state. History up to the last contradiction or missing row is compacted, so that no
    client reads a wrong history. The log begins an epoch, so that no revision is used twice and no
    client continues from one that is lost. The file as it was stays, with its `-wal`, under a name
    that no earlier repair has used. The alarm of the file is cleared.

    Raises Unavailable if a server uses the file, sqlite3.Error or OSError; then nothing has
    changed.
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
            copy = _replace(path, made)
            alarms.clear(path)
        finally:
            made.unlink(missing_ok=True)
    return Repaired(dropped, until, kept, copy)


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


def _fill(connection: sqlite3.Connection, source: pages.Pages, is_sound: Sound) -> list[Finding]:
    """Add the rows that are whole, and return the others. A row that is read twice never differs,
    except for its digest."""
    insert = (
        f"INSERT OR REPLACE INTO log ({_CELLS}, digest) "  # noqa: S608
        f"VALUES ({', '.join('?' * (len(Record._fields) + 1))})"
    )
    damaged: dict[int, str] = {}
    for row in source.rows():
        if isinstance(row, pages.Mark):
            _set_mark(connection, row.name, row.value)
        elif _is_whole((*row.record, row.digest), is_sound):
            connection.execute(insert, (*row.record, row.digest))
        else:
            damaged[row.record.revision] = row.record.key
    whole = "SELECT count(*) FROM log WHERE revision = ?"
    later = "SELECT count(*) FROM log WHERE key = ? AND revision > ?"
    return [
        Finding(revision, key, not _first(connection, later, key, revision))
        for revision, key in sorted(damaged.items())
        if not _first(connection, whole, revision)
    ]


def _settle(connection: sqlite3.Connection, dropped: list[Finding], told: int) -> int:
    """Compact what contradicts itself, begin an epoch, also above the revision `told` of an alarm,
    and return the revision up to which the log was compacted (0: no history was removed)."""
    compacted = _first(connection, _MARK, "compacted") or FIRST_REVISION
    _set_mark(connection, "compacted", compacted)
    ends = [each.until for each in _breaks(connection)] + [each.revision for each in dropped]
    until = max(compacted, *ends) if ends else 0
    if until:
        connection.execute(_FORGET, {"until": until})
        _set_mark(connection, "compacted", until)
        _set_mark(connection, "boundary", until)
        _set_mark(connection, "boundary_digest", 0)
        _set_mark(connection, "kept", _first(connection, _KEPT, until) or 0)
    known = max(_first(connection, query) or 0 for query in (_LAST, _LAST_MARK))
    epoch = max(known, until, told) + EPOCH
    for name in ("epoch", f"epoch-{epoch}"):
        _set_mark(connection, name, epoch)
    connection.execute("COMMIT")
    return until


def _replace(path: Path, made: Path) -> Path:
    """Put the new file in the place of the old one, and return the path at which the old one is."""
    with made.open("rb") as file:
        os.fsync(file.fileno())
    number = 1
    while True:
        copy = path.with_name(f"{path.name}.before-repair{f'-{number}' if number > 1 else ''}")
        number += 1
        with contextlib.suppress(FileExistsError):
            os.link(path, copy)
            break
    old = path.with_name(f"{path.name}-wal")
    if old.exists():
        # a copy, so that the file has its -wal until the new one takes its place
        copied = copy.with_name(f"{copy.name}-wal")
        wholefiles.create(copied, old.read_bytes(), mode=wholefiles.PRIVATE)
    old.unlink(missing_ok=True)
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    made.replace(path)
    return copy


def _is_whole(cells: Any, is_sound: Sound) -> bool:
    """Return whether a row is the one that was written; `cells` are those of a Record, and the
    digest."""
    *row, stored = cells
    record = Record._make(row)
    if not isinstance(record.data, bytes) or not is_sound(record.data, record.revision):
        return False
    try:
        return not stored or digest(record) == stored
    except (TypeError, ValueError):  # cells of other types
        return False


def _breaks(connection: sqlite3.Connection) -> Iterator[Break]:
    compacted = _first(connection, _MARK, "compacted") or FIRST_REVISION
    epochs = {value for (value,) in connection.execute(_EPOCHS)}
    living: dict[str, int] = {}
    last = compacted
    for revision, key, previous, deleted in connection.execute(_STEPS):
        state = living.get(key, 0)
        if revision <= compacted:
            if state or deleted:
                yield Break(compacted, f"{key} at revision {state or revision} was outlived before "
                            f"revision {compacted}, and is there")  # fmt: skip
        else:
            # an epoch leaves out the revisions before it
            if revision > last + 1 and revision - 1 not in epochs:
                yield Break(revision - 1, _missing(last + 1, revision - 1))
            if revision <= last:
                yield Break(last, f"revision {revision} comes after revision {last}")
            if previous != state or (deleted and not state):
                yield Break(revision, f"{key} at revision {revision} replaces "
                            f"{_named(previous)}, and the log has {_named(state)}")  # fmt: skip
            last = max(last, revision)
        if deleted:
            living.pop(key, None)
        else:
            living[key] = revision
    if _first(connection, _MARK, "boundary") == compacted:
        kept, found = _first(connection, _MARK, "kept"), _first(connection, _KEPT, compacted)
        if kept is not None and kept != found:
            yield Break(compacted, f"{found} objects are there of {kept} that the compaction up to "
                        f"revision {compacted} left")  # fmt: skip


def _first(connection: sqlite3.Connection, query: str, *parameters: object) -> int | None:
    row = connection.execute(query, parameters).fetchone()
    return None if row is None else row[0]


def _set_mark(connection: sqlite3.Connection, name: str, value: int) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))


def _missing(first: int, last: int) -> str:
    return (
        f"revision {first} is missing"
        if first == last
        else (f"revisions {first} to {last} are missing")
    )


def _named(revision: int) -> str:
    return f"revision {revision}" if revision else "none"


def _open(path: Path) -> sqlite3.Connection:
    """Open a file to read it only. Raises FileNotFoundError."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    wholefiles.check_regular(path)
    uri = f"{path.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=5)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return connection
