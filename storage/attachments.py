"""Texts beside the log in a data file, such as the logs of pods that came with a dump.

    attachment   name, part (primary key) · lines · data

A text is stored in compressed parts that end with a line, so that its end can be read without its
beginning. No log, watch or cache contains them: they take no memory while a file is served. Methods
block, and can run in any thread.
"""

import contextlib
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

PART = 256 * 1024
"""The size of a part in bytes, before compression. A line without an end is cut there."""
_WAIT = 10.0
"""Seconds to wait for another process that writes to the file."""
_TABLE = """
CREATE TABLE IF NOT EXISTS attachment (
    name TEXT NOT NULL, part INTEGER NOT NULL, lines INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (name, part)
)
"""


class Part(NamedTuple):
    """A part of a text: its number from 0, and its number of lines."""

    number: int
    lines: int


class Attachments:
    """The texts in a data file, which must exist. Every method can raise sqlite3.Error."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, name: str, pieces: Iterable[bytes]) -> None:
        """Store a text, or replace it."""
        with self._connection() as connection:
            connection.execute(_TABLE)
            connection.execute("DELETE FROM attachment WHERE name = ?", (name,))
            for number, part in enumerate(_parts(pieces)):
                row = (name, number, part.count(b"\n"), zlib.compress(part))
                connection.execute("INSERT INTO attachment VALUES (?, ?, ?, ?)", row)

    def names(self, prefix: str) -> list[str]:
        """Return the names that begin with a prefix, in their order."""
        query = "SELECT DISTINCT name FROM attachment WHERE name >= ? AND name < ? ORDER BY name"
        return [row[0] for row in self._rows(query, (prefix, prefix + "\U0010ffff"))]

    def parts(self, name: str) -> list[Part]:
        """Return the parts of a text: none if it does not exist."""
        query = "SELECT part, lines FROM attachment WHERE name = ? ORDER BY part"
        return [Part(*row) for row in self._rows(query, (name,))]

    def read(self, name: str, number: int) -> bytes:
        """Return a part of a text: b"" if it does not exist."""
        query = "SELECT data FROM attachment WHERE name = ? AND part = ?"
        rows = self._rows(query, (name, number))
        return zlib.decompress(rows[0][0]) if rows else b""

    def copy(self, target: "Attachments") -> None:
        """Copy every text to another file."""
        for name in self.names(""):
            pieces = (self.read(name, part.number) for part in self.parts(name))
            target.write(name, pieces)

    def _rows(self, query: str, values: tuple[object, ...]) -> list[Any]:
        with self._connection() as connection:
            found = connection.execute(
                "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'attachment'"
            ).fetchall()
            return connection.execute(query, values).fetchall() if found else []

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Connect to the file. The end of the block commits, an exception rolls back."""
        connection = sqlite3.connect(self._uri(), timeout=_WAIT, uri=True)
        with contextlib.closing(connection), connection:
            yield connection

    def _uri(self) -> str:
        """Return the name of the file for SQLite. One that this user cannot write is read as it is,
        because SQLite could not add a `-shm` to it (`readable`)."""
        path = self._path.absolute()
        is_writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
        return f"{path.as_uri()}?{'mode=rw' if is_writable else 'mode=ro&immutable=1'}"


def _parts(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the same bytes in parts of about PART, which end with a line if they can, and one part
    for an empty text."""
    waiting, is_empty = b"", True
    for piece in pieces:
        waiting += piece
        while len(waiting) >= PART:
            end = waiting.rfind(b"\n", 0, PART) + 1 or PART
            yield waiting[:end]
            waiting, is_empty = waiting[end:], False
    if waiting or is_empty:
        yield waiting
