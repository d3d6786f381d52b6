"""Checking a data file without serving it, also while servers use it.

A row is damaged if it is not the row that was written: its digest differs, or it cannot be decoded.
A log is damaged if it contradicts itself: two processes wrote to the file without coordination, or
confirmed writes were lost. Used by `repair`, and by a server whose file was changed by nobody it
knows.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from inkube.storage import wholefiles
from inkube.storage.log import FIRST_REVISION, Record, digest

Sound = Callable[[bytes, int], bool]
CELLS = ", ".join(Record._fields)
MARK = "SELECT value FROM meta WHERE name = ?"
LAST = "SELECT max(revision) FROM log"
LAST_MARK = "SELECT max(value) FROM meta WHERE name IN ('compacted', 'epoch')"
KEPT = "SELECT count(*) FROM log WHERE revision <= ?"
_ROWS = f"SELECT {CELLS}, digest FROM log ORDER BY revision"  # noqa: S608 # names of our own
_ROWS_WITHOUT = f"SELECT {CELLS}, 0 FROM log ORDER BY revision"  # noqa: S608
_DIGESTS = "SELECT count(*) FROM pragma_table_info('log') WHERE name = 'digest'"
_NEWEST = "SELECT max(revision) FROM log GROUP BY key"
_STEPS = "SELECT revision, key, previous, deleted FROM log ORDER BY revision"
_EPOCHS = "SELECT value FROM meta WHERE name LIKE 'epoch%'"


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
            if not is_whole(cells, is_sound)
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
        return list(contradictions(connection))


def changed(path: Path, revision: int) -> str:
    """Return how the content of a file differs from that of a log up to a revision, which servers
    wrote, or "". Raises sqlite3.Error or OSError."""
    damaged = [*structure(path), *breaks(path), *rows(path, lambda data, revision: True)]
    if damaged:
        return str(damaged[0])
    return end(path, revision)


def end(path: Path, revision: int) -> str:
    """Return that a log ends before a revision, or "". Raises sqlite3.Error or OSError."""
    with closing(_open(path)) as connection:
        newest = max(first(connection, query) or 0 for query in (LAST, LAST_MARK))
    return "" if newest >= revision else f"it ends at revision {newest}, and {revision} was there"


def is_whole(cells: Any, is_sound: Sound) -> bool:
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


def contradictions(connection: sqlite3.Connection) -> Iterator[Break]:
    """Yield the contradictions in the log of a database. Raises sqlite3.Error."""
    compacted = first(connection, MARK, "compacted") or FIRST_REVISION
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
    if first(connection, MARK, "boundary") == compacted:
        kept, found = (first(connection, MARK, "kept"), first(connection, KEPT, compacted))
        if kept is not None and kept != found:
            yield Break(compacted, f"{found} objects are there of {kept} that the compaction up to "
                        f"revision {compacted} left")  # fmt: skip


def first(connection: sqlite3.Connection, query: str, *parameters: object) -> int | None:
    """Return the first value of a query, or None without a row. Raises sqlite3.Error."""
    row = connection.execute(query, parameters).fetchone()
    return None if row is None else row[0]


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
