"""The states that `inkube diff` compares: a moment of the data, a data file, or a dump."""

import asyncio
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from inkube import storage
from inkube.apiserver import dumps, sources
from inkube.apiserver.commands import moments
from inkube.apiserver.dumps import ImportOptions
from inkube.apiserver.registry import keys
from inkube.storage import Log, Range, Record

_DATABASE = b"SQLite format 3\0"
State = Mapping[str, Record]
"""The newest row of each key."""


class StateName(moments.Moment):
    """A revision, a time, or a path."""

    name = "revision|time|source"
    unknown = "does not exist, and is neither a revision nor a time like 2026-01-31T12:00:00Z"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a revision, a time with a time zone, or a path. Raises click.BadParameter."""
        if isinstance(value, str) and not value.isdecimal() and Path(value).exists():
            return Path(value)
        return super().convert(value, param, ctx)


async def at(log: Log, moment: int | datetime) -> State:
    """Return the state at a moment. Raises click.ClickException, LogError."""
    revision, newest = await moments.revision_of(log, moment), (await log.horizon()).newest
    if revision > newest:
        raise click.ClickException(
            f"revision {revision} does not exist yet; {newest} is the newest"
        )
    return {record.key: record for record in await log.at(Range(keys.ROOT), revision)}


def snapshot(state: State, *, secrets: bool) -> "sources.Snapshot":
    """Return a state as a snapshot, without the mark of a dump, and without Secrets unless they are
    wanted."""
    left = (keys.CAPTURED, keys.LEADER)
    secret = keys.prefix("secrets")
    rows = [
        row
        for key, row in state.items()
        if key not in left and (secrets or not key.startswith(secret))
    ]
    rows.sort(key=lambda row: row.revision)
    newest = rows[-1].revision if rows else 0
    return sources.Snapshot(storage.Snapshot(rows, newest))


async def of_source(source: Path, *, secrets: bool) -> State:
    """Return the state in a data file, or in a dump. Raises DumpError, StorageError, OSError."""
    if await asyncio.to_thread(_is_data, source):
        return await _of_data(source)
    with tempfile.TemporaryDirectory(prefix="inkube-diff-") as folder:
        data = Path(folder, "data.db")
        options = ImportOptions(secrets=secrets)
        await dumps.import_dump(source, data, options, report=lambda stage, count: None)
        return await _of_data(data)


def _is_data(source: Path) -> bool:
    if not source.is_file():
        return False
    with source.open("rb") as file:
        return file.read(len(_DATABASE)) == _DATABASE


async def _of_data(path: Path) -> State:
    with storage.readable(path) as found:
        log = storage.sqlite_log(found)
        await log.open()
        try:
            return await at(log, (await log.horizon()).newest)
        finally:
            await log.close()
