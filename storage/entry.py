"""Objects as storage sees them: a key, a revision, encoded bytes, and the changes between them.

Storage never reads keys beyond one rule: a prefix that ends in "/" means every key below it, any
other means that one key. Keys sort by code point, which is also the order of their UTF-8 bytes.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Literal, NamedTuple, Protocol, Self, cast

Value = dict[str, Any]
ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]


class Codec(Protocol):
    """Converts objects to bytes and back. The composition root provides it."""

    def encode(self, value: Value, revision: int) -> bytes:
        """Return the encoded object with `revision` as its resourceVersion; with 0, without one (a
        dry run)."""
        ...

    def decode(self, data: bytes) -> Value:
        """Return a new decoded object."""
        ...

    def strip(self, value: Value) -> bool:
        """Remove the members that are not stored, or that are set when an object is read
        (storage.Versioner, PrepareObjectForStorage). Return whether the object had a revision."""
        ...

    def is_sound(self, data: bytes, revision: int) -> bool:
        """Return whether the bytes can be a result of `encode` for that revision."""
        ...

    def are_sound(self, data: Sequence[bytes], revisions: Sequence[int]) -> bool:
        """Return whether all of them can, at a lower cost for each."""
        ...


class Entry(NamedTuple):
    """One object at `revision`; `created` is the revision at which it was created.

    Each access creates a new `Entry` from `columns`. Two entries are equal if all members are
    equal.
    """

    key: str
    revision: int
    created: int
    data: bytes

    @property
    def value(self) -> Value:
        """The decoded object. All readers share it, so it must not be changed."""
        raise NotImplementedError("entries are made by an EntryCodec")

    @property
    def after(self) -> "Earlier | None":
        """The uncommitted write that creates this state, or None for a committed state."""
        return None

    def __repr__(self) -> str:
        return f"Entry({self.key!r}, revision={self.revision}, created={self.created})"


class Earlier(Protocol):
    """An earlier write, which can be in the same group."""

    @property
    def revision(self) -> int:
        """The revision of its state, or 0 if it was rejected or its group failed."""
        ...


Row = tuple[str, int, int, bytes]
Make = Callable[[Row], Entry]
"""Returns an entry from key, revision, created and data."""


def maker(kind: type[Entry]) -> Make:
    """Return a function that creates entries of that type. It costs as much as a tuple, a third of
    calling the type."""
    return cast("Make", partial(tuple.__new__, kind))


class EntryCodec:
    """The codec with limits: exact copies of bytes, and a limited number of decoded objects.

    A decoded object takes about seven times its bytes, so only the last decoded objects are kept:
    those from at most `limit` bytes, and always one.
    """

    def __init__(self, codec: Codec, limit: int) -> None:
        self.decode: Final = codec.decode
        self._codec = codec
        self._limit = limit
        # The decoded objects, by the identity of their bytes, which live as long as they are in the
        # cache.
        self._decoded: dict[int, Value] = {}
        self._order: deque[bytes] = deque()
        self._bytes = 0
        # a separate class, so that entries need no reference to their coder
        coder = self

        class Stored(Entry):
            __slots__ = ()

            @property
            def value(self) -> Value:
                return coder.value(self.data)

        self.make: Final = maker(Stored)
        """Creates entries from key, revision, created, data. Decoded objects are kept within the
        limits."""

    def encode(self, value: Value, revision: int) -> bytes:
        """Return the encoded object at a revision, in as much memory as its length."""
        # copied, because an encoder's buffer can be much larger than its content: 10,000 objects of
        # 1 KB take 39 MiB in orjson's buffers, and 8 MiB as copies
        return bytes(memoryview(self._codec.encode(value, revision)))

    def strip(self, value: Value) -> bool:
        """Remove the members that are not stored. Return whether the object had a revision."""
        return self._codec.strip(value)

    def damaged(self, data: Sequence[bytes], revisions: Sequence[int]) -> Sequence[int]:
        """Return the revisions whose bytes are damaged: no encoder can have written them."""
        codec = self._codec
        if codec.are_sound(data, revisions):
            return ()
        pairs = zip(data, revisions, strict=True)
        return [revision for each, revision in pairs if not codec.is_sound(each, revision)]

    def value(self, data: bytes) -> Value:
        """Return the object that these bytes encode, which is the same object as long as it is
        cached. Later calls return a new object."""
        cached = self._decoded.get(id(data))
        if cached is not None:
            return cached
        value = self._decoded[id(data)] = self.decode(data)
        self._order.append(data)
        self._bytes += len(data)
        while self._bytes > self._limit and len(self._order) > 1:
            oldest = self._order.popleft()
            self._bytes -= len(oldest)
            self._decoded.pop(id(oldest), None)
        return value

    def free(self, data: bytes) -> None:
        """Free the decoded object of a state that was replaced: few readers of history need it, and
        what lives long costs the garbage collector ten times as much as decoding it again."""
        self._decoded.pop(id(data), None)


class TransientEntry(Entry):
    """An entry that is not stored: a stored entry with another object."""

    _value: Value

    def __new__(cls, stored: Entry, data: bytes, value: Value) -> Self:
        """Create an entry with the key and the revisions of a stored one."""
        entry = super().__new__(cls, stored.key, stored.revision, stored.created, data)
        entry._value = value
        return entry

    @property
    def value(self) -> Value:
        """The decoded object, which need not be the one that is stored."""
        return self._value


PLACE = 400
"""Bytes of memory of a change and its two entries, in addition to their data."""


class Change:
    """One change in the log, with its unique `revision`.

    `entry` is the new state. For DELETED, it is the last state with the revision of the deletion.
    `previous` is the state before, or None for ADDED.
    """

    __slots__ = ("entry", "previous", "revision", "type")

    def __init__(self, type: ChangeType, entry: Entry, previous: Entry | None) -> None:
        self.type: Final = type
        self.entry: Final = entry
        self.previous: Final = previous
        self.revision: Final = entry.revision

    @property
    def weight(self) -> int:
        """The bytes in memory of both states."""
        previous = self.previous
        return len(self.entry.data) + (0 if previous is None else len(previous.data)) + PLACE

    def __repr__(self) -> str:
        return f"Change({self.type!r}, {self.entry!r})"


Entries = Sequence[Entry]
Changes = list[Change]
