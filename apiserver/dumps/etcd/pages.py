"""The pages of a bbolt file, read one by one.

    page     id u64 · flags u16 · count u16 · overflow u32, then elements
    branch   position u32 · key size u32 · page u64, for each child
    leaf     flags u32 · position u32 · key size u32 · value size u32, for each entry; positions
             count from their element
    meta     magic u32 · version u32 · page size u32 · flags u32 · root bucket (page u64, sequence
             u64) · freelist u64 · end of the pages u64 · transaction u64 · checksum u64 (FNV-1a)
    bucket   page u64 · sequence u64; page 0: the only page follows

All numbers are little-endian. Follows go.etcd.io/bbolt, internal/common/{page,meta,bucket}.go.
"""

import struct
from collections.abc import Iterator
from typing import IO, Final, NamedTuple

from inkube.apiserver.dumps.findings import Unread

_MAGIC: Final = b"\xed\xda\x0c\xed"
_MAGIC_AT: Final = 16
_HEADER, _META = struct.Struct("<QHHI"), struct.Struct("<IIIIQQQQQQ")
_BRANCH, _LEAF = struct.Struct("<IIQ"), struct.Struct("<IIII")
_BUCKET = struct.Struct("<QQ")
_IS_BRANCH, _IS_LEAF, _IS_BUCKET = 0x01, 0x02, 0x01
_DEPTH: Final = 64
_LARGEST: Final = 64 * 2**20
"""The largest page with its overflow, in bytes. etcd's requests are smaller than two megabytes by
default, and a page holds one large value."""
_DAMAGED = "a damaged etcd snapshot"


class _Page(NamedTuple):
    """A page: its kind, the number of its elements, and its bytes."""

    flags: int
    size: int
    data: bytes


def is_database(head: bytes) -> bool:
    """Return whether a file with these first bytes is one of bbolt."""
    return head[_MAGIC_AT : _MAGIC_AT + 4] == _MAGIC


class Database:
    """An open bbolt file. Methods raise Unread for a damaged one."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._size, self._root, self._end = self._newest_meta()

    def bucket(self, name: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys and values of a bucket, in the order of keys."""
        for key, value, is_bucket in self._entries(self._page(self._root), 0, set()):
            if key == name and is_bucket:
                root, _ = _BUCKET.unpack_from(value)
                page = self._page(root) if root else _page_of(value[_BUCKET.size :])
                for inner, content, _ in self._entries(page, 0, set()):
                    yield inner, content
                return
        raise Unread(f"a database of bbolt without the bucket {name.decode()!r} of etcd")

    def _newest_meta(self) -> tuple[int, int, int]:
        """Return the page size, the root and the end of the newest valid transaction."""
        found = {}
        first = self._read(0, 4096)
        sizes = [1 << power for power in range(10, 17)]
        for data in [first, *(self._read(size, 4096) for size in sizes)]:
            if len(data) < _HEADER.size + _META.size:
                continue
            magic, version, size, _, root, _, _, end, transaction, checksum = _META.unpack_from(
                data, _HEADER.size
            )
            body = data[_HEADER.size : _HEADER.size + _META.size - 8]
            if magic == int.from_bytes(_MAGIC, "little") and checksum == _fnv(body):
                found[transaction] = (size, root, end)
            del version
        if not found:
            raise Unread(f"{_DAMAGED}: no valid meta page")
        size, root, end = found[max(found)]
        if not 512 <= size <= 2**16:
            raise Unread(f"{_DAMAGED}: pages of {size} bytes")
        return size, root, end

    def _entries(
        self, page: _Page, depth: int, seen: set[int]
    ) -> Iterator[tuple[bytes, bytes, bool]]:
        """Yield key, value, and whether the value is a bucket, below a page."""
        if depth > _DEPTH:
            raise Unread(f"{_DAMAGED}: a tree that is too deep")
        try:
            if page.flags & _IS_LEAF:
                for index in range(page.size):
                    yield _leaf(page.data, _HEADER.size + index * _LEAF.size)
                return
            if not page.flags & _IS_BRANCH:
                raise Unread(f"{_DAMAGED}: a page of another kind in a tree")
            children = [
                _BRANCH.unpack_from(page.data, _HEADER.size + index * _BRANCH.size)[2]
                for index in range(page.size)
            ]
        except (struct.error, IndexError) as error:
            raise Unread(f"{_DAMAGED}: a page that is cut off") from error
        for child in children:
            if child in seen:
                raise Unread(f"{_DAMAGED}: a page that is in a tree twice")
            seen.add(child)
            yield from self._entries(self._page(child), depth + 1, seen)

    def _page(self, number: int) -> _Page:
        if not 1 < number < self._end:
            raise Unread(f"{_DAMAGED}: page {number} does not exist")
        data = self._read(number * self._size, self._size)
        if len(data) < _HEADER.size:
            raise Unread(f"{_DAMAGED}: it is cut off")
        own, _, _, overflow = _HEADER.unpack_from(data)
        if own != number or overflow * self._size > _LARGEST:
            raise Unread(f"{_DAMAGED}: page {number} has another header")
        if overflow:
            data += self._read((number + 1) * self._size, overflow * self._size)
        return _page_of(data)

    def _read(self, start: int, size: int) -> bytes:
        self._file.seek(start)
        return self._file.read(size)


def _page_of(data: bytes) -> _Page:
    if len(data) < _HEADER.size:
        raise Unread(f"{_DAMAGED}: a page that is cut off")
    _, flags, count, _ = _HEADER.unpack_from(data)
    return _Page(flags, count, data)


def _leaf(data: bytes, at: int) -> tuple[bytes, bytes, bool]:
    flags, position, key_size, value_size = _LEAF.unpack_from(data, at)
    start = at + position
    middle, end = start + key_size, start + key_size + value_size
    if end > len(data):
        raise Unread(f"{_DAMAGED}: an entry that is cut off")
    return data[start:middle], data[middle:end], bool(flags & _IS_BUCKET)


def _fnv(data: bytes) -> int:
    """Return the 64-bit FNV-1a hash, as Go's hash/fnv."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value
