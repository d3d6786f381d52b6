"""The interface that a database must implement for the log."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from inkube.storage.errors import LogError
from inkube.storage.log import Head, Record, Rows
from inkube.storage.sql.statements import Row, Statement


class Connection(Protocol):
    """One connection, used by one coroutine at a time. Raises the exceptions in
    `Database.errors`."""

    @property
    def closed(self) -> bool:
        """Whether the server is known to have closed the connection."""
        ...

    async def fetch(self, query: Statement, parameters: Mapping[str, Any]) -> Sequence[Row]:
        """Return the rows of a query."""
        ...

    async def joined(self, revision: int, limit: int) -> Rows | None:
        """Return the result of Statement.ROWS, if the database can join the rows into few values at
        a lower cost, or None if the statement must be run row by row."""
        ...

    async def execute(self, statement: Statement, parameters: Mapping[str, Any]) -> int:
        """Run a statement, and return the number of changed rows. Outside a transaction, it is
        committed at once."""
        ...

    async def begin_set_up(self) -> None:
        """Begin a transaction without other writers, and create missing tables, columns of digests
        and indexes."""
        ...

    async def upgrade(self, schema: int) -> None:
        """Upgrade tables of an older schema to this one, inside `begin_set_up`."""
        ...

    async def begin(self) -> None:
        """Begin a transaction and take the write lock."""
        ...

    async def begin_compaction(self) -> bool:
        """Begin a transaction that excludes other compactors. Returns False if another one is
        running."""
        ...

    async def commit(self) -> None:
        """Commit the transaction."""
        ...

    async def roll_back(self) -> None:
        """Undo the transaction."""
        ...

    async def append(self, records: Sequence[Record]) -> int:
        """Append rows to the log, in a transaction that holds the write lock. Returns the digest of
        the last one."""
        ...

    async def append_next(self, after: Head, records: Sequence[Record]) -> int | None:
        """Append rows outside a transaction if `after` is the newest row; then returns the digest
        of the last one, else None."""
        ...

    async def close(self) -> None:
        """Close the connection. Never fails."""
        ...


class Database(Protocol):
    """A database that contains a log: its connections, its errors, and how it reports new
    revisions."""

    @property
    def name(self) -> str:
        """The name of the database in messages; it contains no secret of the address."""
        ...

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The exceptions that `translate` handles."""
        ...

    @property
    def poll(self) -> float:
        """The longest interval in seconds between two checks for writes of other processes."""
        ...

    @property
    def often(self) -> float:
        """The longest interval in seconds between two checks while other processes write."""
        ...

    @property
    def failure(self) -> str:
        """Why the newest revision cannot be queried at the moment, or ""."""
        ...

    @property
    def optimistic(self) -> bool:
        """Whether `append_next` exists and costs less than a transaction."""
        ...

    async def connect(self) -> Connection:
        """Return a connection to a database that is empty or belongs to inkube. Raises NotOurs and
        `errors`."""
        ...

    def translate(self, error: Exception) -> LogError:
        """Return the LogError for an error of the driver."""
        ...

    def survives(self, error: BaseException) -> bool:
        """Return whether a connection can still be used after an error."""
        ...

    def replaced(self) -> int | None:
        """Return the newest known revision of an earlier storage that was noticed to be replaced by
        this one, or None. Raises Unavailable."""
        ...

    def continued(self) -> None:
        """The log has begun an epoch since `replaced`, which then returns None. Raises
        Unavailable."""
        ...

    def check(self) -> None:
        """Check that the storage is still the one that was opened, before anything is read from it
        to replace what is in memory. Raises Unavailable."""
        ...

    def glance(self) -> Head | None:
        """Return the newest row if that takes microseconds, or None if `newest` is needed. Can
        raise `errors`."""
        ...

    async def newest(self) -> Head:
        """Return the newest committed row. Can raise `errors`."""
        ...

    async def news(self, revision: int, within: float) -> Head:
        """Wait for a notification about something newer than `revision`. Returns the row in it, or
        the newest one after `within` seconds."""
        ...

    async def close(self) -> None:
        """Release all resources except the connections that `connect` returned. Can be called
        twice."""
        ...
