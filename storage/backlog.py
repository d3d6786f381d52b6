"""Reads the changes from the log that a subscription missed and that history no longer contains.

They are read in parts with a limited number of bytes, because each subscriber holds its part in
memory.
"""

from inkube.storage import writes
from inkube.storage.entry import Changes, EntryCodec
from inkube.storage.log import Log

SIZE = 256 * 1024  # bytes of a part, as the parts before it let expect
FIRST, MOST = 8, 100  # rows of the first part, rows of any
GROWS = 4  # times the rows of the part before, at most


class Backlog:
    """The changes under a prefix up to a revision, for one subscriber."""

    def __init__(self, log: Log, coder: EntryCodec, prefix: str, until: int) -> None:
        self._log = log
        self._coder = coder
        self._prefix = prefix
        self._until = until
        self._rows = FIRST

    async def read(self, after: int) -> tuple[Changes, bool]:
        """Return the first part after a revision, and whether it is the last. Later changes are in
        the subscriber's queue. Raises Compacted, LogError."""
        limit, coder = self._rows, self._coder
        rows = await self._log.changes(self._prefix, after, limit)
        changes = [
            writes.change(row, writes.entry(before, coder) if before else None, coder)
            for row, before in rows
            if row.revision <= self._until
        ]
        fits = limit * SIZE // max(sum(change.weight for change in changes), 1)
        self._rows = max(1, min(fits, limit * GROWS, MOST))
        return changes, len(changes) < limit
