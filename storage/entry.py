"""Objects as storage sees them: a key, a revision, encoded bytes, and the changes between them.

Storage never reads keys beyond one rule: a prefix that ends in "/" means every key below it, any
other means that one key. Keys sort by code point, which is also the order of their UTF-8 bytes.
"""

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


class Change:
    """One step of the log.

    `entry` is the new state; of a DELETED, the last state under the revision of the deletion.
    `previous` is the state before; None for ADDED.
    """

    __slots__ = ("_made", "entry", "previous", "type")

    def __init__(self, type: ChangeType, entry: Entry, previous: Entry | None) -> None:
        self.type: Final = type
        self.entry: Final = entry
        self.previous: Final = previous
        self._made: dict[Hashable, object] | None = None

    @property
    def revision(self) -> int:
        """When it happened; no two changes share it."""
        return self.entry.revision

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
