"""What the log of a server in memory begins with: the namespaces of every cluster.

The first server of a process creates them through the registry, like any client. Those after it
begin with the same states and revisions, with times and uids of their own: the four creates are a
third of what the start of a server in a test takes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import orjson

from inkube.apiserver.configuration import Options
from inkube.apiserver.registry import SystemFields
from inkube.schemas import caches
from inkube.storage import Snapshot, Store, log


class _First(NamedTuple):
    """A first object: its record, and the uid and time in its bytes."""

    record: log.Record
    uid: bytes
    time: bytes


_KNOWN: caches.Table[tuple[object, ...], Sequence[_First]] = caches.Table(__name__, "_KNOWN", 32)
"""By all that decides how these objects are made."""


def is_default_start(options: Options) -> bool:
    """Return whether a server has such a log: in memory, empty, and with uids that nothing
    repeats."""
    sources = (options.data, options.database, options.snapshot, options.at, options.replay)
    return not any(sources) and options.seed is None


def snapshot(options: Options, system_fields: SystemFields) -> Snapshot:
    """Return the beginning; it is empty for the first server of a process."""
    known = _KNOWN.get(_key(options))
    if known is None:
        return log.EMPTY
    time, now = system_fields.timestamp().encode(), int(system_fields.now().timestamp() * 1_000_000)
    records = []
    for record, old_uid, old_time in known:
        data = record.data.replace(old_uid, system_fields.uid().encode())
        records.append(record._replace(data=data.replace(old_time, time), time=now))
    return Snapshot(records, log.EMPTY.compacted)


async def keep(options: Options, store: Store) -> None:
    """Keep what a server has created in its empty log, for those that start after it."""
    if _key(options) not in _KNOWN:
        records = [_first(record) for record in (await store.snapshot()).records]
        known = [each for each in records if each is not None]
        if len(known) == len(records):
            _KNOWN.keep(_key(options), known)


def _first(record: log.Record) -> _First | None:
    """Return None for an object with several times, written over the end of a second."""
    meta = orjson.loads(record.data)["metadata"]
    time = meta["creationTimestamp"]
    if any(each["time"] != time for each in meta["managedFields"]):
        return None
    return _First(record, meta["uid"].encode(), time.encode())


def _key(options: Options) -> tuple[object, ...]:
    plugins = (*options.enable_admission_plugins, "", *options.disable_admission_plugins)
    return options.release.minor, *plugins
