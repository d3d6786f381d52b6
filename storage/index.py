"""Entries sorted by key, in runs short enough that an insert moves little.

Finding a key, a page or how many keys lie before one takes two binary searches, however many there
are; a list of a prefix is a few slices. There is no dict beside the runs: at a million objects it
would take 40 bytes each to save a microsecond. Only `cache` uses this.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from inkube.storage.entry import Entry

# Inserting moves half a run on average: at 512 that is under a microsecond.
RUN = 512


class Index:
    """The current entries, in order of keys."""

    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        """From entries already in order, where there are any."""
        starts = range(0, len(entries), RUN) if entries else range(1)
        self._entries: list[list[Entry]] = [list(entries[n : n + RUN]) for n in starts]
        self._keys: list[list[str]] = [[e.key for e in run] for run in self._entries]
        # The first run also takes what comes before its first key.
        self._firsts: list[str] = ["", *(keys[0] for keys in self._keys[1:])]
        self._offsets: list[int] | None = None

    def __len__(self) -> int:
        return self._before(len(self._keys))

    def get(self, key: str) -> Entry | None:
        """The entry of a key."""
        run, place = self._place(key)
        keys = self._keys[run]
        return self._entries[run][place] if place < len(keys) and keys[place] == key else None

    def put(self, entry: Entry) -> None:
        """Add an entry, or replace the one with its key."""
        key = entry.key
        run, place = self._place(key)
        keys, entries = self._keys[run], self._entries[run]
        if place < len(keys) and keys[place] == key:
            entries[place] = entry
            keys[place] = key  # so that no older copy of the text is kept beside it
            return
        keys.insert(place, key)
        entries.insert(place, entry)
        self._offsets = None
        if len(keys) > 2 * RUN:
            self._split(run)

    def remove(self, key: str) -> None:
        """Take out the entry of a key. Raises KeyError."""
        run, place = self._place(key)
        keys = self._keys[run]
        if place >= len(keys) or keys[place] != key:
            raise KeyError(key)
        del keys[place], self._entries[run][place]
        self._offsets = None
        if not keys and len(self._keys) > 1:
            del self._keys[run], self._entries[run], self._firsts[run]
            self._firsts[0] = ""

    def list(self, low: str, high: str, limit: int = 0) -> list[Entry]:
        """The first `limit` entries (0: all) with keys in [low, high)."""
        if low >= high:
            return []
        (first, start), (last, end) = self._place(low), self._place(high)
        if first == last:
            found = self._entries[first][start:end]
        else:
            found = self._entries[first][start:]
            for run in range(first + 1, last):
                if limit and len(found) >= limit:
                    break
                found += self._entries[run]
            else:
                found += self._entries[last][:end]
        return found[:limit] if limit else found

    def count(self, low: str, high: str) -> int:
        """How many keys are in [low, high)."""
        if low >= high:
            return 0
        (first, start), (last, end) = self._place(low), self._place(high)
        return self._before(last) + end - self._before(first) - start

    def _place(self, key: str) -> tuple[int, int]:
        run = bisect_right(self._firsts, key) - 1
        return run, bisect_left(self._keys[run], key)

    def _before(self, run: int) -> int:
        """How many entries lie in the runs before one; worked out when asked after a change."""
        if self._offsets is None:
            self._offsets = [0, *accumulate(map(len, self._keys))]
        return self._offsets[run]

    def _split(self, run: int) -> None:
        keys, entries = self._keys[run], self._entries[run]
        self._keys.insert(run + 1, keys[RUN:])
        self._entries.insert(run + 1, entries[RUN:])
        self._firsts.insert(run + 1, keys[RUN])
        del keys[RUN:], entries[RUN:]
