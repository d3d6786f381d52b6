"""What a server's store stands on, as the options say: memory, a file, a database, or a moment.

`server` opens its store on it; snapshots, replays and moments of the past are loaded where they
are asked for.
"""

from pathlib import Path

from inkube.apiserver import root
from inkube.apiserver.configuration import Options
from inkube.storage.compaction import CompactionOptions
from inkube.storage.log import Log, MemoryLog
from inkube.storage.store import StoreOptions
from inkube.storage.writer import WriterOptions


def checked(options: Options) -> Options:
    """The options, without what a moment of the past or a replay goes without.

    Raises ValueError for what asks for it.
    """
    if options.at is not None:
        options = root.past.checked(options)
    if options.replay is not None:
        options = root.replay.checked(options)
    return options


def store_options(options: Options) -> StoreOptions:
    """Whether the store may be written, and what it forgets."""
    read_only = options.at is not None
    forgets = not (options.keep_history or read_only)
    return StoreOptions(
        writer=WriterOptions(read_only=read_only),
        compaction=CompactionOptions() if forgets else None,
    )


async def snapshot(options: Options) -> "root.snapshots.Snapshot | None":
    """What an in-memory server begins with. Raises ValueError, OSError, LogError."""
    found = options.snapshot
    if found is None:
        return None
    if options.data is not None or options.database:
        raise ValueError("a server begins with a snapshot in memory: give no data or database")
    if isinstance(found, str | Path):
        return await root.snapshots.load(found)
    if not isinstance(found, root.snapshots.Snapshot):
        raise TypeError(f"snapshot is a Snapshot or the path of a file, not {found!r}")
    return found


def player(options: Options) -> "root.replay.Player | None":
    """Who plays what was captured, where that is asked for."""
    return None if options.replay is None else root.replay.Player(options.replay, options.speed)


def log(options: Options, begun: "root.snapshots.Snapshot | None") -> Log:
    """Where revisions are kept; `begun` is what one in memory begins with.

    Raises ValueError for a database that cannot be asked.
    """
    if options.database:
        return _postgresql(options.database)
    if options.data is None:
        return MemoryLog() if begun is None else MemoryLog(begun.log)
    sqlite = root.SqliteOptions(synchronous="FULL" if options.durable else "NORMAL")
    return root.sqlite_log(options.data, sqlite)


def _postgresql(url: str) -> Log:
    if not url.startswith(("postgresql://", "postgres://", "postgresql+asyncpg://")):
        raise ValueError("a database is given as postgresql://user@host/name")
    try:
        make = root.postgresql_log
    except ImportError as error:
        raise ValueError("PostgreSQL takes a driver: pip install 'inkube[postgresql]'") from error
    return make(url)
