"""What is SQLite's own about the SQL log: the connection, its pragmas, its locks, its errors.

A file is in WAL mode and may be shared by several processes. The write lock is BEGIN IMMEDIATE.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from inkube.storage.errors import Locked, LogError, NotOurs, Unavailable
from inkube.storage.sql import SqlLog

# "inku" in the file's header, so that the database of something else is never written to.
APPLICATION_ID = 0x696E6B75

# A log of one transaction larger than this is cut back after its checkpoint.
WAL_BYTES = 16 * 2**20


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

    begin = "BEGIN IMMEDIATE"

    def __init__(self, path: Path, options: SqliteOptions) -> None:
        # Absolute, so that no name has a meaning of its own to SQLite, as ":memory:" has.
        self.name = str(path.absolute())
        self._options = options

    def engine(self) -> AsyncEngine:
        """See Dialect. Transactions are begun and ended by hand, to take the lock at once."""
        url = URL.create("sqlite+aiosqlite", database=self.name)
        return create_async_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")

    async def prepare(self, connection: AsyncConnection) -> None:
        """See Dialect. Nothing is changed before the file is known to be ours or new."""
        timeout = int(self._options.lock_timeout * 1000)
        await connection.exec_driver_sql(f"PRAGMA busy_timeout = {timeout}")
        await self._claim(connection)
        for pragma in (
            "journal_mode = WAL",
            f"synchronous = {self._options.synchronous}",
            f"journal_size_limit = {WAL_BYTES}",
        ):
            await connection.exec_driver_sql(f"PRAGMA {pragma}")

    async def _claim(self, connection: AsyncConnection) -> None:
        owner = await connection.exec_driver_sql("PRAGMA application_id")
        if owner.scalar_one() == APPLICATION_ID:
            return
        tables = await connection.exec_driver_sql("SELECT count(*) FROM sqlite_master")
        if tables.scalar_one() > 0:
            raise NotOurs(f"{self.name} is the database of another application")
        await connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")

    def translate(self, error: DBAPIError) -> LogError:
        """See Dialect."""
        code = getattr(error.orig, "sqlite_errorname", "") or ""
        if code == "SQLITE_NOTADB":
            return NotOurs(f"{self.name} is not a database")
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return Locked(f"{self.name} is locked by another process")
        return Unavailable(f"{self.name}: {error.orig}")
