"""The errors of storage; `apiserver` translates each of these to a Status in one place.

StorageError
├── PreconditionError       a write that does not match the stored state; nothing was written
│   ├── AlreadyExists           create of a key that exists
│   ├── NotFound                update or delete of a key that does not exist
│   └── Conflict                update or delete of another revision than the newest
├── RevisionError           a read at a revision that cannot be read
│   ├── Compacted               the revision is older than the stored history
│   └── FutureRevision          the revision is newer than the newest
├── RevisionNamed           a new object that contains a revision
├── ReadOnly                a write to a read-only store
├── Damaged                 the bytes that are stored under a key are damaged
├── SlowConsumer            a subscriber read too slowly and was disconnected
├── Closed                  the store was closed
└── LogError                the log itself failed
    ├── NotOurs                 the file is not a database, or it belongs to another program
    ├── NewerSchema             a newer inkube wrote the file
    ├── Locked                  another process kept the write lock for too long
    └── Unavailable             all other errors: a missing folder, read-only, disk full
        └── Unsent                  the connection had ended before anything was sent
"""

from inkube.storage.entry import Entry


class StorageError(Exception):
    """The base class of all errors of storage."""


class PreconditionError(StorageError):
    """A write that does not match the stored state; nothing was written."""

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


class RevisionNamed(StorageError):
    """A new object that contains a revision (ErrResourceVersionSetOnCreate)."""

    def __init__(self) -> None:
        super().__init__("resourceVersion should not be set on objects to be created")


class ReadOnly(StorageError):
    """A write to a read-only store."""

    def __init__(self, revision: int) -> None:
        super().__init__(f"this server shows revision {revision} and takes no writes")


class Damaged(StorageError):
    """The bytes stored under a key are damaged. The key can neither be read nor written."""

    def __init__(self, key: str) -> None:
        super().__init__(f"what is stored at {key} is damaged; see inkube check and inkube repair")
        self.key = key


class AlreadyExists(PreconditionError):
    """Create of a key that exists; `current` is the existing entry."""

    def __init__(self, key: str, current: Entry) -> None:
        super().__init__(f"{key} already exists at revision {current.revision}", key)
        self.current = current


class NotFound(PreconditionError):
    """Update or delete of a key that does not exist."""

    def __init__(self, key: str) -> None:
        super().__init__(f"{key} does not exist", key)


class Conflict(PreconditionError):
    """Update or delete with another revision than the newest; `current` is the newest entry."""

    def __init__(self, key: str, expected: int, current: Entry) -> None:
        super().__init__(f"{key} is at revision {current.revision}, not {expected}", key)
        self.expected = expected
        self.current = current


class RevisionError(StorageError):
    """A read at a revision that cannot be read."""

    def __init__(self, message: str, revision: int) -> None:
        super().__init__(message)
        self.revision = revision


class Compacted(RevisionError):
    """`revision` is older than `compacted`, the oldest revision that can still be read."""

    def __init__(self, revision: int, compacted: int) -> None:
        super().__init__(f"revision {revision} was compacted, {compacted} is kept", revision)
        self.compacted = compacted


class FutureRevision(RevisionError):
    """`revision` is newer than `newest`."""

    def __init__(self, revision: int, newest: int) -> None:
        super().__init__(
            f"revision {revision} lies in the future, {newest} is the newest", revision
        )
        self.newest = newest


class SlowConsumer(StorageError):
    """A subscriber's queue was full. It can resume after `revision`."""

    def __init__(self, revision: int) -> None:
        super().__init__(f"the subscriber fell too far behind after revision {revision}")
        self.revision = revision


class Closed(StorageError):
    """The store was closed."""

    def __init__(self) -> None:
        super().__init__("the store is closed")


class LogError(StorageError):
    """The log itself failed. It is unknown whether the running write was committed."""


class NotOurs(LogError):
    """The file is not a database, or it is the database of another program."""


class NewerSchema(LogError):
    """A newer version of inkube wrote the file."""


class Locked(LogError):
    """Another process kept the write lock for longer than the timeout."""


class Unavailable(LogError):
    """The log cannot be opened, read or written."""


class Unsent(Unavailable):
    """The database had ended the connection before a statement was sent. Nothing was committed, and
    a new connection may work."""
