"""Loading a log at the start: rows as columns, sorted at the end, without an object for each row.

A log is in the order of revisions, the index in the order of keys. Replaced states are dropped
whenever they are half of the rows, so a log with a long past takes at most twice the memory of the
current entries. Only `writer` uses this.
"""

from collections.abc import Sequence
from itertools import chain, compress, islice
from operator import lt, ne
from typing import NamedTuple

from inkube.storage.columns import Columns
from inkube.storage.entry import EntryCodec
from inkube.storage.log import Rows

# The number of replaced rows below which they are not dropped.
LEAST = 100_000


class Living(NamedTuple):
    """The current entries in the order of keys, and the keys of damaged entries, which are
    omitted."""

    entries: Columns
    damaged: Sequence[str]


class Loading:
    """The rows read so far."""

    def __init__(self, coder: EntryCodec) -> None:
        self._rows = Columns(coder.make)
        self._find_damaged = coder.damaged
        self._damaged: set[int] = set()
        """The revisions of damaged rows, including replaced ones."""
        self._deleted: set[int] = set()
        """The revisions of deletions."""
        self._outlived = 0
        """The largest possible number of replaced rows since the last sort."""
        self._next = LEAST
        self._sorted = True
        """Whether the rows are in the order of keys, with each key only one time."""

    def __len__(self) -> int:
        """Return the number of rows, including replaced ones."""
        return len(self._rows)

    def add(self, rows: Rows) -> None:
        """Add the next rows of the log. Data of deletions is dropped."""
        held = self._rows
        self._sorted = self._sorted and _is_ascending(held.keys[-1:], rows.keys)
        held.keys += rows.keys
        held.revisions.extend(rows.revisions)
        held.created.extend(rows.created)
        if rows.deleted:
            self._deleted.update(rows.deleted)
            pairs = zip(rows.data, rows.revisions, strict=True)
            held.data += [b"" if at in self._deleted else data for data, at in pairs]
        else:
            held.data += rows.data
        # now, while the bytes are in the processor's cache
        self._damaged.update(self._find_damaged(rows.data, rows.revisions))
        # A row of an existing object replaces an earlier row, unless that one was compacted. A
        # deletion also replaces itself.
        self._outlived += sum(map(ne, rows.created, rows.revisions)) + len(rows.deleted)
        if len(held) >= self._next and 2 * self._outlived >= len(held):
            self._settle()
            self._next = max(LEAST, 2 * len(held))

    def living(self) -> Living:
        """Return the current entries."""
        self._settle()
        rows, damaged = self._rows, self._damaged
        if not damaged or damaged.isdisjoint(rows.revisions):
            return Living(rows, ())
        left_out = [
            key for key, revision in zip(rows.keys, rows.revisions, strict=True)
            if revision in damaged
        ]  # fmt: skip
        rows.keep([n for n, revision in enumerate(rows.revisions) if revision not in damaged])
        return Living(rows, left_out)

    def _settle(self) -> None:
        """Sort the rows, and keep the last row of each key, unless it is a deletion."""
        keys, revisions, deleted = self._rows.keys, self._rows.revisions, self._deleted
        if not deleted and self._sorted:
            return
        # the sort is stable: rows of one key stay in the order of their revisions
        places = sorted(range(len(keys)), key=keys.__getitem__)
        ordered = map(keys.__getitem__, places)
        following = map(keys.__getitem__, islice(places, 1, None))
        places = list(compress(places, map(ne, ordered, chain(following, (None,)))))
        if deleted:
            places = [place for place in places if revisions[place] not in deleted]
        self._rows.keep(places)
        deleted.clear()
        self._outlived = 0
        self._sorted = True


def _is_ascending(before: Sequence[str], keys: Sequence[str]) -> bool:
    """Return whether keys ascend, also from the key before."""
    return all(map(lt, before, keys)) and all(map(lt, keys, islice(keys, 1, None)))
