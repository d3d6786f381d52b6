"""The errors of storage; `apiserver` translates each of these to a Status in one place.

StorageError
├── PreconditionError       a write that does not fit what is stored; nothing was written
│   ├── AlreadyExists           create of a key that lives
│   ├── NotFound                update or delete of a key that does not
│   └── Conflict                update or delete of another revision than the newest
├── RevisionError           a read of a moment that cannot be read
│   ├── Compacted               before what is kept
│   └── FutureRevision          after the newest
├── RevisionNamed           a new object that says which revision it is
├── ReadOnly                a write to a store that takes none
├── Damaged                 what is stored under a key cannot be what was written
├── SlowConsumer            a subscriber fell too far behind and was cut off
├── Closed                  the store was closed
└── LogError                the log itself failed
    ├── NotOurs                 the file is no database, or one of something else
    ├── NewerSchema             the file was written by a newer inkube
    ├── Locked                  another process kept the write lock for too long
    └── Unavailable             everything else: no such folder, read-only, disk full
        └── Unsent                  the connection had ended before anything was sent
"""

from inkube.storage.entry import Entry


class StorageError(Exception):
    """The root of the tree."""


class PreconditionError(StorageError):
    """A write that does not match the stored state; nothing was written."""

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


class RevisionNamed(StorageError):
    """A new object that says which revision it is (ErrResourceVersionSetOnCreate)."""

    def __init__(self) -> None:
        super().__init__("resourceVersion should not be set on objects to be created")


class ReadOnly(StorageError):
    """A write to a store that takes none."""

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
    """Update or delete of a key that does not live."""

    def __init__(self, key: str) -> None:
        super().__init__(f"{key} does not exist", key)


class Conflict(PreconditionError):
    """Update or delete that expected another revision than the newest; `current` is the newest."""

    def __init__(self, key: str, expected: int, current: Entry) -> None:
        super().__init__(f"{key} is at revision {current.revision}, not {expected}", key)
        self.expected = expected
        self.current = current


class RevisionError(StorageError):
    """A read of a moment that cannot be read."""

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
    """A subscriber fell further behind than its queue holds; it may resume after `revision`."""

    def __init__(self, revision: int) -> None:
        super().__init__(f"the subscriber fell too far behind after revision {revision}")
        self.revision = revision


class Closed(StorageError):
    """The store was closed."""

    def __init__(self) -> None:
        super().__init__("the store is closed")


class LogError(StorageError):
    """The log itself failed; what was being written may or may not have been committed."""


class NotOurs(LogError):
    """The file is no database, or the database of something else."""


class NewerSchema(LogError):
    """The file was written by a newer inkube than this one."""


class Locked(LogError):
    """Another process kept the write lock for longer than the timeout."""


class Unavailable(LogError):
    """The log cannot be opened, read or written."""


class Unsent(Unavailable):
    """The database had ended the connection before a statement was sent. Nothing was committed, and
    a new connection may work."""
