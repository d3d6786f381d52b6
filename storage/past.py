"""A log in memory with the state of another log at a revision or time, and the changes before it.

`inkube serve --at` uses it to show the past without changing it, and commands use it to read a log
once.
"""

from inkube.storage.errors import Compacted, FutureRevision
from inkube.storage.log import Log, MemoryLog, Record, Snapshot

ROWS = 10_000  # rows that are read at once


async def copied(log: Log, *, revision: int = 0, moment: float = 0.0) -> MemoryLog:
    """Return a copy of an open log up to a revision, or up to a time in seconds since 1970; by
    default, the whole log.

    Raises Compacted, FutureRevision, LogError.
    """
    horizon = await log.horizon()
    if moment:
        revision = await log.before(int(moment * 1_000_000))
    revision = revision or horizon.newest
    if revision > horizon.newest:
        raise FutureRevision(revision, horizon.newest)
    records: list[Record] = []
    last = 0
    while True:
        missed = await log.missed(last, ROWS)
        records += (record for record in missed.records if record.revision <= revision)
        if len(missed.records) < ROWS or missed.records[-1].revision >= revision:
            break
        last = missed.records[-1].revision
    # queried last: a revision that is not compacted now was not compacted before
    compacted = (await log.horizon()).compacted
    if revision < compacted:
        raise Compacted(revision, compacted)
    return MemoryLog(Snapshot(records, compacted))
