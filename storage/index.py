"""Entries sorted by key, in runs short enough that an insert moves little.

Finding a key, a page or the number of keys before a key takes two binary searches; a list of a
prefix is a few slices. There is no additional dict: with a million objects it would take 40 bytes
each to save a microsecond. Only `cache` uses this.
"""

from bisect import bisect_left, bisect_right
from itertools import accumulate

from inkube.storage.columns import Columns
from inkube.storage.entry import Entry

# an insert moves half a run on average: less than a microsecond for 512 entries
RUN = 512


class Index:
    """The current entries in the order of keys."""

    def __init__(self, entries: Columns) -> None:
        """Create the index from entries in the order of keys."""
        starts = range(0, len(entries), RUN) if entries else range(1)
        self._runs: list[Columns] = [entries[n : n + RUN] for n in starts]
        # the first run also contains keys before its first one
        self._firsts: list[str] = ["", *(run.keys[0] for run in self._runs[1:])]
        self._offsets: list[int] | None = None

    def __len__(self) -> int:
        return self._before(len(self._runs))

    def get(self, key: str) -> Entry | None:
        """Return the entry of a key, or None."""
        number, place = self._place(key)
        run = self._runs[number]
        return run[place] if place < len(run.keys) and run.keys[place] == key else None

    def put(self, entry: Entry) -> None:
        """Add an entry, or replace the one with its key."""
        number, place = self._place(entry.key)
        run = self._runs[number]
        if place < len(run.keys) and run.keys[place] == entry.key:
            run.replace(place, entry)
            return
        run.insert(place, entry)
        self._offsets = None
        if len(run) > 2 * RUN:
            self._split(number)

    def remove(self, key: str) -> None:
        """Remove the entry of a key. Raises KeyError."""
        number, place = self._place(key)
        run = self._runs[number]
        if place >= len(run) or run.keys[place] != key:
            raise KeyError(key)
        run.delete(place)
        self._offsets = None
        if not run and len(self._runs) > 1:
            del self._runs[number], self._firsts[number]
            self._firsts[0] = ""

    def list(self, low: str, high: str, limit: int = 0) -> Columns:
        """Return a copy of the first `limit` entries (0: all) with keys in [low, high)."""
        if low >= high:
            return self._runs[0][:0]
        (first, start), (last, end) = self._place(low), self._place(high)
        if first == last:
            return self._runs[first][start : min(end, start + limit) if limit else end]
        entries = self._runs[first][start : start + limit if limit else None]
        for number in range(first + 1, last + 1):
            left = limit - len(entries) if limit else RUN * 2
            if not left:
                break
            entries.extend(self._runs[number][: min(left, end) if number == last else left])
        return entries

    def count(self, low: str, high: str) -> int:
        """Return the number of keys in [low, high)."""
        if low >= high:
            return 0
        (first, start), (last, end) = self._place(low), self._place(high)
        return self._before(last) + end - self._before(first) - start

    def _place(self, key: str) -> tuple[int, int]:
        run = bisect_right(self._firsts, key) - 1
        return run, bisect_left(self._runs[run].keys, key)

    def _before(self, run: int) -> int:
        """Return the number of entries in the runs before one. It is computed at the first access
        after a change."""
        if self._offsets is None:
            self._offsets = [0, *accumulate(map(len, self._runs))]
        return self._offsets[run]

    def _split(self, number: int) -> None:
        run = self._runs[number]
        self._runs.insert(number + 1, run[RUN:])
        self._firsts.insert(number + 1, run.keys[RUN])
        run.delete(slice(RUN, None))
