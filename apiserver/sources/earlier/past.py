"""A server at a past revision: a copy of the log up to this revision, which is read-only.

Loaded with the option `at`.
"""

from dataclasses import replace
from datetime import datetime

from inkube.apiserver.configuration import Options
from inkube.storage import Log, MemoryLog, past


def validated(options: Options) -> Options:
    """Return the options without controllers. Raises ValueError for options that need writes."""
    if options.data is None and not options.database:
        raise ValueError("at needs stored data: give data (--data) or database (--database)")
    if options.data is not None and not options.database and not options.data.exists():
        raise ValueError(f"{options.data} does not exist")
    conflicting = (name for name in ("definitions", "snapshot") if getattr(options, name))
    for name in (*options.start_modules, *conflicting):
        raise ValueError(f"{name} needs writes, so it cannot be combined with at")
    if isinstance(options.at, datetime) and options.at.tzinfo is None:
        raise ValueError(f"{options.at} has no time zone")
    return replace(options, controllers=False)


async def at(log: Log, options: Options) -> MemoryLog:
    """Return a copy of the log up to the revision or the time in the options. Raises
    StorageError."""
    await log.open()
    try:
        if isinstance(options.at, datetime):
            return await past.copied(log, moment=options.at.timestamp())
        return await past.copied(log, revision=options.at or 0)
    finally:
        await log.close()
