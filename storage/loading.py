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
from inkube.storage.entry import Coder
from inkube.storage.log import Rows

# Rows that may be outlived before anybody looks.
LEAST = 100_000


class Living(NamedTuple):
    """The current entries in the order of keys, and the keys of damaged entries, which are left
    out."""

    entries: Columns
    damaged: Sequence[str]


class Loading:
    """The rows read so far."""

    def __init__(self, coder: Coder) -> None:
        self._rows = Columns(coder.make)
        self._find_damaged = coder.damaged
        self._damaged: set[int] = set()
        """The revisions of damaged rows, outlived or not."""
        self._deleted: set[int] = set()
        """The revisions of deletions among them."""
        self._outlived = 0
        """How many rows may have been outlived since they were sorted last."""
        self._next = LEAST
        self._sorted = True
        """Whether they are in order of keys, each of which is there once."""

    def __len__(self) -> int:
        """How many rows are held, outlived ones among them."""
        return len(self._rows)

    def add(self, rows: Rows) -> None:
        """Add what follows in the log; of a deletion without its data."""
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
        # now, while the bytes are still at hand for the processor
        self._damaged.update(self._find_damaged(rows.data, rows.revisions))
        # a row of what was created before outlives another, if that was not compacted; a deletion
        # outlives itself, too
        self._outlived += sum(map(ne, rows.created, rows.revisions)) + len(rows.deleted)
        if len(held) >= self._next and 2 * self._outlived >= len(held):
            self._settle()
            self._next = max(LEAST, 2 * len(held))

    def living(self) -> Living:
        """The current entries."""
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
        """Sort; of each key keep what was read last, unless that is a deletion."""
        keys, revisions, deleted = self._rows.keys, self._rows.revisions, self._deleted
        if not deleted and self._sorted:
            return
        # a sort is stable: rows of one key stay in the order of their revisions
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
    """Whether keys follow the one before, and each other."""
    return all(map(lt, before, keys)) and all(map(lt, keys, islice(keys, 1, None)))
