"""SQLite's statements are in a file, and equal those that SQLAlchemy generates from the tables."""

import subprocess
import sys
from pathlib import Path

import pytest
from patience import SECONDS
from sqlalchemy.dialects.sqlite.aiosqlite import SQLiteDialect_aiosqlite

from inkube.storage.sql import statements, tables

PROGRAM = """
import asyncio, sys
from inkube.storage.sql.sqlite import sqlite_log

async def main():
    log = sqlite_log(sys.argv[1])
    await log.open()
    await log.horizon()
    await log.close()

asyncio.run(main())
print("sqlalchemy" in sys.modules)
"""


def test_statements_for_sqlite_match_the_tables() -> None:
    assert statements.sqlite() == tables.compiled(SQLiteDialect_aiosqlite())


@pytest.mark.parametrize("rows", [1, 2, 128])
def test_statements_for_many_rows_match_the_tables(rows: int) -> None:
    wanted = tables.insertion(rows).compile(dialect=SQLiteDialect_aiosqlite())
    assert statements.sqlite().insertion(rows) == str(wanted)


def test_a_log_in_a_file_is_opened_without_sqlalchemy(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "it.db")],
        capture_output=True, text=True, check=True, timeout=SECONDS,
    )  # fmt: skip
    assert done.stdout == "False\n"
