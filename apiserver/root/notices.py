"""Notices the first object of a sort, so that a start loads nothing for those to come.

Most servers never have an APIService that leads elsewhere, or a flow schema of their own.
"""

from collections.abc import Callable, Sequence

from inkube.apiserver.registry import keys
from inkube.schemas.aggregation.marks import MANAGED, URL
from inkube.storage.entry import Change, Entry
from inkube.storage.store import Store
from inkube.storage.subscription import Subscription

_OWN, _SERVICE, _URL = MANAGED.encode(), b'"service":', URL.encode()


class Notice:
    """Calls `load` once, at the first object of a kind that is `wanted`, before its writer is
    answered; at once where there is one."""

    def __init__(
        self, store: Store, plural: str, wanted: Callable[[Entry], bool], load: Callable[[], None]
    ) -> None:
        self._wanted = wanted
        self._load = load
        self._subscription: Subscription | None = None
        prefix = keys.prefix(plural)
        if any(map(wanted, store.list(prefix))):
            load()
        else:
            self._subscription = store.subscribe(prefix, deliver=self._deliver)

    def close(self) -> None:
        """Notice nothing more."""
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None

    def _deliver(self, changes: Sequence[Change]) -> None:
        if self._subscription is not None and any(self._wanted(one.entry) for one in changes):
            self.close()
            self._load()


def leads_elsewhere(entry: Entry) -> bool:
    """By its bytes: may an APIService be of another server, or of a group nobody here serves?"""
    return _OWN not in entry.data or _SERVICE in entry.data or _URL in entry.data


def says_nothing(entry: Entry) -> bool:
    """By its bytes: has nobody looked whether the level of a flow schema is there?"""
    return b'"Dangling"' not in entry.data
