"""The log on SQLAlchemy Core: one table of records, one of marks, one held connection.

    log   revision (primary key) · key · previous · created · deleted · data; index key, revision
    meta  name (primary key) · value; rows schema, compacted

The primary key is the last guard: two processes that both believed to hold the write lock could
not both append a revision. What one database does differently from another is in its Dialect.
"""

import asyncio
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from inkube.storage.errors import Compacted, LogError, NewerSchema, Unavailable
from inkube.storage.log import FIRST_REVISION, Horizon, Missed, Range, Record, Transaction, bounds

SCHEMA = 1

# Revisions compacted in one transaction, so that writers never wait long for the lock.
COMPACTION_STEP = 1_000

T = TypeVar("T")
Query = sa.Select[Any]
Row = Sequence[Any]

metadata = sa.MetaData()
log = sa.Table(
    "log",
    metadata,
    sa.Column("revision", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("previous", sa.BigInteger, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("deleted", sa.Boolean, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
    sa.Index("log_by_key", "key", "revision"),
)
meta = sa.Table(
    "meta",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.BigInteger, nullable=False),
)


class Dialect(Protocol):
    """What one kind of database does in its own way."""

    @property
    def name(self) -> str:
        """What messages call the database."""
        ...

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What `translate` understands."""
        ...

    def engine(self) -> AsyncEngine:
        """An engine whose connections commit every statement outside of `begin`."""
        ...

    async def connect(self, engine: AsyncEngine) -> AsyncConnection:
        """A connection, set up; the file or database is known to be ours or new. Raises NotOurs."""
        ...

    async def begin(self, connection: AsyncConnection) -> None:
        """Begin a transaction and take the write lock."""
        ...

    async def commit(self, connection: AsyncConnection) -> None:
        """Commit the transaction."""
        ...

    async def roll_back(self, connection: AsyncConnection) -> None:
        """Undo the transaction."""
        ...

    async def fetch(
        self, connection: AsyncConnection, query: Query, parameters: Mapping[str, Any] | None = None
    ) -> Sequence[Row]:
        """The rows a query finds."""
        ...

    async def insert(self, connection: AsyncConnection, records: Sequence[Record]) -> None:
        """Add rows to the log."""
        ...

    def translate(self, error: Exception) -> LogError:
        """The error of the tree that a driver's error is."""
        ...


class SqlLog:
    """See Log. One connection, used by one coroutine at a time."""

    immediate = False
    shared = True

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._engine: AsyncEngine | None = None
        self._connection: AsyncConnection | None = None
        self._lock = asyncio.Lock()

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:
            warnings.warn(f"unclosed log {self._dialect.name}", ResourceWarning, stacklevel=1)

    async def open(self) -> None:
        """See Log. Raises NotOurs, NewerSchema, Locked, Unavailable."""
        self._engine = self._dialect.engine()
        try:
            async with self._lock:
                await self._connect()
            async with self._transaction() as connection:
                await self._set_up(connection)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """See Log."""
        async with self._lock:
            await self._disconnect()
            if self._engine is not None:
                engine, self._engine = self._engine, None
                await engine.dispose()

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[Transaction]:
        """See Log."""
        async with self._transaction() as connection:
            yield _SqlTransaction(self._dialect, connection)

    async def horizon(self) -> Horizon:
        """See Log."""
        ((compacted, newest),) = await self._fetch(HORIZON)
        return Horizon(compacted, max(compacted, newest or 0))

    async def missed(self, revision: int) -> Missed:
        """See Log."""
        return _missed(await self._fetch(MISSED, {"after": revision}))

    async def changes(
        self, prefix: str, after: int, limit: int
    ) -> Sequence[tuple[Record, Record | None]]:
        """See Log."""
        before = log.alias("before")
        query = (
            sa.select(*log.c, *before.c)
            .select_from(log.outerjoin(before, before.c.revision == log.c.previous))
            .where(log.c.revision > after, *_within(log.c.key, prefix))
            .order_by(log.c.revision)
            .limit(limit)
        )
        width = len(log.c)
        return [
            (_record(row[:width]), _record(row[width:]) if row[width] is not None else None)
            for row in await self._fetch_exactly(query, after)
        ]

    async def at(self, keys: Range, revision: int) -> Sequence[Record]:
        """See Log."""
        query = _living(keys, revision).order_by(log.c.key)
        if keys.limit:
            query = query.limit(keys.limit)
        return [_record(row) for row in await self._fetch_exactly(query, revision)]

    async def count_at(self, keys: Range, revision: int) -> int:
        """See Log."""
        query = sa.select(sa.func.count()).select_from(_living(keys, revision).subquery())
        ((count,),) = await self._fetch_exactly(query, revision)
        return int(count)

    async def compact(self, revision: int) -> None:
        """See Log. In steps, each of which leaves an exact log behind."""
        done = (await self.horizon()).compacted
        while done < revision:
            step = min(done + COMPACTION_STEP, revision)
            await self._use(partial(self._compact_step, done, step))
            done = step

    async def _compact_step(self, low: int, high: int) -> None:
        async with self._transaction() as connection:
            step = log.alias("step")
            outlived = sa.select(step.c.previous).where(
                step.c.revision > low, step.c.revision <= high, step.c.previous > 0
            )
            await connection.execute(sa.delete(log).where(log.c.revision.in_(outlived)))
            ended = log.c.deleted & (log.c.revision > low) & (log.c.revision <= high)
            await connection.execute(sa.delete(log).where(ended))
            await connection.execute(
                sa.update(meta).where(meta.c.name == "compacted").values(value=high)
            )

    # The connection.

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[AsyncConnection]:
        async with self._lock:
            connection = await self._connect()
            with self._translated():
                await self._dialect.begin(connection)
                try:
                    yield connection
                    await self._dialect.commit(connection)
                except BaseException:
                    await self._roll_back(connection)
                    raise

    async def _roll_back(self, connection: AsyncConnection) -> None:
        try:
            await self._dialect.roll_back(connection)
        except self._dialect.errors:
            # The database may have rolled back by itself; a new connection is sure to be clean.
            await self._disconnect()

    async def _fetch(
        self, query: Query, parameters: Mapping[str, Any] | None = None
    ) -> Sequence[Row]:
        async def fetch() -> Sequence[Row]:
            async with self._lock:
                connection = await self._connect()
                with self._translated():
                    return await self._dialect.fetch(connection, query, parameters)

        return await self._use(fetch)

    async def _fetch_exactly(self, query: Query, revision: int) -> Sequence[Row]:
        """What a query finds, if everything since `revision` is still there. Raises Compacted."""
        rows = await self._fetch(query)
        # Asked last: compaction only moves on, so what is not compacted now was not before.
        compacted = (await self.horizon()).compacted
        if revision < compacted:
            raise Compacted(revision, compacted)
        return rows

    async def _use(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do work to its end, even when the caller is cancelled.

        SQLAlchemy gives up a connection whose statement was interrupted, and this is everybody's.
        """
        return await asyncio.shield(asyncio.ensure_future(work()))

    async def _connect(self) -> AsyncConnection:
        if self._connection is None:
            if self._engine is None:
                raise Unavailable(f"{self._dialect.name} is closed")
            with self._translated():
                self._connection = await self._dialect.connect(self._engine)
        return self._connection

    async def _disconnect(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()

    async def _set_up(self, connection: AsyncConnection) -> None:
        await connection.run_sync(metadata.create_all)
        found = await connection.execute(sa.select(meta.c.value).where(meta.c.name == "schema"))
        schema = found.scalar_one_or_none()
        if schema is None:
            rows = [
                {"name": "schema", "value": SCHEMA},
                {"name": "compacted", "value": FIRST_REVISION},
            ]
            await connection.execute(sa.insert(meta), rows)
        elif schema > SCHEMA:
            raise NewerSchema(
                f"{self._dialect.name} has schema {schema}; this inkube knows {SCHEMA}"
            )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self._dialect.errors as error:
            raise self._dialect.translate(error) from error


class _SqlTransaction:
    """See Transaction."""

    def __init__(self, dialect: Dialect, connection: AsyncConnection) -> None:
        self._dialect = dialect
        self._connection = connection

    async def missed(self, revision: int) -> Missed:
        """See Transaction."""
        return _missed(await self._dialect.fetch(self._connection, MISSED, {"after": revision}))

    async def append(self, records: Sequence[Record]) -> None:
        """See Transaction."""
        await self._dialect.insert(self._connection, records)


_compacted = sa.select(meta.c.value).where(meta.c.name == "compacted").scalar_subquery()
HORIZON: Query = sa.select(_compacted, sa.func.max(log.c.revision))

# One row at least: how far was compacted, beside nothing.
MISSED: Query = (
    sa.select(meta.c.value, *log.c)
    .select_from(meta.outerjoin(log, log.c.revision > sa.bindparam("after")))
    .where(meta.c.name == "compacted")
    .order_by(log.c.revision)
)


def _missed(rows: Sequence[Row]) -> Missed:
    return Missed([_record(row[1:]) for row in rows if row[1] is not None], rows[0][0])


def _record(row: Row) -> Record:
    revision, key, previous, created, deleted, data = row
    return Record(revision, key, previous, created, bool(deleted), data)


def _living(keys: Range, revision: int) -> Query:
    newest = (
        sa.select(sa.func.max(log.c.revision).label("revision"))
        .where(log.c.revision <= revision, log.c.key > keys.after, *_within(log.c.key, keys.prefix))
        .group_by(log.c.key)
        .subquery()
    )
    living = log.join(newest, log.c.revision == newest.c.revision)
    return sa.select(log).select_from(living).where(~log.c.deleted)


def _within(key: sa.Column[str], prefix: str) -> tuple[sa.ColumnElement[bool], ...]:
    low, high = bounds(prefix)
    return key >= low, key < high
