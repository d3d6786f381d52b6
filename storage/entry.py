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
    """Between objects and bytes; given by the composition root."""

    def encode(self, value: Value, revision: int) -> bytes:
        """The object with `revision` as its resourceVersion; with 0, without one (a dry run)."""
        ...

    def decode(self, data: bytes) -> Value:
        """A new object each time."""
        ...

    def names_revision(self, value: Value) -> bool:
        """Whether an object says itself which revision it is."""
        ...

    def strip(self, value: Value) -> None:
        """Remove the members that are not stored, or that are set when an object is read
        (storage.Versioner, PrepareObjectForStorage)."""
        ...

    def is_sound(self, data: bytes, revision: int) -> bool:
        """Whether the bytes can be what `encode` made at that revision."""
        ...

    def are_sound(self, data: Sequence[bytes], revisions: Sequence[int]) -> bool:
        """Whether all of them are, at less cost for each."""
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
        raise NotImplementedError("entries are made by a Coder")

    @property
    def after(self) -> "Earlier | None":
        """The write that makes this state, where it is not committed yet."""
        return None

    def __repr__(self) -> str:
        return f"Entry({self.key!r}, revision={self.revision}, created={self.created})"


class Earlier(Protocol):
    """A write asked for before, which may be in the same group."""

    @property
    def revision(self) -> int:
        """Of the state it made; 0 where it was refused, or its group failed."""
        ...


Row = tuple[str, int, int, bytes]
Make = Callable[[Row], Entry]
"""An entry of its key, revision, created and data."""


def maker(kind: type[Entry]) -> Make:
    """A function that creates entries of that type at the cost of a tuple, a third of the cost of
    calling the type."""
    return cast("Make", partial(tuple.__new__, kind))


class Coder:
    """The codec within bounds: bytes without slack, and not too many decoded objects.

    A decoded object takes about seven times its bytes, so only those decoded last are kept:
    as many as come from `limit` bytes, and always one.
    """

    def __init__(self, codec: Codec, limit: int) -> None:
        self.decode: Final = codec.decode
        self._codec = codec
        self._limit = limit
        # By the identity of the bytes, which live as long as they are in order.
        self._decoded: dict[int, Value] = {}
        self._order: deque[bytes] = deque()
        self._bytes = 0
        # A class of its own, so that no entry has to hold its coder.
        coder = self

        class Stored(Entry):
            __slots__ = ()

            @property
            def value(self) -> Value:
                return coder.value(self.data)

        self.make: Final = maker(Stored)
        """An entry of key, revision, created, data; decoded objects are kept within the bounds."""

    def encode(self, value: Value, revision: int) -> bytes:
        """See Codec."""
        # Copied, because an encoder's buffer may be much larger than what it holds: 10,000 objects
        # of 1 KB take 39 MiB as orjson leaves them, and 8 MiB like this.
        return bytes(memoryview(self._codec.encode(value, revision)))

    def strip(self, value: Value) -> None:
        """See Codec."""
        self._codec.strip(value)

    def names_revision(self, value: Value) -> bool:
        """See Codec."""
        return self._codec.names_revision(value)

    def damaged(self, data: Sequence[bytes], revisions: Sequence[int]) -> Sequence[int]:
        """The revisions whose bytes are damaged: they differ from anything that can have been
        stored."""
        codec = self._codec
        if codec.are_sound(data, revisions):
            return ()
        pairs = zip(data, revisions, strict=True)
        return [revision for each, revision in pairs if not codec.is_sound(each, revision)]

    def value(self, data: bytes) -> Value:
        """The object that these bytes encode; the same object for as long as it is remembered.

        After it is forgotten, the next call returns a new object.
        """
        known = self._decoded.get(id(data))
        if known is not None:
            return known
        value = self._decoded[id(data)] = self.decode(data)
        self._order.append(data)
        self._bytes += len(data)
        while self._bytes > self._limit and len(self._order) > 1:
            oldest = self._order.popleft()
            self._bytes -= len(oldest)
            del self._decoded[id(oldest)]
        return value


class ShownEntry(Entry):
    """An entry that is not stored: the same moment of the same key, as another object."""

    _value: Value

    def __new__(cls, stored: Entry, data: bytes, value: Value) -> Self:
        """The same key and revisions as those of an entry that is."""
        made = super().__new__(cls, stored.key, stored.revision, stored.created, data)
        made._value = value
        return made

    @property
    def value(self) -> Value:
        """See Entry."""
        return self._value


PLACE = 400
"""Bytes of memory of a change and its two entries, in addition to their data."""


class Change:
    """One step of the log, at `revision`, which no two share.

    `entry` is the new state; of a DELETED, the last state under the revision of the deletion.
    `previous` is the state before; None for ADDED.
    """

    __slots__ = ("entry", "previous", "revision", "type")

    def __init__(self, type: ChangeType, entry: Entry, previous: Entry | None) -> None:
        self.type: Final = type
        self.entry: Final = entry
        self.previous: Final = previous
        self.revision: Final = entry.revision

    @property
    def weight(self) -> int:
        """Bytes that it keeps in memory: both states."""
        previous = self.previous
        return len(self.entry.data) + (0 if previous is None else len(previous.data)) + PLACE

    def __repr__(self) -> str:
        return f"Change({self.type!r}, {self.entry!r})"


Entries = Sequence[Entry]
Changes = list[Change]
