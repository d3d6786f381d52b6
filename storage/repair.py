"""Checking a data file without serving it, and removing damaged rows.

A row is damaged if it cannot be decoded. A log is damaged if it contradicts itself: two processes
wrote to the file without coordination, and confirmed writes were lost. This module uses SQLite
directly, because it must also work on files that a log cannot open. Used by `inkube check` and
`inkube repair`.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from inkube.storage import files, wholefiles
from inkube.storage.log import FIRST_REVISION

Sound = Callable[[bytes, int], bool]
_ROWS = "SELECT revision, key, data FROM log ORDER BY revision"
_NEWEST = "SELECT max(revision) FROM log GROUP BY key"
_STEPS = "SELECT revision, key, previous, deleted FROM log ORDER BY revision"
_COMPACTED = "SELECT value FROM meta WHERE name = 'compacted'"
_COMPACT = "UPDATE meta SET value = ? WHERE name = 'compacted'"
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


def structure(path: Path) -> list[str]:
    """Return the problems of the file itself, as SQLite reports them. Raises sqlite3.Error or
    OSError."""
    with closing(_open(path, "ro")) as connection:
        problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
    return [] if problems == ["ok"] else problems


def rows(path: Path, is_sound: Sound) -> list[Finding]:
    """Return the damaged rows. Raises sqlite3.Error or OSError."""
    with closing(_open(path, "ro")) as connection:
        newest = {revision for (revision,) in connection.execute(_NEWEST)}
        return list(_damaged(connection, newest, is_sound))


def breaks(path: Path) -> list[Break]:
    """Return the contradictions in the log. Raises sqlite3.Error or OSError.

    After the compacted revision, the log contains every revision, and each row names the one that
    it replaces. Before it, there is one row for each existing object. Writes that were lost at the
    end of the log, and writes that replaced them, cause no contradiction and cannot be found.
    """
    with closing(_open(path, "ro")) as connection:
        connection.execute("BEGIN")  # read at one revision, while servers can write
        return list(_breaks(connection))


def copy(path: Path, target: Path) -> None:
    """Copy the file, including the contents of its `-wal`, with SQLite. Opening and closing it
    without SQLite would drop the locks of this process (see `files.create`).

    Raises sqlite3.Error or OSError.
    """
    wholefiles.check_regular(path)
    files.create(target)
    with closing(_open(path, "ro")) as source, closing(_open(target, "rw")) as destination:
        source.backup(destination)


class Repaired(NamedTuple):
    """The removed rows, and the revision up to which history was removed (0: none)."""

    dropped: list[Finding]
    forgotten: int


def repair(path: Path, is_sound: Sound) -> Repaired:
    """Delete the damaged rows, so that each key has its last undamaged state. History up to the
    last contradiction or missing row is compacted, so that no client reads a wrong history and no
    revision is used twice.

    Raises sqlite3.Error or OSError; then nothing has changed.
    """
    with closing(_open(path, "rw")) as connection:
        connection.execute("BEGIN IMMEDIATE")
        newest = {revision for (revision,) in connection.execute(_NEWEST)}
        dropped = list(_damaged(connection, newest, is_sound))
        connection.executemany(
            "DELETE FROM log WHERE revision = ?", [(each.revision,) for each in dropped]
        )
        ends = [each.until for each in _breaks(connection)] + [each.revision for each in dropped]
        compacted = _compacted(connection)
        if until := max(ends, default=0):
            until = max(until, compacted)
            connection.execute(_FORGET, {"until": until})
            connection.execute(_COMPACT, (until,))
        connection.execute("COMMIT")
    return Repaired(dropped, until)


def _breaks(connection: sqlite3.Connection) -> Iterator[Break]:
    compacted = _compacted(connection)
    living: dict[str, int] = {}
    last = compacted
    for revision, key, previous, deleted in connection.execute(_STEPS):
        state = living.get(key, 0)
        if revision <= compacted:
            if state or deleted:
                yield Break(compacted, f"{key} at revision {state or revision} was outlived before "
                            f"revision {compacted}, and is there")  # fmt: skip
        else:
            if revision > last + 1:
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


def _compacted(connection: sqlite3.Connection) -> int:
    row = connection.execute(_COMPACTED).fetchone()
    return int(row[0]) if row else FIRST_REVISION


def _missing(first: int, last: int) -> str:
    return (
        f"revision {first} is missing"
        if first == last
        else (f"revisions {first} to {last} are missing")
    )


def _named(revision: int) -> str:
    return f"revision {revision}" if revision else "none"


def _damaged(
    connection: sqlite3.Connection, newest: set[int], is_sound: Sound
) -> Iterator[Finding]:
    for revision, key, data in connection.execute(_ROWS):
        if not isinstance(data, bytes) or not is_sound(data, revision):
            yield Finding(revision, str(key), revision in newest)


def _open(path: Path, mode: str) -> sqlite3.Connection:
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    wholefiles.check_regular(path)
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=5)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return connection
