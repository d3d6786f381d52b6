"""The rows of a data file, read from its pages without SQLite.

SQLite finds a row through the pages above its own, so one damaged page hides many rows. Here each
page is read by itself (sqlite.org/fileformat2.html, section 1.6): a row is lost only with a page
that contains it. The digest of a row tells whether it is the row that was written. Used by
`repair`.
"""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from inkube.storage import wal
from inkube.storage.log import Record

LEAF = 13
"""The first byte of a page with rows of a table."""
SIZES = [512 << n for n in range(8)]
USUAL = 4096
MARKS = frozenset(("schema", "compacted", "epoch", "boundary", "boundary_digest", "kept"))
EPOCHS = "epoch-"
"""The start of the names of further marks."""


class Found(NamedTuple):
    """A row of the log and its stored digest (0: none)."""

    record: Record
    digest: int


class Mark(NamedTuple):
    """A row of the table of marks."""

    name: str
    value: int


class _Damaged(Exception):
    """A cell that is no row."""


class Pages:
    """The pages of a file that no process uses, as they are with its `-wal`."""

    def __init__(self, path: Path, file: BinaryIO, contents: wal.Contents) -> None:
        self._file = file
        file.seek(0)
        header = file.read(100)
        (size,) = struct.unpack_from(">H", header.ljust(100, b"\0"), 16)
        size = 65536 if size == 1 else size
        self._size = size if size in SIZES else USUAL
        self._usable = self._size - (header[20] if size in SIZES and len(header) == 100 else 0)
        self._count = -(-path.stat().st_size // self._size)
        self._newer: dict[int, bytes] = {}
        self._newest: dict[int, bytes] = {}
        """Pages of commits after damage in the `-wal`, which SQLite does not use."""
        for number, frame in enumerate(contents.frames):
            pages = self._newer if number < contents.used else self._newest
            if frame.page and len(frame.data) == self._size:
                pages[frame.page] = frame.data
        self._free = self._find_free(self._page)
        self._free_at_last = self._find_free(self._page_at_last)

    def rows(self) -> Iterator[Found | Mark]:
        """Yield every row that can be read, the newest version of a page last. Rows whose table is
        unknown are omitted."""
        last = max(self._count, *self._newer, *self._newest, 0)
        for number in range(1, last + 1):
            start = 100 if number == 1 else 0
            if number not in self._free:
                yield from self._rows_of(self._page(number), start)
            if number in self._newest and number not in self._free_at_last:
                yield from self._rows_of(self._newest[number], start)

    def _page(self, number: int) -> bytes:
        if (newer := self._newer.get(number)) is not None:
            return newer
        self._file.seek((number - 1) * self._size)
        return self._file.read(self._size)

    def _page_at_last(self, number: int) -> bytes:
        return self._newest.get(number) or self._page(number)

    def _find_free(self, page_of: Callable[[int], bytes]) -> set[int]:
        """Return the unused pages, as far as their list can be read: they contain removed rows."""
        free: set[int] = set()
        first = page_of(1)
        trunk = _number(first, 32) if len(first) >= 100 else 0
        while trunk and trunk not in free:
            free.add(trunk)
            page = page_of(trunk)
            if len(page) < self._size:
                break
            count = min(_number(page, 4), self._size // 4 - 2)
            free.update(struct.unpack_from(f">{count}I", page, 8))
            trunk = _number(page, 0)
        return free

    def _rows_of(self, page: bytes, start: int) -> Iterator[Found | Mark]:
        if len(page) < self._size or page[start] != LEAF:
            return
        (count,) = struct.unpack_from(">H", page, start + 3)
        count = min(count, (self._size - start - 8) // 2)
        for place in struct.unpack_from(f">{count}H", page, start + 8):
            try:
                row = _row(*self._cell(page, place))
            except (_Damaged, IndexError, struct.error, UnicodeDecodeError):
                continue
            if row is not None:
                yield row

    def _cell(self, page: bytes, offset: int) -> tuple[int, bytes]:
        """Return the row id and the content of a cell (section 1.6 of the format)."""
        length, offset = _varint(page, offset)
        row, offset = _varint(page, offset)
        most = self._usable - 35
        if length <= most:
            if offset + length > len(page):
                raise _Damaged
            return row, page[offset : offset + length]
        least = (self._usable - 12) * 32 // 255 - 23
        here = least + (length - least) % (self._usable - 4)
        here = here if here <= most else least
        parts = [page[offset : offset + here]]
        missing, after = length - here, _number(page, offset + here)
        seen: set[int] = set()
        while missing > 0:
            more = self._page_at_last(after) if after else b""
            if after in seen or len(more) < self._size:
                raise _Damaged
            seen.add(after)
            parts.append(more[4 : min(self._usable, 4 + missing)])
            missing -= self._usable - 4
            after = _number(more, 0)
        return row, b"".join(parts)


def _row(row: int, content: bytes) -> Found | Mark | None:
    """Return the row of a known table, or None."""
    cells = _cells(content)
    if len(cells) == 2 and isinstance(cells[0], str) and isinstance(cells[1], int):
        name, value = cells
        return Mark(name, value) if name in MARKS or name.startswith(EPOCHS) else None
    if not 6 <= len(cells) <= 8:
        return None
    (revision, key, previous, created, deleted), rest = cells[:5], list(cells[5:])
    row = row if revision is None else revision  # usually the row id itself
    # the digest is before the data, or last in a table that an older release created
    digest = rest.pop(0) if isinstance(rest[0], int) else rest.pop() if len(rest) == 3 else 0
    data, time = (*rest, 0)[:2]
    numbers = (row, previous, created, deleted, digest, time)
    if not isinstance(key, str) or not isinstance(data, bytes):
        return None
    if not all(isinstance(each, int) for each in numbers):
        return None
    return Found(Record(row, key, previous, created, bool(deleted), data, time), digest)


_INTEGERS: Mapping[int, int] = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def _cells(content: bytes) -> Sequence[Any]:
    """Return the cells of a row (section 2.1 of the format). Raises _Damaged."""
    end, place = _varint(content, 0)
    cells: list[Any] = []
    at = end
    while place < end:
        kind, place = _varint(content, place)
        size = _INTEGERS.get(kind, (kind - 12) // 2 if kind >= 12 else 8 if kind == 7 else 0)
        value = content[at : at + size]
        if len(value) < size:
            raise _Damaged
        at += size
        if kind in _INTEGERS:
            cells.append(int.from_bytes(value, "big", signed=True))
        elif kind >= 12:
            cells.append(value.decode() if kind % 2 else value)
        else:
            cells.append({8: 0, 9: 1}.get(kind))
    return cells


def _varint(content: bytes, offset: int) -> tuple[int, int]:
    """Return a number of at most nine bytes, and the place after it."""
    value = 0
    for _ in range(8):
        byte = content[offset]
        offset += 1
        value = value << 7 | byte & 127
        if byte < 128:
            return value, offset
    return value << 8 | content[offset], offset + 1


def _number(page: bytes, offset: int) -> int:
    number: int = struct.unpack_from(">I", page, offset)[0]
    return number
