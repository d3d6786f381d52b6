"""Every query and change of the log by name, and its SQL in the dialect of a database.

`tables` defines them in SQLAlchemy. Loading SQLAlchemy takes a third of the time and a fifth of the
memory of a start, and each start would compile the same statements. So
`tools/generate_statements.py` compiles those of SQLite once, into `sqlite.json`; `postgresql`
compiles them at the start.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

SCHEMA = 2
"""The version of the schema. Version 1 had no times. The column of digests came later and has no
version of its own: releases that do not know it read and write the table as before."""

COLUMNS = ("revision", "key", "previous", "created", "deleted", "digest", "data", "time")
"""The cells of a new row, in the order in which they are bound."""

# a number above every limit, for queries without one
ALL = 2**62

Row = Sequence[Any]


class Statement(Enum):
    """The statements of `tables`, with the same names."""

    MARK = "MARK"
    SET_MARK = "SET_MARK"
    ADD_MARK = "ADD_MARK"
    HORIZON = "HORIZON"
    NEWEST = "NEWEST"
    HEAD = "HEAD"
    BASE = "BASE"
    DIGEST = "DIGEST"
    FIRST_AFTER = "FIRST_AFTER"
    MISSED = "MISSED"
    ROWS = "ROWS"
    CHANGES = "CHANGES"
    AT = "AT"
    GROWN = "GROWN"
    COUNT = "COUNT"
    FORGET_OUTLIVED = "FORGET_OUTLIVED"
    FORGET_ENDED = "FORGET_ENDED"


class Compiled(NamedTuple):
    """A statement in a database's SQL, and the names of its parameters in order."""

    text: str
    names: Sequence[str]
    constants: Mapping[str, Any]

    def arguments(self, parameters: Mapping[str, Any]) -> list[Any]:
        """Return the parameters by position."""
        constants = self.constants
        return [parameters[name] if name in parameters else constants[name] for name in self.names]


class Statements(NamedTuple):
    """The statements of one database. Parameters are bound by name, cells of new rows by
    position."""

    compiled: Mapping[Statement, Compiled]
    definitions: Sequence[str]
    """The statements that create missing tables and indexes."""
    appending: str
    """The statement that adds one row to the log."""
    place: str = ""
    """The schema that contains the tables, if the database has schemas."""

    def insertion(self, rows: int) -> str:
        """Return one statement that adds `rows` rows to the log."""
        row = self.appending.partition(" VALUES ")[2]
        return self.appending + f", {row}" * (rows - 1)

    def upgrades(self, schema: int) -> Iterator[str]:
        """Yield the statements that upgrade the tables of an older schema to this one."""
        name = f"{self.place}.log" if self.place else "log"
        if schema < 2:
            yield f"ALTER TABLE {name} ADD COLUMN time BIGINT DEFAULT 0 NOT NULL"

    @property
    def adding_digests(self) -> str:
        """The statement that adds the column of digests to a table without one."""
        name = f"{self.place}.log" if self.place else "log"
        return f"ALTER TABLE {name} ADD COLUMN digest BIGINT DEFAULT 0 NOT NULL"


def sqlite() -> Statements:
    """Return the statements of SQLite."""
    compiled_file = json.loads(Path(__file__).with_name("sqlite.json").read_text())
    compiled = {
        Statement(name): Compiled(text, tuple(names), constants)
        for name, (text, names, constants) in compiled_file["compiled"].items()
    }
    return Statements(compiled, compiled_file["definitions"], compiled_file["appending"])
