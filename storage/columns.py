"""Entries as columns, because one Python object for each of a million entries takes too much
memory.

Keys and data are lists, revisions are arrays of numbers. An entry takes 32 bytes in addition to its
key and its data; an object with five members and a number took 120. `Entry` objects are created on
access, in 0.2 microseconds each, and lists are joined without them. `index` stores these columns,
`loading` reads a log into them; lists hand out copies.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Self, SupportsIndex, overload

from inkube.storage.entry import Entry, Make, maker

_MAKE = maker(Entry)


class Columns(Sequence[Entry]):
    """A sequence of entries. It equals any sequence with equal entries."""

    __slots__ = ("created", "data", "keys", "make", "revisions")

    def __init__(self, make: Make = _MAKE, entries: Iterable[Entry] = ()) -> None:
        self.make = make
        self.keys: list[str] = []
        self.revisions = array("q")
        self.created = array("q")
        self.data: list[bytes] = []
        for entry in entries:
            self.insert(len(self.keys), entry)

    def __len__(self) -> int:
        return len(self.keys)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Entry | Self:
        if isinstance(index, slice):
            part = type(self)(self.make)
            part.keys, part.revisions = self.keys[index], self.revisions[index]
            part.created, part.data = self.created[index], self.data[index]
            return part
        return self.make(
            (self.keys[index], self.revisions[index], self.created[index], self.data[index])
        )

    def __iter__(self) -> Iterator[Entry]:
        return map(self.make, zip(self.keys, self.revisions, self.created, self.data, strict=True))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Columns):
            return (
                self.keys == other.keys
                and self.revisions == other.revisions
                and self.created == other.created
                and self.data == other.data
            )
        if isinstance(other, list):
            return list(self) == other
        return NotImplemented

    __hash__ = None  # type: ignore[assignment] # it changes

    def extend(self, other: Self) -> None:
        """Append the entries of another."""
        self.keys += other.keys
        self.revisions += other.revisions
        self.created += other.created
        self.data += other.data

    def insert(self, index: int, entry: Entry) -> None:
        """Insert an entry before a position."""
        self.keys.insert(index, entry.key)
        self.revisions.insert(index, entry.revision)
        self.created.insert(index, entry.created)
        self.data.insert(index, entry.data)

    def replace(self, index: int, entry: Entry) -> None:
        """Replace the entry at a position."""
        self.keys[index] = entry.key  # so that the older copy of the text is freed
        self.revisions[index] = entry.revision
        self.created[index] = entry.created
        self.data[index] = entry.data

    def delete(self, places: int | slice) -> None:
        """Remove the entry or the entries at positions."""
        del self.keys[places], self.revisions[places], self.created[places], self.data[places]

    def keep(self, places: Sequence[int]) -> None:
        """Keep only the entries at these positions, in this order."""
        self.keys = list(map(self.keys.__getitem__, places))
        self.revisions = array("q", map(self.revisions.__getitem__, places))
        self.created = array("q", map(self.created.__getitem__, places))
        self.data = list(map(self.data.__getitem__, places))


def data(entries: Sequence[Entry]) -> Sequence[bytes]:
    """Return the data of entries, without creating `Entry` objects."""
    return entries.data if isinstance(entries, Columns) else [entry.data for entry in entries]


def oldest(entries: Sequence[Entry]) -> int:
    """Return the lowest revision, or 0 without entries."""
    if isinstance(entries, Columns):
        return min(entries.revisions, default=0)
    return min((entry.revision for entry in entries), default=0)
