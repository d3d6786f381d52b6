"""PostgreSQL, for servers on several machines: the row that serves as lock, notifications, errors.

    postgresql_log("postgresql://user@host/database")

Everything is in the schema `inkube`. The row `newest` of the table of marks is the write lock: its
holder knows the newest revision and appends the next ones, so revisions have no gaps and become
visible in order. Each commit sends one NOTIFY that carries its revision; notifications can get lost
(a pooler, an engine without LISTEN), so the log is also queried once a second.

A failover or a restored backup can lose commits, and clients can know of them although no running
server does. Every connection therefore checks first that the database has not become another copy
since the last one: another cluster, timeline or table. If it has, the log begins an epoch
(`Transaction.begin_epoch`). A standby is refused: it can be behind, and come to an end elsewhere.

Three connections at most: one writes and follows, one reads the past, one listens and queries the
newest revision. It is imported only by a server with the option `database`.
"""

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit
from zlib import crc32

import asyncpg
from sqlalchemy.dialects.postgresql.asyncpg import dialect as asyncpg_dialect

from inkube.storage.errors import Locked, LogError, NotOurs, Unavailable, Unsent
from inkube.storage.log import FIRST_REVISION, Head, Record, Rows, digest
from inkube.storage.sql import tables
from inkube.storage.sql.database import Connection
from inkube.storage.sql.lanes import Lane
from inkube.storage.sql.log import SqlLog, begin_epoch, set_mark
from inkube.storage.sql.statements import Row, Statement

logger = logging.getLogger(__name__)

SCHEMA = "inkube"
CHANNEL = "inkube"
POLL = 1.0
CACHE_SIZE = "statement_cache_size"  # a parameter of the URL

# Seconds after which a connection or a response is given up. Writers wait for each other far less.
CONNECT_TIMEOUT, ANSWER_TIMEOUT = 5.0, 10.0

# Rows of one statement, which must end before the timeout.
ROWS = 5_000

# A transaction whose process does nothing for this time is rolled back, because other processes
# cannot write meanwhile.
ASLEEP = "2s"

# "inku": servers that start at the same time create the tables one after the other
SET_UP_LOCK = 0x696E6B75

_STATEMENTS = tables.compiled(asyncpg_dialect(), SCHEMA)  # type: ignore[no-untyped-call] # so it is
_BEGIN = f"BEGIN; SET LOCAL idle_in_transaction_session_timeout = '{ASLEEP}'"
_LOCK = "SELECT value FROM inkube.meta WHERE name = 'newest' FOR UPDATE"
_LOCK_COMPACTION = "SELECT value FROM inkube.meta WHERE name = 'compacted' FOR UPDATE SKIP LOCKED"
# The marks first: if two processes append after the same revision, the second one finds it changed.
_APPEND = """
WITH head AS (
    UPDATE inkube.meta SET value = $9 WHERE name = 'newest' AND value = $10
    AND ($11::bigint = 0 OR COALESCE(
        (SELECT digest FROM inkube.log WHERE revision = $10),
        (SELECT digest.value FROM inkube.meta AS digest, inkube.meta AS boundary
         WHERE digest.name = 'boundary_digest' AND boundary.name = 'boundary'
         AND boundary.value = $10)
    ) IN (0, $11))
    RETURNING value
), added AS (
    INSERT INTO inkube.log (revision, key, previous, created, deleted, data, time, digest)
    SELECT row.* FROM head, unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[],
                                   $5::boolean[], $6::bytea[], $7::bigint[], $8::bigint[]) AS row
)
"""
_LOUDLY = "SELECT pg_notify('inkube', value::text) FROM head"
_QUIETLY = "SELECT value FROM head"
# The timeline is that of the next commit: the control file of a promoted replica is late.
_ORIGIN = """
SELECT system_identifier, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
       to_regclass('inkube.log')::oid
FROM pg_control_system()
"""
_HAS_DIGESTS = """
SELECT count(*) FROM information_schema.columns
WHERE table_schema = 'inkube' AND table_name = 'log' AND column_name = 'digest'
"""


def postgresql_log(url: str) -> SqlLog:
    """Return the log in a database. The first `open` creates its schema."""
    return SqlLog(PostgresqlDatabase(url))


class PostgresqlDatabase:
    """A database of PostgreSQL, with a connection that listens for notifications."""

    errors = (
        asyncpg.PostgresError,
        asyncpg.InterfaceError,
        asyncpg.InternalClientError,
        OSError,
        TimeoutError,
    )
    poll = often = POLL
    optimistic = True

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.name = f"postgresql://{parts.hostname or 'localhost'}{parts.path}"
        parameters = [pair for pair in parse_qsl(parts.query) if pair[0] != CACHE_SIZE]
        scheme = parts.scheme.removesuffix("+asyncpg")
        self._url = urlunsplit(parts._replace(scheme=scheme, query=urlencode(parameters)))
        # 0 for poolers that use another connection for each transaction
        self._prepared = int(dict(parse_qsl(parts.query)).get(CACHE_SIZE, 100))
        self._ear = Lane(self, self._connect_ear)
        self._notified_revision = 0
        self._quiet: bool | None = None
        self._event = asyncio.Event()

    async def connect(self) -> "PostgresqlConnection":
        """Return a connection. The first one also finds out whether the server has NOTIFY. Raises
        NotOurs and `errors`."""
        driver = await asyncpg.connect(
            self._url,
            timeout=CONNECT_TIMEOUT,
            command_timeout=ANSWER_TIMEOUT,
            statement_cache_size=self._prepared,
        )
        try:
            await self._check_primary(driver)
            if self._quiet is None:
                self._quiet = await self._has_no_notify(driver)
            connection = PostgresqlConnection(driver, quiet=self._quiet)
            await self._check_origin(connection)
        except BaseException:
            driver.terminate()
            raise
        return connection

    @property
    def failure(self) -> str:
        return self._ear.failure

    def translate(self, error: Exception) -> LogError:
        if isinstance(error, asyncpg.UndefinedColumnError | asyncpg.UndefinedTableError):
            return NotOurs(f"{self.name}: the schema {SCHEMA} is of another application: {error}")
        if isinstance(error, asyncpg.LockNotAvailableError | asyncpg.DeadlockDetectedError):
            return Locked(f"{self.name} is locked by another process")
        # PostgreSQL says why it ends an idle connection. If asyncpg has read this and not yet the
        # end of the connection, it refuses the next statement with this error, and sends nothing.
        is_internal = isinstance(error, asyncpg.InternalClientError)
        if is_internal and str(error).startswith("cannot switch to state"):
            return Unsent(f"{self.name} ended the connection")
        return Unavailable(f"{self.name}: {error or type(error).__name__}")

    def survives(self, error: BaseException) -> bool:
        """Return whether a connection can still be used after an error.

        It cannot after an error of the driver: a new connection has a known state, and may be one
        to the server of a failover. Nor after a cancellation: the response to the abandoned query
        stays on the connection.
        """
        return not isinstance(error, (*self.errors, asyncio.CancelledError))

    def replaced(self) -> int | None:
        """Return None: every connection finds out by itself when it is opened."""
        return None

    def continued(self) -> None:
        """Do nothing."""

    def check(self) -> None:
        """Do nothing: every connection was checked when it was opened."""

    def glance(self) -> Head | None:
        """Return None, because a query to another machine takes longer than microseconds."""
        return None

    async def newest(self) -> Head:
        """Return the newest committed row. Raises LogError."""
        return await self._ear.work(_newest)

    async def news(self, revision: int, within: float) -> Head:
        """Wait for a notification about something newer than `revision`. Returns the row in it, or
        the newest one after `within` seconds or if no connection listens."""
        if not self._ear.is_open:
            return await self.newest()  # this also starts to listen
        try:
            async with asyncio.timeout(within):
                while self._notified_revision <= revision:
                    self._event.clear()
                    await self._event.wait()
        except TimeoutError:
            return await self.newest()
        notified, self._notified_revision = self._notified_revision, 0
        return Head(notified)

    def on_notification(self, *notification: Any) -> None:
        """Receive a NOTIFY: `(connection, pid, channel, payload)`."""
        with contextlib.suppress(ValueError):  # from another program
            self._notified_revision = max(self._notified_revision, int(notification[-1]))
        self._event.set()

    async def close(self) -> None:
        """Close the connection that listens. Can be called twice."""
        await self._ear.close()

    async def _connect_ear(self) -> "PostgresqlConnection":
        connection = await self.connect()
        try:
            if not self._quiet:
                await connection.listen(self.on_notification)
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _check_primary(self, driver: Any) -> None:
        if await driver.fetchval("SELECT pg_is_in_recovery()"):
            raise Unavailable(f"{self.name} is a standby: only a primary can be served")

    async def _check_origin(self, connection: "PostgresqlConnection") -> None:
        """Begin an epoch if the database is another copy than at the last connection of any server.
        Does nothing in an empty database, or if the database does not tell."""
        origin = await connection.origin()
        if not origin or await connection.mark("origin") in (None, origin):
            return
        await connection.begin()
        if await connection.mark("origin") != origin:  # no other server was faster
            logger.error(
                "%s is another copy of its data than before, after a failover or from a backup: "
                "commits can be lost; clients list again", self.name,
            )  # fmt: skip
            await begin_epoch(connection, 0)
            await set_mark(connection, "origin", origin)
        await connection.commit()

    async def _has_no_notify(self, driver: Any) -> bool:
        try:
            await driver.execute(f"LISTEN {CHANNEL}; UNLISTEN {CHANNEL}; SELECT pg_notify('', '')")
        except asyncpg.InvalidParameterValueError:
            return False  # pg_notify exists, and rejects the empty channel
        except asyncpg.PostgresError as error:
            logger.warning("%s has no NOTIFY and is asked once a second: %s", self.name, error)
            return True
        return False


async def _newest(connection: Connection) -> Head:
    ((revision, digest),) = await connection.fetch(Statement.HEAD, {})
    return Head(revision, digest or 0)


class PostgresqlConnection:
    """One connection to PostgreSQL."""

    def __init__(self, driver: Any, *, quiet: bool) -> None:
        self._driver = driver
        self._append = _APPEND + (_QUIETLY if quiet else _LOUDLY)

    @property
    def closed(self) -> bool:
        return bool(self._driver.is_closed())

    async def fetch(self, query: Statement, parameters: Mapping[str, Any]) -> Sequence[Row]:
        compiled = _STATEMENTS.compiled[query]
        arguments = [_text(each) for each in compiled.arguments(parameters)]
        rows: Sequence[Row] = await self._driver.fetch(compiled.text, *arguments)
        return rows

    async def joined(self, revision: int, limit: int) -> Rows | None:
        """Return None, because the driver reads single rows as fast."""
        return None

    async def execute(self, statement: Statement, parameters: Mapping[str, Any]) -> int:
        compiled = _STATEMENTS.compiled[statement]
        done = await self._driver.execute(compiled.text, *compiled.arguments(parameters))
        return int(done.rsplit(" ", 1)[1])

    async def mark(self, name: str) -> int | None:
        """Return the value of a mark, or None if there is none."""
        rows = await self.fetch(Statement.MARK, {"name": name})
        return rows[0][0] if rows else None

    async def origin(self) -> int:
        """Return a number that another copy of the database does not share: of its cluster, its
        timeline and the table. 0 if there is no table yet, or if the database does not tell."""
        try:
            ((cluster, timeline, table),) = await self._driver.fetch(_ORIGIN)
        except asyncpg.PostgresError as error:  # it has no such functions, or does not permit them
            logger.debug("the origin of the database is unknown: %s", error)
            return 0
        return 0 if table is None else crc32(f"{cluster} {timeline} {table}".encode()) or 1

    async def listen(self, listener: Any) -> None:
        """Call `listener` for every NOTIFY."""
        await self._driver.add_listener(CHANNEL, listener)

    async def begin_set_up(self) -> None:
        """Begin a transaction without other set-ups or writers, and create missing tables, columns
        of digests and indexes."""
        await self._driver.execute(f"BEGIN; SELECT pg_advisory_xact_lock({SET_UP_LOCK})")
        await self._driver.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        for definition in _STATEMENTS.definitions:
            await self._driver.execute(definition)
        if not await self._driver.fetchval(_HAS_DIGESTS):
            await self._driver.execute(_STATEMENTS.adding_digests)
        await self.execute(Statement.ADD_MARK, {"which": "newest", "to": FIRST_REVISION})
        if origin := await self.origin():
            await self.execute(Statement.ADD_MARK, {"which": "origin", "to": origin})

    async def upgrade(self, schema: int) -> None:
        for statement in _STATEMENTS.upgrades(schema):
            await self._driver.execute(statement)

    async def begin(self) -> None:
        await self._driver.execute(f"{_BEGIN}; {_LOCK}")

    async def begin_compaction(self) -> bool:
        """Begin a transaction that excludes other compactors, or return False if another one is
        running.

        Writers are not blocked, because compaction changes none of their rows.
        """
        await self._driver.execute(_BEGIN)
        if await self._driver.fetchval(_LOCK_COMPACTION) is not None:
            return True
        await self.roll_back()
        return False

    async def commit(self) -> None:
        await self._driver.execute("COMMIT")

    async def roll_back(self) -> None:
        await self._driver.execute("ROLLBACK")

    async def append(self, records: Sequence[Record]) -> int:
        """Append rows to the log in a transaction that holds the write lock. Returns the digest of
        the last one. Raises Unavailable if the newest revision changed nevertheless."""
        newest = await _newest(self)
        for start in range(0, len(records), ROWS):
            rows = records[start : start + ROWS]
            last = await self.append_next(newest, rows)
            if last is None:
                raise Unavailable("the newest revision changed under its lock")
            newest = Head(rows[-1].revision, last)
        return newest.digest

    async def append_next(self, after: Head, records: Sequence[Record]) -> int | None:
        """Append rows if `after` is the newest row. Returns the digest of the last one, or None if
        it is not.

        This is one statement, so that no process falls asleep with the lock. More than `ROWS` rows
        are not appended.
        """
        if len(records) > ROWS:
            return None
        columns = map(list, zip(*records, strict=True))
        digests = [digest(record) for record in records]
        done = await self._driver.fetch(
            self._append, *columns, digests, records[-1].revision, *after
        )
        return digests[-1] if done else None

    async def close(self) -> None:
        """Close the connection within one second, or terminate it. Never fails."""
        try:
            await self._driver.close(timeout=1.0)
        except PostgresqlDatabase.errors:
            self._driver.terminate()


def _text(value: Any) -> Any:
    """Return a parameter. The end of an interval can contain NUL, which no key contains and
    PostgreSQL rejects. The character after it ends the same interval."""
    return value.replace("\0", "\1") if isinstance(value, str) else value
