"""The log over statements and a database. `database` contains the differences between databases.

One connection writes and follows, and another reads old revisions, so that a long read does not
delay commits.
"""

import asyncio
import logging
import warnings
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from itertools import compress
from typing import Any

from inkube.storage.cancellation import run_to_end
from inkube.storage.errors import Compacted, NewerSchema
from inkube.storage.log import (
    EPOCH,
    FIRST_REVISION,
    Head,
    Horizon,
    Missed,
    Range,
    Record,
    Rows,
    Transaction,
    bounds,
)
from inkube.storage.sql import statements
from inkube.storage.sql.database import Connection, Database
from inkube.storage.sql.lanes import Lane
from inkube.storage.sql.statements import Row, Statement

logger = logging.getLogger(__name__)

# Revisions that are compacted in one transaction: at first, at least and at most. Steps grow and
# shrink so that writers wait little longer than STEP_SECONDS.
COMPACTION_STEP, SMALLEST_STEP, LARGEST_STEP = 1_000, 50, 10_000
STEP_SECONDS = 0.02


class SqlLog:
    """The `Log` in a database."""

    immediate = False
    shared = True

    def __init__(self, database: Database) -> None:
        self._database = database
        self._front = Lane(database)
        self._past = Lane(database)

    def __del__(self) -> None:
        if getattr(self, "_front", None) is not None and self._front.is_open:
            warnings.warn(f"unclosed log {self._database.name}", ResourceWarning, stacklevel=1)

    @property
    def poll(self) -> float:
        return self._database.poll

    @property
    def often(self) -> float:
        return self._database.often

    @property
    def optimistic(self) -> bool:
        return self._database.optimistic

    @property
    def failure(self) -> str:
        return self._front.failure or self._database.failure

    async def open(self) -> None:
        """Connect to the database, and create or upgrade its tables if necessary.

        Raises NotOurs, NewerSchema, Locked, Unavailable.
        """
        try:
            async with self._front.held() as connection:
                await connection.begin_set_up()
                async with self._ending(connection):
                    await self._set_up(connection)
                    replaced = self._database.replaced()
                    if replaced is not None:
                        await self._begin_epoch(connection, replaced)
            if replaced is not None:
                self._database.continued()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close both connections and the database. Can be called twice."""
        await run_to_end(self._close())

    async def _close(self) -> None:
        async with AsyncExitStack() as stack:  # each, also after an error of another
            for each in (self._database, self._past, self._front):
                stack.push_async_callback(each.close)

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[Transaction]:
        """Take the write lock, and yield a transaction. Raises Locked after the timeout."""
        async with self._transaction() as connection:
            yield _SqlTransaction(connection)

    async def append_next(self, after: Head, records: Sequence[Record]) -> int | None:
        """Commit records if `after` is the newest row. Returns the digest of the last one, or None
        if it is not."""
        if not after.digest:  # of an older release: the statement itself cannot compare the rows
            newest = self.glance()
            is_known = newest is None or newest.revision == after.revision
            if not is_known and (await self.horizon()).newest != after.revision:
                return None  # it was written, or it has gone back
        async with self._front.held() as connection:
            return await connection.append_next(after, records)

    def glance(self) -> Head | None:
        """Return the newest committed row if the database can read it within microseconds, else
        None."""
        try:
            return self._database.glance()
        except self._database.errors as error:
            raise self._database.translate(error) from error

    async def newest(self) -> Head:
        try:
            return await self._database.newest()
        except self._database.errors as error:
            raise self._database.translate(error) from error

    async def news(self, revision: int, within: float) -> Head:
        return await self._database.news(revision, within)

    async def horizon(self) -> Horizon:
        ((compacted, newest),) = await self._front.work(_query(Statement.HORIZON))
        return Horizon(compacted, max(compacted, newest or 0))

    async def missed(self, revision: int, limit: int) -> Missed:
        self._database.check()
        return await self._front.work(partial(_missed, revision=revision, limit=limit))

    async def rows(self, revision: int, limit: int) -> Rows:
        self._database.check()
        return await self._front.work(partial(_rows, revision=revision, limit=limit))

    async def changes(
        self, prefix: str, after: int, limit: int
    ) -> Sequence[tuple[Record, Record | None]]:
        low, high = bounds(prefix)
        parameters = {"after": after, "low": low, "high": high, "limit": limit}
        width = len(Record._fields)
        return [
            (_record(row[:width]), _record(row[width:]) if row[width] is not None else None)
            for row in await self._fetch_exactly(Statement.CHANGES, parameters, after)
        ]

    async def at(self, keys: Range, revision: int) -> Sequence[Record]:
        low, high = keys.interval
        limit = keys.limit or statements.ALL
        parameters = {"low": low, "high": high, "at": revision, "limit": limit}
        return [
            _record(row) for row in await self._fetch_exactly(Statement.AT, parameters, revision)
        ]

    async def grown(self, keys: Range, after: int, until: int) -> int:
        low, high = keys.interval
        parameters = {"low": low, "high": high, "after": after, "until": until}
        ((count,),) = await self._fetch_exactly(Statement.GROWN, parameters, after)
        return int(count)

    async def before(self, time: int) -> int:
        """Return the last revision before the first one that was written after `time`. Reads every
        row, which is acceptable because calls are rare."""
        rows: Sequence[Row] = await self._past.work(_query(Statement.FIRST_AFTER, {"time": time}))
        ((first,),) = rows
        return (await self.horizon()).newest if first is None else int(first) - 1

    async def compact(self, revision: int, *, at_once: bool = False) -> int:
        """Remove the states that reads at `revision` or later do not need, in steps, or `at_once`
        if nothing else uses the log.

        The log is consistent after each step. Stops if another process is compacting. Returns the
        revision up to which the log is compacted.
        """
        clock = asyncio.get_running_loop().time
        size = revision if at_once else COMPACTION_STEP
        rows: Sequence[Row] = await self._front.work(_query(Statement.MARK, {"name": "compacted"}))
        done = int(rows[0][0])
        while done < revision:
            began = clock()
            step = min(done + size, revision)
            if not await self._front.work(partial(self._compact, after=done, until=step)):
                break
            done = step
            fits = int(size * STEP_SECONDS / max(clock() - began, 1e-6))
            size = max(SMALLEST_STEP, min(fits, 2 * size, LARGEST_STEP))
        return done

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Connection]:
        async with self._front.held() as connection:
            await connection.begin()
            async with self._ending(connection):
                yield connection

    @asynccontextmanager
    async def _ending(self, connection: Connection) -> AsyncIterator[None]:
        """Commit the transaction at the end of the block, or roll it back."""
        try:
            yield
            await connection.commit()
        except BaseException as error:
            if self._database.survives(error):
                try:
                    await connection.roll_back()
                except self._database.errors:
                    # The database may have rolled back by itself; a new connection is clean.
                    await self._front.drop()
            raise

    async def _compact(self, connection: Connection, *, after: int, until: int) -> bool:
        """Remove the states that ended in (after, until]; False if another process is
        compacting."""
        if not await connection.begin_compaction():
            return False
        async with self._ending(connection):
            ((compacted,),) = await connection.fetch(Statement.MARK, {"name": "compacted"})
            if compacted < until:
                await _forget(connection, compacted, until)
        return True

    async def _fetch_exactly(
        self, query: Statement, parameters: Mapping[str, Any], revision: int
    ) -> Sequence[Row]:
        """Return the result of a query, if every change since `revision` is still in the log.
        Raises Compacted."""
        rows: Sequence[Row] = await self._past.work(_query(query, parameters))
        # queried last: compaction only advances, so a revision that is not compacted now was not
        # compacted before
        ((compacted, _),) = await self._past.work(_query(Statement.HORIZON))
        if revision < compacted:
            raise Compacted(revision, compacted)
        return rows

    async def _begin_epoch(self, connection: Connection, above: int) -> None:
        logger.error(
            "%s was deleted or replaced while it was served: commits can be lost; clients list "
            "again", self._database.name,
        )  # fmt: skip
        await begin_epoch(connection, above)

    async def _set_up(self, connection: Connection) -> None:
        for name, value in (("schema", statements.SCHEMA), ("compacted", FIRST_REVISION)):
            await connection.execute(Statement.ADD_MARK, {"which": name, "to": value})
        ((schema,),) = await connection.fetch(Statement.MARK, {"name": "schema"})
        if schema > statements.SCHEMA:
            raise NewerSchema(
                f"{self._database.name} has schema {schema}; this inkube knows {statements.SCHEMA}"
            )
        if schema < statements.SCHEMA:
            await connection.upgrade(schema)
            await connection.execute(
                Statement.SET_MARK, {"which": "schema", "to": statements.SCHEMA}
            )


class _SqlTransaction:
    """A `Transaction` on the connection of the log."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def missed(self, revision: int, limit: int) -> Missed:
        return await _missed(self._connection, revision=revision, limit=limit)

    async def append(self, records: Sequence[Record]) -> int:
        """Append records in the order of their revisions, which follow the newest. Returns the
        digest of the last one."""
        return await self._connection.append(records)

    async def begin_epoch(self, above: int) -> None:
        """Continue with revisions that no client of another history can know."""
        await begin_epoch(self._connection, above)


def _query(statement: Statement, parameters: Mapping[str, Any] | None = None) -> Any:
    """Return a job for a lane: it returns the rows of a statement."""

    async def fetch(connection: Connection) -> Sequence[Row]:
        return await connection.fetch(statement, parameters or {})

    return fetch


async def _missed(connection: Connection, *, revision: int, limit: int) -> Missed:
    rows = await connection.fetch(Statement.MISSED, {"after": revision, "limit": limit})
    if rows:
        records = [_record(row[2:]) for row in rows]
        return Missed(records, rows[0][0], records[-1].revision, rows[0][1])
    # queried last: a revision that is not compacted now was not compacted when the rows were read
    ((compacted, newest, digest),) = await connection.fetch(Statement.BASE, {"after": revision})
    return Missed((), compacted, max(compacted, newest or 0), digest)


async def begin_epoch(connection: Connection, above: int) -> None:
    """Do what `Transaction.begin_epoch` says, in a transaction that holds the write lock."""
    ((compacted, newest),) = await connection.fetch(Statement.HORIZON, {})
    last = max(above, compacted, newest or 0) + EPOCH
    await set_mark(connection, "epoch", last)
    await set_mark(connection, f"epoch-{last}", last)  # later ones do not replace it
    await connection.execute(Statement.SET_MARK, {"which": "newest", "to": last})


async def set_mark(connection: Connection, name: str, value: int) -> None:
    """Set a mark that an older release may not have created."""
    await connection.execute(Statement.ADD_MARK, {"which": name, "to": value})
    await connection.execute(Statement.SET_MARK, {"which": name, "to": value})


async def _forget(connection: Connection, after: int, until: int) -> None:
    """Remove the states that ended in (after, until], and note what is left: a row that was removed
    here can still be the newest that another process knows."""
    base = await connection.fetch(Statement.DIGEST, {"revision": until})
    span = {"after": after, "until": until}
    kept = await _kept(connection, after)
    ((rows,),) = await connection.fetch(Statement.COUNT, span)
    await connection.execute(Statement.SET_MARK, {"which": "compacted", "to": until})
    forgotten = await connection.execute(Statement.FORGET_OUTLIVED, span)
    forgotten += await connection.execute(Statement.FORGET_ENDED, span)
    await set_mark(connection, "boundary", until)
    await set_mark(connection, "boundary_digest", base[0][0] if base else 0)
    await set_mark(connection, "kept", kept + rows - forgotten)


async def _kept(connection: Connection, compacted: int) -> int:
    """Return the number of rows up to the compacted revision."""
    marks = [
        await connection.fetch(Statement.MARK, {"name": name}) for name in ("boundary", "kept")
    ]
    if all(marks) and marks[0][0][0] == compacted:
        return int(marks[1][0][0])
    # for the first time, or after a compaction by an older release
    ((count,),) = await connection.fetch(Statement.COUNT, {"after": 0, "until": compacted})
    return int(count)


async def _rows(connection: Connection, *, revision: int, limit: int) -> Rows:
    joined = await connection.joined(revision, limit)
    if joined is not None:
        return joined
    rows = await connection.fetch(Statement.ROWS, {"after": revision, "limit": limit})
    if rows:
        revisions, keys, created, deleted, data, compacted, digests = zip(*rows, strict=True)
        gone = tuple(compress(revisions, deleted))
        return Rows(revisions, keys, created, gone, data, compacted, digests[-1])
    # queried last: a revision that is not compacted now was not compacted when the rows were read
    ((compacted, _),) = await connection.fetch(Statement.HORIZON, {})
    return Rows((), (), (), (), (), (compacted,))


def _record(row: Row) -> Record:
    return Record._make(row)  # SQLite's booleans are numbers, which is sufficient
