"""What is SQLite's own about the SQL log: the connection, its pragmas, its locks, its errors.

A file is in WAL mode and may be shared by several processes. The write lock is BEGIN IMMEDIATE.
Statements are SQLAlchemy's, but go to aiosqlite directly: a group of writes then takes four trips
to the driver's thread in place of thirteen, and a sequential write half the time.
"""

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import aiosqlite
import sqlalchemy as sa
from sqlalchemy.dialects.sqlite.aiosqlite import SQLiteDialect_aiosqlite
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool
from sqlalchemy.sql.compiler import SQLCompiler

from inkube.storage import files
from inkube.storage.errors import Locked, LogError, NotOurs, Unavailable
from inkube.storage.log import Record
from inkube.storage.sql import Query, Row, SqlLog, log

# "inku" in the file's header, so that the database of something else is never written to.
APPLICATION_ID = 0x696E6B75

# A log of one transaction larger than this is cut back after its checkpoint.
WAL_BYTES = 16 * 2**20

WAL_RETRY = 0.01

# Rows of one INSERT. The driver's thread asks for the interpreter after each statement, not each
# row, and does not fight over it with the loop's; its cache holds as many statements.
ROWS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteOptions:
    """`synchronous` FULL survives power cuts, NORMAL only the end of the process.

    `lock_timeout` is how many seconds to wait for another process to finish a write.
    """

    synchronous: Literal["FULL", "NORMAL"] = "FULL"
    lock_timeout: float = 5.0


def sqlite_log(path: Path | str, options: SqliteOptions | None = None) -> SqlLog:
    """The log in a file, created with the first `open`."""
    return SqlLog(SqliteDialect(Path(path), options or SqliteOptions()))


class SqliteDialect:
    """See `sql.Dialect`."""

    errors = (DBAPIError, sqlite3.Error)

    def __init__(self, path: Path, options: SqliteOptions) -> None:
        # Absolute, so that no name has a meaning of its own to SQLite, as ":memory:" has.
        self.name = str(path.absolute())
        self._options = options
        self._presence = files.Presence(path.absolute())

    def engine(self) -> AsyncEngine:
        """See Dialect. Transactions are begun and ended by hand, to take the lock at once."""
        url = URL.create("sqlite+aiosqlite", database=self.name)
        return create_async_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")

    async def connect(self, engine: AsyncEngine) -> AsyncConnection:
        """See Dialect. Nothing is changed before the file is known to be ours or new."""
        # aiosqlite leaves a thread behind when it cannot open a file: ask before it does.
        try:
            files.create(Path(self.name))
        except OSError as error:
            raise Unavailable(f"{self.name}: {error}") from error
        sqlite3.connect(self.name).close()
        self._presence.note()
        connection = await engine.connect()
        try:
            await self._prepare(connection)
            files.make_private(Path(self.name))
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _prepare(self, connection: AsyncConnection) -> None:
        timeout = int(self._options.lock_timeout * 1000)
        await connection.exec_driver_sql(f"PRAGMA busy_timeout = {timeout}")
        await self._claim(connection)
        await self._switch_to_wal(connection)
        await connection.exec_driver_sql(f"PRAGMA synchronous = {self._options.synchronous}")
        await connection.exec_driver_sql(f"PRAGMA journal_size_limit = {WAL_BYTES}")

    async def _claim(self, connection: AsyncConnection) -> None:
        owner = await connection.exec_driver_sql("PRAGMA application_id")
        if owner.scalar_one() == APPLICATION_ID:
            return
        tables = await connection.exec_driver_sql("SELECT count(*) FROM sqlite_master")
        if tables.scalar_one() > 0:
            raise NotOurs(f"{self.name} is the database of another application")
        await connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")

    async def _switch_to_wal(self, connection: AsyncConnection) -> None:
        """Two processes that switch at once hinder each other; SQLite does not wait for that."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._options.lock_timeout
        while True:
            try:
                await connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                return
            except DBAPIError as error:
                if clock() > deadline or not isinstance(self.translate(error), Locked):
                    raise
            await asyncio.sleep(WAL_RETRY)

    async def begin(self, connection: AsyncConnection) -> None:
        """See Dialect."""
        self._presence.check()
        await _driver(connection).execute("BEGIN IMMEDIATE")

    async def commit(self, connection: AsyncConnection) -> None:
        """See Dialect."""
        await _driver(connection).execute("COMMIT")

    async def roll_back(self, connection: AsyncConnection) -> None:
        """See Dialect."""
        await _driver(connection).execute("ROLLBACK")

    async def fetch(
        self, connection: AsyncConnection, query: Query, parameters: Mapping[str, Any] | None = None
    ) -> Sequence[Row]:
        """See Dialect."""
        statement = _compile(query)
        values = statement.construct_params(parameters)
        positions = statement.positiontup or ()
        found = await _driver(connection).execute_fetchall(
            str(statement), [values[name] for name in positions]
        )
        return list(found)

    async def insert(self, connection: AsyncConnection, records: Sequence[Record]) -> None:
        """See Dialect."""
        for start in range(0, len(records), ROWS):
            rows = records[start : start + ROWS]
            cells = [cell for row in rows for cell in row]
            await _driver(connection).execute(_insertion(len(rows)), cells)

    def translate(self, error: Exception) -> LogError:
        """See Dialect."""
        cause = error.orig if isinstance(error, DBAPIError) else error
        code = getattr(cause, "sqlite_errorname", "") or ""
        if code == "SQLITE_NOTADB":
            return NotOurs(f"{self.name} is not a database")
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return Locked(f"{self.name} is locked by another process")
        return Unavailable(f"{self.name}: {cause}")


def _driver(connection: AsyncConnection) -> aiosqlite.Connection:
    assert connection.sync_connection is not None, "the log holds open connections only"
    driver = connection.sync_connection.connection.driver_connection
    assert isinstance(driver, aiosqlite.Connection), "the engine was made for aiosqlite"
    return driver


# Most queries are made for one call; the few constants are what this is for.
@lru_cache(maxsize=16)
def _compile(query: Query) -> SQLCompiler:
    compiled = query.compile(dialect=_DIALECT)
    assert isinstance(compiled, SQLCompiler), "a query compiles to SQL"
    return compiled


_DIALECT = SQLiteDialect_aiosqlite()


@lru_cache(maxsize=ROWS)
def _insertion(rows: int) -> str:
    """One statement for so many rows."""
    row = dict.fromkeys(Record._fields, 0)  # values are bound by position
    return str(sa.insert(log).values([row] * rows).compile(dialect=_DIALECT))
