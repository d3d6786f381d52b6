"""Actions at the first object of a kind, so that a start does not load code for later objects.

Most servers never store an APIService for another server, or a flow schema of their own.
"""

from collections.abc import Callable, Iterable, Sequence

from inkube.apiserver.registry import keys
from inkube.schemas.aggregation import MANAGED, URL
from inkube.storage import Change, Entry, Following, Store

_OWN, _SERVICE, _URL = MANAGED.encode(), b'"service":', URL.encode()


class Trigger:
    """Calls `act` one time, at the first object of a kind that `wanted` accepts, before its writer
    receives the response. If such an object is already stored, calls it at the start."""

    def __init__(
        self, store: Store, plural: str, wanted: Callable[[Entry], bool], act: Callable[[], object]
    ) -> None:
        self._store = store
        self._prefix = keys.prefix(plural)
        self._wanted = wanted
        self._act = act
        self._following: Following | None = None

    def start(self) -> None:
        """Check the stored objects, and follow the store."""
        self._following = self._store.follow(self._prefix, self._hear, anew=self._look)
        self._look()

    def close(self) -> None:
        """Stop following the store."""
        if self._following is not None:
            self._following.close()
            self._following = None

    def _look(self) -> None:
        if self._store.count(self._prefix):
            self._judge(self._store.list(self._prefix))

    def _hear(self, changes: Sequence[Change]) -> None:
        self._judge(change.entry for change in changes)

    def _judge(self, entries: Iterable[Entry]) -> None:
        if self._following is not None and any(map(self._wanted, entries)):
            self.close()
            self._act()


def exists(_: Entry) -> bool:
    """Any object is enough."""
    return True


def leads_elsewhere(entry: Entry) -> bool:
    """Whether an APIService can be for another server or for a group that is not served here (from
    its bytes)."""
    return _OWN not in entry.data or _SERVICE in entry.data or _URL in entry.data


def says_nothing(entry: Entry) -> bool:
    """Whether the priority level of a flow schema is still unchecked (from its bytes)."""
    return b'"Dangling"' not in entry.data


def is_identity(entry: Entry) -> bool:
    """Whether a Lease is the identity of an API server (from its bytes)."""
    return b'"apiserver.kubernetes.io/identity"' in entry.data


def is_to_go(entry: Entry) -> bool:
    """Whether an object is being deleted and is still there: for a finalizer, or for what is in a
    namespace (from its bytes)."""
    return b'"deletionTimestamp"' in entry.data
