"""Looking at a data file without serving it, and dropping from it what is damaged.

Works on SQLite directly: what a log cannot open is what this is for. Used by `inkube check` and
`inkube repair`.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from inkube.storage import files

Sound = Callable[[bytes, int], bool]
_ROWS = "SELECT revision, key, data FROM log ORDER BY revision"
_NEWEST = "SELECT max(revision) FROM log GROUP BY key"


class Finding(NamedTuple):
    """One damaged row; `newest` says whether it is what would be read now."""

    revision: int
    key: str
    newest: bool

    def __str__(self) -> str:
        return f"{self.key} at revision {self.revision}" + ("" if self.newest else " (the past)")


def structure(path: Path) -> list[str]:
    """What is wrong with the file itself, as SQLite tells it. Raises sqlite3.Error or OSError."""
    with closing(_open(path, "ro")) as connection:
        found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
    return [] if found == ["ok"] else found


def rows(path: Path, is_sound: Sound) -> list[Finding]:
    """The damaged rows. Raises sqlite3.Error or OSError."""
    with closing(_open(path, "ro")) as connection:
        newest = {revision for (revision,) in connection.execute(_NEWEST)}
        return list(_damaged(connection, newest, is_sound))


def copy(path: Path, target: Path) -> None:
    """Copy the file as it is, with what its `-wal` holds, through SQLite: to open and close it
    beside SQLite would drop the locks of this process (see `files.create`).

    Raises sqlite3.Error or OSError.
    """
    files.create(target)
    with closing(_open(path, "ro")) as source, closing(_open(target, "rw")) as made:
        source.backup(made)


def drop(path: Path, is_sound: Sound) -> list[Finding]:
    """Delete the damaged rows: of each key what was sound last is what is read from now on.

    Raises sqlite3.Error or OSError; then nothing has changed.
    """
    with closing(_open(path, "rw")) as connection:
        connection.execute("BEGIN IMMEDIATE")
        newest = {revision for (revision,) in connection.execute(_NEWEST)}
        found = list(_damaged(connection, newest, is_sound))
        connection.executemany(
            "DELETE FROM log WHERE revision = ?", [(each.revision,) for each in found]
        )
        connection.execute("COMMIT")
    return found


def _damaged(
    connection: sqlite3.Connection, newest: set[int], is_sound: Sound
) -> Iterator[Finding]:
    for revision, key, data in connection.execute(_ROWS):
        if not isinstance(data, bytes) or not is_sound(data, revision):
            yield Finding(revision, str(key), revision in newest)


def _open(path: Path, mode: str) -> sqlite3.Connection:
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=5)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return connection
