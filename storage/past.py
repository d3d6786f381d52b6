"""A moment of a log as a log of its own, in memory: what was there then, and what is kept before.

Used to look at the past without touching it (`inkube serve --at`), and by what reads a log once.
"""

from inkube.storage.errors import Compacted, FutureRevision
from inkube.storage.log import Log, MemoryLog, Record, Snapshot

ROWS = 10_000  # read at once


async def copied(log: Log, *, revision: int = 0, moment: float = 0.0) -> MemoryLog:
    """What an open log holds up to a revision, or to a moment in seconds since 1970 (neither: now).

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
        found = await log.missed(last, ROWS)
        records += (record for record in found.records if record.revision <= revision)
        if len(found.records) < ROWS or found.records[-1].revision >= revision:
            break
        last = found.records[-1].revision
    # Asked last: what is not compacted now was not when it was read.
    compacted = (await log.horizon()).compacted
    if revision < compacted:
        raise Compacted(revision, compacted)
    return MemoryLog(Snapshot(records, compacted))
