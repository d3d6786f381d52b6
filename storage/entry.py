"""Objects as storage sees them: a key, a revision, encoded bytes, and the changes between them.

Storage never reads keys beyond one rule: a prefix that ends in "/" means every key below it, any
other means that one key. Keys sort by code point, which is also the order of their UTF-8 bytes.
"""

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, Final, Literal, Protocol, TypeVar, cast

Value = dict[str, Any]
ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]
T = TypeVar("T")


class Codec(Protocol):
    """Between objects and bytes; given by the composition root."""

    def encode(self, value: Value, revision: int) -> bytes:
        """The object with `revision` as its resourceVersion; 0 stands for none (a dry run)."""
        ...

    def decode(self, data: bytes) -> Value:
        """A new object each time."""
        ...

    def is_sound(self, data: bytes, revision: int) -> bool:
        """Whether the bytes can be what `encode` made at that revision."""
        ...


class Entry:
    """One object as it stood at `revision`; `created` is the revision it was created at."""

    __slots__ = ("_decode", "_value", "created", "data", "key", "revision")

    def __init__(
        self, key: str, revision: int, created: int, data: bytes, decode: Callable[[bytes], Value]
    ) -> None:
        self.key: Final = key
        self.revision: Final = revision
        self.created: Final = created
        self.data: Final = data
        self._decode = decode
        self._value: Value | None = None

    @property
    def value(self) -> Value:
        """The decoded object: shared by all who ask, so nobody may change it."""
        if self._value is None:
            self._value = self._decode(self.data)
        return self._value

    def __repr__(self) -> str:
        return f"Entry({self.key!r}, revision={self.revision}, created={self.created})"


class Coder:
    """The codec within bounds: bytes without slack, and not too many decoded objects.

    A decoded object takes about seven times its bytes, so only those decoded last are kept:
    as many as come from `limit` bytes, and always one.
    """

    def __init__(self, codec: Codec, limit: int) -> None:
        self.decode: Final = codec.decode
        self._codec = codec
        self._limit = limit
        self._decoded: deque[_StoredEntry] = deque()
        self._bytes = 0

    def encode(self, value: Value, revision: int) -> bytes:
        """See Codec."""
        # Copied, because an encoder's buffer may be much larger than what it holds: 10,000 objects
        # of 1 KB take 39 MiB as orjson leaves them, and 8 MiB like this.
        return bytes(memoryview(self._codec.encode(value, revision)))

    def is_sound(self, entry: Entry) -> bool:
        """See Codec."""
        return self._codec.is_sound(entry.data, entry.revision)

    def entry(self, key: str, revision: int, created: int, data: bytes) -> Entry:
        """An entry whose decoded object is kept within the bounds."""
        return _StoredEntry(key, revision, created, data, self)

    def remember(self, entry: "_StoredEntry") -> None:
        """Count an entry just decoded, and make those decoded long ago forget."""
        self._decoded.append(entry)
        self._bytes += len(entry.data)
        while self._bytes > self._limit and len(self._decoded) > 1:
            oldest = self._decoded.popleft()
            self._bytes -= len(oldest.data)
            oldest.forget()


class _StoredEntry(Entry):
    """An entry that tells its coder when it is decoded."""

    __slots__ = ("_coder",)

    def __init__(self, key: str, revision: int, created: int, data: bytes, coder: Coder) -> None:
        super().__init__(key, revision, created, data, coder.decode)
        self._coder = coder

    @property
    def value(self) -> Value:
        """See Entry; once forgotten, who asks again gets a new object."""
        value = self._value
        if value is None:
            value = self._value = self._decode(self.data)
            self._coder.remember(self)
        return value

    def forget(self) -> None:
        """Let go of the decoded object."""
        self._value = None


class Change:
    """One step of the log, at `revision`, which no two share.

    `entry` is the new state; of a DELETED, the last state under the revision of the deletion.
    `previous` is the state before; None for ADDED.
    """

    __slots__ = ("_made", "entry", "previous", "revision", "type")

    def __init__(self, type: ChangeType, entry: Entry, previous: Entry | None) -> None:
        self.type: Final = type
        self.entry: Final = entry
        self.previous: Final = previous
        self.revision: Final = entry.revision
        self._made: dict[Hashable, object] | None = None

    def once(self, form: Hashable, make: Callable[["Change"], T]) -> T:
        """What `make` makes of this change, made once for all who ask for the same `form`."""
        if self._made is None:
            self._made = {}
        try:
            return cast("T", self._made[form])
        except KeyError:
            made = self._made[form] = make(self)
            return made

    def __repr__(self) -> str:
        return f"Change({self.type!r}, {self.entry!r})"


Entries = list[Entry]
Changes = list[Change]
