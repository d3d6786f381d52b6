"""The foundation of a server: its store from memory, a file, a database, a past revision or a
recording.

`lifespan` opens it, and builds all other parts on it. Code for snapshots, replays and past
revisions is loaded only if the options need it.
"""

import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from inkube import storage
from inkube.apiserver import auth
from inkube.apiserver.auth import KeyFiles, Keys
from inkube.apiserver.configuration import Options
from inkube.apiserver.registry import JSONCodec, SystemFields
from inkube.apiserver.sources import beginnings, earlier
from inkube.apiserver.sources.progress import Progress
from inkube.apiserver.sources.sharedkeys import SharedKeys
from inkube.controllers.clock import Clock, MovableClock, RevisionClock
from inkube.schemas import releases
from inkube.storage import (
    CompactionOptions,
    Log,
    MemoryLog,
    Snapshot,
    Store,
    StoreOptions,
    WriterOptions,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Foundation:
    """The parts on which every other part of a server depends."""

    store: Store
    clock: Clock
    system_fields: SystemFields
    keys: Keys
    snapshot: "earlier.snapshots.Snapshot | None"
    """The snapshot from which the store began."""
    player: "earlier.replay.Player | None"
    """Replays a captured file, after the server is ready."""
    is_shared: bool
    """Whether other servers can run controllers on the same log."""


async def open_foundation(
    options: Options, progress: Progress, stack: contextlib.AsyncExitStack
) -> Foundation:
    """Open the store until `stack` is closed. Raises StorageError, ValueError, OSError."""
    start_snapshot, replay_player = await snapshot(options), await player(options)
    clock = _clock(options, lambda: store.revision)
    system_fields = SystemFields(now=clock.now, seed=options.seed)
    store = Store(
        await _log(options, start_snapshot, replay_player, system_fields),
        JSONCodec(),
        store_options(options),
        now=lambda: system_fields.now().timestamp(),
    )
    with progress.report_loading(store):
        await stack.enter_async_context(store)
    minor = options.release.minor
    if minor != releases.NEWEST.minor and store.revision:
        earlier.compatibility.check(store, minor)
    if options.data is not None or options.database:
        for warning in earlier.unserved.warnings(store, options.module_names):
            logger.warning("%s", warning)
    if replay_player is not None:
        await stack.enter_async_context(replay_player)
    keys = await _keys(options, store, start_snapshot)
    for key in keys.stored():
        auth.keychecks.check(key)
    shares = store.shared and options.at is None
    return Foundation(store, clock, system_fields, keys, start_snapshot, replay_player, shares)


def _clock(options: Options, revision: Callable[[], int]) -> Clock:
    if options.clock is not None:
        given: Clock = options.clock
        return given
    return MovableClock() if options.seed is None else RevisionClock(revision)


async def _log(
    options: Options,
    start_snapshot: "earlier.snapshots.Snapshot | None",
    replay_player: "earlier.replay.Player | None",
    system_fields: SystemFields,
) -> Log:
    if replay_player is not None:
        return await replay_player.start()
    first = None if start_snapshot is None else start_snapshot.log
    if beginnings.is_default_start(options):
        first = beginnings.snapshot(options, system_fields)
    if options.at is None:
        return log(options, first)
    if options.data is None:
        return await earlier.past.at(log(options, first), options)
    with storage.readable(options.data) as data:
        return await earlier.past.at(storage.sqlite_log(data), options)


async def _keys(
    options: Options, store: Store, start_snapshot: "earlier.snapshots.Snapshot | None"
) -> Keys:
    if options.database:
        return await SharedKeys.read(store)
    token = options.worker.admin_token if options.worker else ""
    return KeyFiles(options.data, None if start_snapshot is None else start_snapshot.keys, token)


def validated(options: Options) -> Options:
    """Return the options, without features that a past revision or a replay cannot have.

    Raises ValueError for options that request such a feature.
    """
    if options.at is not None:
        options = earlier.past.validated(options)
    if options.replay is not None:
        options = earlier.replay.validated(options)
    return options


def store_options(options: Options) -> StoreOptions:
    """Return the options of the store: whether it is read-only, and whether it compacts old
    revisions."""
    read_only = options.at is not None
    forgets = not (options.keep_history or read_only)
    return StoreOptions(
        writer=WriterOptions(read_only=read_only),
        compaction=CompactionOptions() if forgets else None,
    )


async def snapshot(options: Options) -> "earlier.snapshots.Snapshot | None":
    """Return the snapshot from which an in-memory server begins. Raises ValueError, OSError,
    LogError."""
    source = options.snapshot
    if source is None:
        return None
    if options.data is not None or options.database:
        raise ValueError("snapshot is for servers in memory: remove data or database")
    if isinstance(source, str | Path):
        return await earlier.snapshots.load(source)
    if not isinstance(source, earlier.snapshots.Snapshot):
        raise TypeError(f"snapshot is a Snapshot or the path of a file, not {source!r}")
    return source


async def player(options: Options) -> "earlier.replay.Player | None":
    """Return the player of a captured file, if the options name one. Raises StorageError,
    ValueError."""
    if options.replay is None:
        return None
    return await earlier.replay.open_player(options.replay, options.speed)


def log(options: Options, start_snapshot: Snapshot | None) -> Log:
    """Return the log of the store. `start_snapshot` is the first state of a log in memory.

    Raises ValueError for a URL that is not PostgreSQL's, or if its driver is not installed.
    """
    if options.database:
        return shared_log(options.database)
    if options.data is None:
        return MemoryLog() if start_snapshot is None else MemoryLog(start_snapshot)
    sqlite = storage.SqliteOptions(synchronous="FULL" if options.durable else "NORMAL")
    return storage.sqlite_log(options.data, sqlite)


def shared_log(url: str) -> Log:
    """Return the log in a database. Raises ValueError for another URL or a missing driver."""
    opener = next((each for each in _LOGS if url.startswith(each.schemes)), None)
    if opener is None:
        forms = " or ".join(each.form for each in _LOGS)
        raise ValueError(f"the URL of a database must have the form {forms}")
    try:
        return opener.open_log(url)
    except ImportError as error:
        raise ValueError(f"{opener.name} needs a driver: pip install {opener.driver}") from error


class _Opener(NamedTuple):
    """A kind of log that several servers share."""

    name: str
    schemes: tuple[str, ...]
    form: str
    driver: str
    open_log: Callable[[str], Log]


_LOGS = (
    _Opener(
        "PostgreSQL",
        ("postgresql://", "postgres://", "postgresql+asyncpg://"),
        "postgresql://user@host/name",
        "asyncpg",
        lambda url: storage.postgresql_log(url),  # noqa: PLW0108 # loads it when it is called
    ),
)
"""Every kind of log that `Options.database` can name."""
