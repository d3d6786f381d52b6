"""SQLite: the file, its pragmas, its locks, its errors.

A file is in WAL mode, and several processes on one machine can share it. The write lock is BEGIN
IMMEDIATE, or one statement that inserts if no other process has written meanwhile. The newest
revision is read on a separate connection in the event loop: the value is in memory that the
processes share, so the few microseconds cost less than a call to the driver's thread.
"""

import asyncio
import contextlib
import sqlite3
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import aiosqlite

from inkube.storage import alarms, files, soundness, wal
from inkube.storage.cancellation import run_to_end
from inkube.storage.errors import Locked, LogError, NotOurs, Unavailable
from inkube.storage.log import Head, Record, Rows, digest
from inkube.storage.sql import statements
from inkube.storage.sql.log import SqlLog
from inkube.storage.sql.statements import COLUMNS, Row, Statement

# "inku" in the header of the file, so that the database of another program is never written
APPLICATION_ID = 0x696E6B75

# a `-wal` of one transaction that is larger than this is truncated after its checkpoint
WAL_BYTES = 16 * 2**20

WAL_RETRY = 0.01

# Rows of one INSERT. The driver's thread acquires the interpreter after each statement, not after
# each row, so it does not compete with the event loop. The driver caches this number of statements.
ROWS = 128

# The largest object in bytes that is read joined with others, which are in memory twice for a
# moment.
JOINED = 16 * 1024

# Seconds between two checks for writes of other processes: usually, and while other processes
# write. A check takes a few microseconds.
POLL, OFTEN = 0.1, 0.01

# Checks without a commit after which the files themselves are checked.
QUIET = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteOptions:
    """`synchronous` FULL survives power cuts, NORMAL only the end of the process.

    `lock_timeout` is how many seconds to wait for another process to finish a write.
    """

    synchronous: Literal["FULL", "NORMAL"] = "FULL"
    lock_timeout: float = 5.0


def sqlite_log(path: Path | str, options: SqliteOptions | None = None) -> SqlLog:
    """Return the log in a file, which the first `open` creates."""
    return SqlLog(SqliteDatabase(Path(path), options or SqliteOptions()))


_STATEMENTS = statements.sqlite()
_JOINED = """
SELECT count(*), sum(length(data) <= ?), group_concat(revision), group_concat(key, char(10)),
       group_concat(created), group_concat(CASE WHEN deleted THEN revision END),
       CAST(group_concat(CASE WHEN length(data) <= ? THEN data END, char(10)) AS BLOB),
       (SELECT max(value) FROM meta WHERE name IN ('compacted', 'epoch')), max(revision), digest
FROM (SELECT * FROM log WHERE revision > ? ORDER BY revision LIMIT ?)
"""
_NEWEST = _STATEMENTS.compiled[Statement.NEWEST].text
_HAS_DIGESTS = "SELECT count(*) FROM pragma_table_info('log') WHERE name = 'digest'"
_COMPACTED = "SELECT max(value) FROM meta WHERE name IN ('compacted', 'epoch')"
_BASE = """
SELECT COALESCE(
    (SELECT digest FROM log WHERE revision = ?),
    (SELECT digest.value FROM meta AS digest, meta AS boundary
     WHERE digest.name = 'boundary_digest' AND boundary.name = 'boundary' AND boundary.value = ?))
"""
_insertion = lru_cache(maxsize=ROWS)(_STATEMENTS.insertion)


@lru_cache(maxsize=ROWS)
def _insertion_after(rows: int) -> str:
    """Return one statement that inserts this number of rows if no other process has written since.

    The parameters are the revision of the first row, and then the row before it: its revision, and
    twice its revision and its digest. If another process has appended the first revision, the
    primary key rejects the row. If this process has not seen the latest compaction, or the row
    before has another digest (the log has another history), a null key rejects it.
    """
    row = f"({', '.join('?' * len(COLUMNS))})"
    condition = f"({_COMPACTED}) <= ? AND (? = 0 OR ({_BASE}) IN (0, ?))"
    first = row.replace("?, ?", f"?, CASE WHEN {condition} THEN ? END", 1)
    return (
        f"INSERT INTO log ({', '.join(COLUMNS)}) "  # noqa: S608 # names of our own
        f"VALUES {', '.join([first, *[row] * (rows - 1)])}"
    )


def _cells(records: Sequence[Record]) -> list[Any]:
    """Return the values to bind, in the types that sqlite3 binds unchanged. For bytes and bools,
    sqlite3 searches for an adapter each time, which takes a fifth of an insertion."""
    return [
        cell
        for record in records
        for revision, key, previous, created, deleted, data, time in (record,)
        for cell in (
            revision, key, previous, created, int(deleted), digest(record), bytearray(data), time
        )
    ]  # fmt: skip


_DIGEST = COLUMNS.index("digest") - len(COLUMNS)


class _Looks:
    """Looks for commits at intervals, in a timer: to wake up a task takes longer than a look, and
    most find nothing."""

    def __init__(self, presence: files.Presence, seconds: float) -> None:
        self._presence = presence
        self._seconds = seconds
        self._left = QUIET
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        """Done after a look that found something, or the last one."""
        self._timer = self._loop.call_later(seconds, self._look)

    def _look(self) -> None:
        self._left -= 1
        if self._left and not self._presence.has_commits():
            self._timer = self._loop.call_later(self._seconds, self._look)
        elif not self.ended.done():
            self.ended.set_result(None)

    def cancel(self) -> None:
        """Look no more."""
        self._timer.cancel()


class SqliteDatabase:
    """A database of SQLite in a file."""

    errors = (sqlite3.Error,)
    poll, often = POLL, OFTEN
    optimistic = True
    failure = ""

    def __init__(self, path: Path, options: SqliteOptions) -> None:
        # absolute, because some relative names have a special meaning in SQLite, such as ":memory:"
        self.name = str(path.absolute())
        self._options = options
        self._presence = files.Presence(path.absolute(), soundness.changed)
        self._glass: sqlite3.Connection | None = None
        self._connections: set[SqliteConnection] = set()

    async def connect(self) -> "SqliteConnection":
        """Return a connection. Changes nothing before the file is known to be empty or to belong to
        inkube. Raises NotOurs and `errors`."""
        # aiosqlite leaves a thread behind if it cannot open a file, so check before
        self._presence.check()
        try:
            files.create(Path(self.name))
        except OSError as error:
            raise Unavailable(f"{self.name}: {error}") from error
        self._check_alarm()
        self._check_wal()
        await self._check_unused()
        await self._check_content()
        sqlite3.connect(self.name).close()
        self._presence.note()
        driver = await _opened(self.name)
        connection = SqliteConnection(self.name, driver, self._presence, self._closed)
        self._connections.add(connection)
        try:
            await connection.prepare(self._options)
            self._presence.note_opened()
            files.make_private(Path(self.name))
        except BaseException:
            await connection.close()
            raise
        return connection

    def _check_alarm(self) -> None:
        """Check that no server has found the file damaged. Raises Unavailable."""
        alarm = self._alarm()
        if alarm is not None and alarm.damage not in ("", files.UNCHECKED):
            raise Unavailable(
                f"{self.name} is damaged: {alarm}. Stop every server of it, then keep what can be "
                f"read: inkube repair {self.name}"
            )

    async def _check_content(self) -> None:
        """Do what a process left undone that ended before it had checked the file. Raises
        Unavailable."""
        alarm, path = self._alarm(), Path(self.name)
        if alarm is None or alarm.damage != files.UNCHECKED:
            return
        try:
            found = await asyncio.to_thread(soundness.changed, path, alarm.revision)
            if not found:
                alarms.clear(path, files.UNCHECKED)
                return
        except (sqlite3.Error, OSError) as error:
            found = str(error)
        alarms.leave(path, found, alarm.revision)
        self._check_alarm()

    def _alarm(self) -> alarms.Alarm | None:
        try:
            return alarms.read(Path(self.name))
        except OSError as error:
            raise Unavailable(f"{alarms.path(Path(self.name))}: {error}") from error

    def _check_wal(self) -> None:
        """Check the `-wal` of processes that ended, before SQLite leaves out what follows damage.
        Raises Unavailable."""
        path = Path(self.name)
        try:
            damage = wal.damage(path)
        except OSError as error:
            raise Unavailable(f"{self.name}-wal: {error}") from error
        if damage:
            raise Unavailable(
                f"{self.name} cannot be read to its end: {damage}. Stop every server of it, then "
                f"keep what can be read: inkube repair {self.name}"
            )

    async def _check_unused(self) -> None:
        """Check that no other process uses a file without its `-shm`: a new one would begin another
        history. Raises Unavailable."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._options.lock_timeout
        while files.lacks_index(Path(self.name)):
            with contextlib.closing(sqlite3.connect(self.name, timeout=0)) as probe:
                try:
                    # this needs no -shm, but the file for itself
                    probe.execute("PRAGMA locking_mode = EXCLUSIVE")
                    probe.execute("SELECT count(*) FROM sqlite_master").fetchall()
                    return
                except sqlite3.Error as error:
                    if not _is_busy(_code(error)):
                        return  # what it is, is told by the next connection
            if clock() > deadline:
                raise Unavailable(
                    f"{self.name}-shm was deleted while another process uses {self.name}. Stop "
                    "that process, then start again"
                )
            await asyncio.sleep(WAL_RETRY)

    def translate(self, error: Exception) -> LogError:
        code = _code(error)
        if code == "SQLITE_NOTADB":
            return NotOurs(f"{self.name} is not a database")
        if _is_busy(code):
            return Locked(f"{self.name} is locked by another process")
        if code.startswith("SQLITE_CORRUPT"):
            self._presence.condemn(str(error))
        return Unavailable(f"{self.name}: {error}")

    def survives(self, error: BaseException) -> bool:
        """Return True: a failed statement changes nothing, and the file is still open."""
        return True

    def replaced(self) -> int | None:
        """Return the newest revision of a file that was here before, if a server has noticed that
        it was deleted or replaced. Raises Unavailable."""
        alarm = self._alarm()
        return None if alarm is None else alarm.revision

    def continued(self) -> None:
        """Remove the alarm, because clients of the earlier file will list again. Raises
        Unavailable."""
        try:
            alarms.clear(Path(self.name))
        except OSError as error:
            raise Unavailable(f"{alarms.path(Path(self.name))}: {error}") from error

    def check(self) -> None:
        """Check that the files are those that were opened. Raises Unavailable."""
        self._presence.check()

    def glance(self) -> Head | None:
        """Return the newest committed row, or None if the file cannot be read at the moment. Can
        raise `errors`."""
        if self._glass is None:
            # In WAL mode, a read-only connection never waits for a writer. If it would have to wait
            # (a file that is being recovered), it fails at once. A deleted file is not created
            # again.
            where = f"{Path(self.name).as_uri()}?mode=rw"
            self._glass = sqlite3.connect(where, uri=True, timeout=0, isolation_level=None)
        try:
            rows = self._glass.execute(_NEWEST).fetchall()
        except sqlite3.Error as error:
            if _is_busy(_code(error)):
                return None
            raise
        head = Head(*rows[0]) if rows else Head(0)
        self._presence.revision = head.revision
        return head

    async def newest(self) -> Head:
        """Return the newest committed row, once the file can be read.

        Raises Locked after `lock_timeout` seconds. Can raise `errors`.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._options.lock_timeout
        while True:
            newest = self.glance()
            if newest is not None:
                return newest
            if clock() > deadline:
                raise Locked(f"{self.name} is locked by another process")
            await asyncio.sleep(WAL_RETRY)

    async def news(self, revision: int, within: float) -> Head:
        """Wait `within` seconds, and longer while nothing is committed. Returns the newest row.
        Raises Unavailable."""
        looks = _Looks(self._presence, within)
        try:
            await looks.ended
        finally:
            looks.cancel()
        self._presence.check()
        return self.glance() or Head(revision)

    async def close(self) -> None:
        if self._glass is not None:
            glass, self._glass = self._glass, None
            glass.close()
        self._forget()

    def _closed(self, connection: "SqliteConnection") -> None:
        self._connections.discard(connection)
        self._forget()

    def _forget(self) -> None:
        if not self._connections and self._glass is None:
            self._presence.forget()


async def _opened(name: str) -> aiosqlite.Connection:
    """Open a connection of the driver. A cancelled caller waits until the connection is open, and
    closes it: the thread of the driver reports to this event loop, which must not be closed before.
    """
    opening = asyncio.ensure_future(aiosqlite.connect(name, isolation_level=None))
    try:
        return await run_to_end(opening)
    except asyncio.CancelledError:
        with contextlib.suppress(sqlite3.Error):
            await run_to_end((await opening).close())
        raise


class SqliteConnection:
    """One connection to the file, with its own thread of the driver."""

    def __init__(
        self,
        name: str,
        driver: aiosqlite.Connection,
        presence: files.Presence,
        closed: "Callable[[SqliteConnection], None]",
    ) -> None:
        self._name = name
        self._driver = driver
        self._presence = presence
        self._closed = closed

    closed = False

    async def prepare(self, options: SqliteOptions) -> None:
        """Set the pragmas. The first one only reads. Raises NotOurs."""
        await self._driver.execute(f"PRAGMA busy_timeout = {int(options.lock_timeout * 1000)}")
        await self._claim()
        await self._switch_to_wal(options.lock_timeout)
        await self._driver.execute(f"PRAGMA synchronous = {options.synchronous}")
        await self._driver.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
        await self.pragma("schema_version")  # the first read opens the -wal

    async def pragma(self, name: str) -> Any:
        """Return the value of a pragma."""
        ((value,),) = await self._driver.execute_fetchall(f"PRAGMA {name}")
        return value

    async def _claim(self) -> None:
        if await self.pragma("application_id") == APPLICATION_ID:
            return
        ((tables,),) = await self._driver.execute_fetchall("SELECT count(*) FROM sqlite_master")
        if tables > 0:
            raise NotOurs(f"{self._name} is the database of another application")
        await self._driver.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    async def _switch_to_wal(self, timeout: float) -> None:
        """Switch to WAL mode. Repeats the attempt, because SQLite does not wait if two processes
        switch at the same time."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + timeout
        while True:
            try:
                await self._driver.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.Error as error:
                if clock() > deadline or not _is_busy(_code(error)):
                    raise
            await asyncio.sleep(WAL_RETRY)

    async def fetch(self, query: Statement, parameters: Mapping[str, Any]) -> Sequence[Row]:
        compiled = _STATEMENTS.compiled[query]
        rows = await self._driver.execute_fetchall(compiled.text, compiled.arguments(parameters))
        return list(rows)

    async def joined(self, revision: int, limit: int) -> Rows | None:
        """Return the rows joined into few values, or None if the statement must be run row by row.

        This is one step of a statement: SQLite reads a million rows without acquiring the
        interpreter, so the event loop can process earlier rows meanwhile.
        """
        try:
            (row,) = await self._driver.execute_fetchall(_JOINED, (JOINED, JOINED, revision, limit))
        except sqlite3.Error:  # invalid text, or a value that is too long
            return None
        count, fitting, revisions, keys, created, deleted, data, compacted, _, digest = row
        if not count:
            return None
        rows = Rows(
            array("q", map(int, revisions.split(","))),
            (keys or "").split("\n"),
            array("q", map(int, created.split(","))),
            frozenset(map(int, deleted.split(","))) if deleted else (),
            (data or b"").split(b"\n"),
            (compacted,),
            digest,
        )
        # a line feed occurs neither in JSON nor in a key of a client
        whole = fitting == count == len(rows.keys) == len(rows.data)
        return rows if whole else None

    async def execute(self, statement: Statement, parameters: Mapping[str, Any]) -> int:
        compiled = _STATEMENTS.compiled[statement]
        cursor = await self._driver.execute(compiled.text, compiled.arguments(parameters))
        return cursor.rowcount

    async def begin_set_up(self) -> None:
        """Begin a transaction with the write lock, and create missing tables, columns of digests
        and indexes."""
        await self.begin()
        for definition in _STATEMENTS.definitions:
            await self._driver.execute(definition)
        ((digests,),) = await self._driver.execute_fetchall(_HAS_DIGESTS)
        if not digests:
            await self._driver.execute(_STATEMENTS.adding_digests)

    async def upgrade(self, schema: int) -> None:
        for statement in _STATEMENTS.upgrades(schema):
            await self._driver.execute(statement)

    async def begin(self) -> None:
        """Begin a transaction and take the write lock. Raises Unavailable if the
        file was deleted."""
        self._presence.check()
        await self._driver.execute("BEGIN IMMEDIATE")

    async def begin_compaction(self) -> bool:
        """Begin a transaction with the write lock, which also excludes compactors. Returns True."""
        await self.begin()
        return True

    async def commit(self) -> None:
        await self._driver.execute("COMMIT")
        self._presence.check()

    async def roll_back(self) -> None:
        await self._driver.execute("ROLLBACK")

    async def append(self, records: Sequence[Record]) -> int:
        """Append rows to the log, in statements of at most `ROWS` rows. Returns the digest of the
        last one."""
        for start in range(0, len(records), ROWS):
            cells = _cells(rows := records[start : start + ROWS])
            await self._driver.execute(_insertion(len(rows)), cells)
        return int(cells[_DIGEST])

    async def append_next(self, after: Head, records: Sequence[Record]) -> int | None:
        """Append rows if `after` is the newest row. Returns the digest of the last one, or None if
        it is not.

        One statement is a transaction, and takes one call to the driver's thread instead of five. A
        single writer waits for each of these calls. More than `ROWS` rows are not appended.
        """
        if len(records) > ROWS or records[0].revision != after.revision + 1:
            return None
        self._presence.check()
        cells = _cells(records)
        before = after.revision
        cells[1:1] = (before, after.digest, before, before, after.digest)
        try:
            await self._driver.execute(_insertion_after(len(records)), cells)
        except sqlite3.IntegrityError:
            return None
        self._presence.check()  # before anybody is told
        self._presence.revision = records[-1].revision
        return int(cells[_DIGEST])

    async def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            await run_to_end(self._driver.close())
        self._closed(self)


def _code(error: Exception) -> str:
    return getattr(error, "sqlite_errorname", "") or ""


def _is_busy(code: str) -> bool:
    return code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
