"""The three writes: their preconditions, and the changes that they make."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from inkube.storage.entry import Change, Earlier, Entry, EntryCodec, Value
from inkube.storage.errors import AlreadyExists, Conflict, NotFound
from inkube.storage.log import Record


class Write(Protocol):
    """One write, before it has a revision."""

    @property
    def key(self) -> str:
        """The key that the write changes."""
        ...

    def change(self, current: Entry | None, revision: int, coder: EntryCodec) -> Change:
        """Return the change of this write at `revision`. Raises PreconditionError. Has no side
        effects."""
        ...


class Create(NamedTuple):
    """Create a key."""

    key: str
    value: Value

    def change(self, current: Entry | None, revision: int, coder: EntryCodec) -> Change:
        """Return the new entry. Raises AlreadyExists."""
        if current is not None:
            raise AlreadyExists(self.key, current)
        data = coder.encode(self.value, revision)
        return Change("ADDED", coder.make((self.key, revision, revision, data)), None)


class Update(NamedTuple):
    """Replace the state at revision `expected`, or the uncommitted state of the write `after`."""

    key: str
    value: Value
    expected: int
    after: Earlier | None = None

    def change(self, current: Entry | None, revision: int, coder: EntryCodec) -> Change:
        """Return the replacement of the expected state. Raises NotFound, Conflict."""
        expected = self.expected if self.after is None else self.after.revision
        current = _expect(self.key, expected, current)
        data = coder.encode(self.value, revision)
        entry = coder.make((self.key, revision, current.created, data))
        return Change("MODIFIED", entry, current)


def replace(entry: Entry, value: Value) -> Update:
    """Return an update of exactly this state, which can be uncommitted."""
    return Update(entry.key, value, entry.revision, entry.after)


class Delete(NamedTuple):
    """Delete a key at revision `expected`. `value` is its final state; None means the last
    state."""

    key: str
    expected: int
    value: Value | None = None

    def change(self, current: Entry | None, revision: int, coder: EntryCodec) -> Change:
        """Return the deletion of the expected state. Raises NotFound, Conflict."""
        current = _expect(self.key, self.expected, current)
        # decoded again, because readers share `current.value`, and an encoder can set the revision
        # in place
        value = coder.decode(current.data) if self.value is None else self.value
        data = coder.encode(value, revision)
        entry = coder.make((self.key, revision, current.created, data))
        return Change("DELETED", entry, current)


class Guarded(NamedTuple):
    """A write that is rejected if something other than its key has changed.

    `check` is called after all earlier writes of all processes are published. An exception of it
    becomes the result of the write.
    """

    write: Write
    check: Callable[[], None]

    @property
    def key(self) -> str:
        """The key of the write."""
        return self.write.key

    def change(self, current: Entry | None, revision: int, coder: EntryCodec) -> Change:
        """Return the change of the write, if the check permits it."""
        self.check()
        return self.write.change(current, revision, coder)


def _expect(key: str, expected: int, current: Entry | None) -> Entry:
    if current is None:
        raise NotFound(key)
    if current.revision != expected:
        raise Conflict(key, expected, current)
    return current


def record(change: Change, time: int) -> Record:
    """Return the row that stores a change; `time` as in Record."""
    entry = change.entry
    previous = change.previous.revision if change.previous is not None else 0
    deleted = change.type == "DELETED"
    return Record(entry.revision, entry.key, previous, entry.created, deleted, entry.data, time)


def entry(record: Record, coder: EntryCodec) -> Entry:
    """Return the state in a row."""
    return coder.make((record.key, record.revision, record.created, record.data))


def change(record: Record, previous: Entry | None, coder: EntryCodec) -> Change:
    """Return the change in a row, given the state before it."""
    if record.deleted:
        return Change("DELETED", entry(record, coder), previous)
    if record.previous == 0:
        return Change("ADDED", entry(record, coder), None)
    return Change("MODIFIED", entry(record, coder), previous)
