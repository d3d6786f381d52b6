"""Arguments of commands that select a revision, a time, and the data to read."""

import contextlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from inkube import storage
from inkube.apiserver import sources
from inkube.apiserver.configuration import LOCAL
from inkube.storage import Log


class Moment(click.ParamType):  # type: ignore[type-arg] # no generic before click 8.4
    """A revision (digits) or a time in RFC 3339. A time without a zone is in the local time
    zone."""

    name = "revision|time"
    unknown = "is neither a revision nor a time like 2026-01-31T12:00:00Z"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | datetime:
        """Return a revision, or a time with a time zone. Raises click.BadParameter."""
        if isinstance(value, int | datetime):
            return value
        if value.isdecimal():
            return int(value)
        try:
            return datetime.fromisoformat(value).astimezone()
        except ValueError:
            self.fail(f"{value!r} {self.unknown}")


@contextlib.contextmanager
def log_of(data: Path | None, database: str) -> Iterator[Log]:
    """Yield the log of an existing file, or of a database. Raises click.ClickException,
    StorageError, OSError."""
    if database:
        try:
            log: Log = sources.foundation.shared_log(database)
        except ValueError as error:
            raise click.ClickException(str(error)) from error
        yield log
        return
    path = data or LOCAL
    if not path.exists():
        raise click.ClickException(
            f"{path} does not exist; name the data with --data FILE or --database URL"
        )
    with storage.readable(path) as found:
        yield storage.sqlite_log(found)


async def revision_of(log: Log, moment: int | datetime) -> int:
    """Return the newest revision at a moment. Raises LogError."""
    if isinstance(moment, int):
        return moment
    return await log.before(int(moment.timestamp() * 1_000_000))
