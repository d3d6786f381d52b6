"""Acts at the first object of a sort, so that a start loads nothing for objects to come.

Most servers never have an APIService that leads elsewhere, or a flow schema of their own.
"""

from collections.abc import Callable, Iterable, Sequence

from inkube.apiserver.registry import keys
from inkube.schemas.aggregation import MANAGED, URL
from inkube.storage import Change, Entry, Following, Store

_OWN, _SERVICE, _URL = MANAGED.encode(), b'"service":', URL.encode()


class Trigger:
    """Calls `act` once, at the first object of a kind that is `wanted`, before its writer is
    answered; at once where there is one when the store is looked at first."""

    def __init__(
        self, store: Store, plural: str, wanted: Callable[[Entry], bool], act: Callable[[], object]
    ) -> None:
        self._store = store
        self._prefix = keys.prefix(plural)
        self._wanted = wanted
        self._act = act
        self._following: Following | None = None

    def start(self) -> None:
        """Look at what there is, and follow the store from now on."""
        self._following = self._store.follow(self._prefix, self._hear, anew=self._look)
        self._look()

    def close(self) -> None:
        """Follow the store no longer."""
        if self._following is not None:
            self._following.close()
            self._following = None

    def _look(self) -> None:
        self._judge(self._store.list(self._prefix))

    def _hear(self, changes: Sequence[Change]) -> None:
        self._judge(change.entry for change in changes)

    def _judge(self, entries: Iterable[Entry]) -> None:
        if self._following is not None and any(map(self._wanted, entries)):
            self.close()
            self._act()


def leads_elsewhere(entry: Entry) -> bool:
    """By its bytes: may an APIService be of another server, or of a group nobody here serves?"""
    return _OWN not in entry.data or _SERVICE in entry.data or _URL in entry.data


def says_nothing(entry: Entry) -> bool:
    """By its bytes: has nobody looked whether the level of a flow schema is there?"""
    return b'"Dangling"' not in entry.data


def is_identity(entry: Entry) -> bool:
    """By its bytes: does a Lease tell of an API server?"""
    return b'"apiserver.kubernetes.io/identity"' in entry.data


def is_to_go(entry: Entry) -> bool:
    """By its bytes: is an object being deleted, and does a finalizer keep it?"""
    return b'"deletionTimestamp"' in entry.data
