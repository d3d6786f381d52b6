"""The replay of a captured file: first its initial state, then the recorded changes at their pace.

The server begins with the state at the start of the capture. `Player` then repeats the recorded
changes. It divides the recorded intervals by `speed`. A recorded change overwrites changes of
clients. Loaded with the option `replay`.
"""

import asyncio
import contextlib
import logging
from dataclasses import replace
from pathlib import Path
from typing import Self

import orjson

from inkube import storage
from inkube.apiserver.configuration import Options
from inkube.apiserver.registry import keys
from inkube.storage import Log, MemoryLog, Record, Store, errors, past

logger = logging.getLogger(__name__)
PAGE = 500


def validated(options: Options) -> Options:
    """Return the options of a replay. Raises ValueError for options that contradict it."""
    conflicting = (
        name for name in ("data", "database", "at", "snapshot") if getattr(options, name)
    )
    for name in (*conflicting, *options.start_modules):
        raise ValueError(f"a replay is kept in memory, so it cannot be combined with {name}")
    if options.replay is None or not options.replay.exists():
        raise ValueError(f"{options.replay} does not exist")
    if options.speed <= 0:
        raise ValueError(f"{options.speed:g} is not the speed of a replay; use a number above 0")
    # the recording contains the changes of the cluster's controllers
    return replace(options, controllers=False)


class Player:
    """An open recording: call `start`, then `play`. At the end of the context, both stop."""

    def __init__(self, log: Log, start: Record, speed: float, file: contextlib.ExitStack) -> None:
        """`file` is closed after the log."""
        self._log = log
        self._file = file
        self._start = start
        self._speed = speed
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> MemoryLog:
        """Return a log with the first state. Raises StorageError."""
        try:
            return await past.copied(self._log, revision=self._start.revision)
        except BaseException:
            await self._close()
            raise

    def play(self, store: Store) -> None:
        """Start to repeat the recorded changes."""
        self._task = asyncio.create_task(self._play(store), name="inkube-replay")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self._close()

    async def _close(self) -> None:
        with self._file:
            await self._log.close()

    async def _play(self, store: Store) -> None:
        loop = asyncio.get_running_loop()
        start_time, revision = loop.time(), self._start.revision
        try:
            while rows := await self._log.changes(keys.ROOT, revision, PAGE):
                for record, _ in rows:
                    play_time = (
                        start_time + (record.time - self._start.time) / 1_000_000 / self._speed
                    )
                    await asyncio.sleep(max(0.0, play_time - loop.time()))
                    await _repeat(store, record)
                revision = rows[-1][0].revision
        except errors.StorageError as error:
            logger.error("the replay ends: %s", error)
            return
        logger.info("the replay has come to its end")


async def open_player(path: Path, speed: float) -> Player:
    """Return the recording in a file. Raises StorageError, and ValueError if it is not a
    capture."""
    with contextlib.ExitStack() as stack:
        log: Log = storage.sqlite_log(stack.enter_context(storage.readable(path)))
        await log.open()
        try:
            return Player(log, await _start(path, log), speed, stack.pop_all())
        except BaseException:
            await log.close()
            raise


async def _start(path: Path, log: Log) -> Record:
    """Return the record that marks the end of the first state."""
    marks = await log.changes(keys.CAPTURED, (await log.horizon()).compacted, 1)
    if not marks:
        raise ValueError(f"{path} is not a file of inkube capture")
    return marks[0][0]


async def _repeat(store: Store, record: Record) -> None:
    """Repeat one change. If another client changes the object at the same time, try again."""
    value = orjson.loads(record.data)
    while True:
        entry = store.get(record.key)
        with contextlib.suppress(errors.PreconditionError):
            if record.deleted:
                if entry is not None:
                    await store.delete(record.key, entry.revision, value)
            elif entry is None:
                await store.create(record.key, value)
            else:
                await store.update(record.key, value, entry.revision)
            return
