"""Actions at the first object of a kind, so that a start does not load code for later objects.

Most servers never store an APIService for another server, or a flow schema of their own.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from inkube.apiserver.registry import keys
from inkube.schemas.aggregation import MANAGED, URL
from inkube.storage import Change, Entry, Following, Store

_DEFAULT_RANGES = b'"Kubernetes default Service CIDR is ready"'
_OWN_SERVICE = keys.key("services", "default", "kubernetes")
_OWN, _SERVICE, _URL = MANAGED.encode(), b'"service":', URL.encode()


class Trigger(NamedTuple):
    """What happens at the first object of a kind that `matches` accepts: a call of `act`."""

    plural: str
    act: Callable[[], object]
    matches: Callable[[Entry], bool] = lambda entry: True


class Triggers:
    """Calls the action of each trigger one time, before the writer of the object receives the
    response. If such an object is already stored, calls it at the start.

    All triggers have one subscription to all changes. A subscription of each would take a tenth of
    the start of a server in a test.
    """

    def __init__(self, store: Store, triggers: Iterable[Trigger]) -> None:
        self._store = store
        self._pending: dict[str, list[Trigger]] = {}
        for each in triggers:
            self._pending.setdefault(keys.prefix(each.plural), []).append(each)
        self._subscription: Following | None = None

    def start(self) -> None:
        """Check the stored objects, and follow the store."""
        self._subscription = self._store.follow(
            keys.ROOT, self._on_changes, on_relist=self._check_stored
        )
        self._check_stored()

    def close(self) -> None:
        """Stop following the store."""
        self._pending.clear()
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None

    def _check_stored(self) -> None:
        for prefix in tuple(self._pending):
            if self._store.count(prefix):
                self._check(prefix, self._store.list(prefix))

    def _on_changes(self, changes: Sequence[Change]) -> None:
        for change in changes:
            key = change.entry.key
            prefix = key[: key.find("/", len(keys.ROOT)) + 1]
            if prefix in self._pending:
                self._check(prefix, (change.entry,))

    def _check(self, prefix: str, entries: Iterable[Entry]) -> None:
        waiting = self._pending[prefix]
        met = [each for each in waiting if any(map(each.matches, entries))]
        for each in met:
            waiting.remove(each)
        if not waiting:
            del self._pending[prefix]
        if not self._pending:
            self.close()
        for each in met:
            each.act()


def is_remote_api_service(entry: Entry) -> bool:
    """Return whether an APIService can be for another server or for a group that is not served here
    (from its bytes)."""
    return _OWN not in entry.data or _SERVICE in entry.data or _URL in entry.data


def is_unchecked_flow_schema(entry: Entry) -> bool:
    """Return whether the priority level of a flow schema is still unchecked (from its bytes), or
    somebody changed the schema."""
    return b'"Dangling"' not in entry.data or is_changed(entry)


def is_changed(entry: Entry) -> bool:
    """Return whether an object is not as its creation left it."""
    return entry.revision != entry.created


def is_service_cidr_of_client(entry: Entry) -> bool:
    """Return whether a ServiceCIDR is not the one that the server creates (from its bytes), or is
    being deleted."""
    return _DEFAULT_RANGES not in entry.data or is_terminating(entry)


def is_touched_default_range(entry: Entry, cidrs: Sequence[str]) -> bool:
    """Return whether the default ServiceCIDR has other ranges than the options, or was changed or
    deleted."""
    if entry.value["metadata"]["name"] != "kubernetes":
        return False
    return is_changed(entry) or bool(entry.value["spec"].get("cidrs") != cidrs)


def is_touched_own_service(entry: Entry) -> bool:
    """Return whether the service `kubernetes` was changed or deleted."""
    return entry.key == _OWN_SERVICE and is_changed(entry)


def is_identity(entry: Entry) -> bool:
    """Return whether a Lease is the identity of an API server (from its bytes)."""
    return b'"apiserver.kubernetes.io/identity"' in entry.data


def is_terminating(entry: Entry) -> bool:
    """Return whether an object is being deleted and is still there: for a finalizer, or for what is
    in a namespace (from its bytes)."""
    return b'"deletionTimestamp"' in entry.data
