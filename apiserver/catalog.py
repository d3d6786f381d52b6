"""`controllers.catalog.Catalog` over the live table and one subscription to the store.

Most objects are bound to nothing: their bytes show it, and they are not even decoded.
"""

import logging
from collections.abc import Callable, Sequence

from inkube.apiserver.resources import Resource, Resources
from inkube.controllers.catalog import Follower, Item, Kind, Step
from inkube.schemas.meta import split_api_version
from inkube.storage.entry import Change, Entry
from inkube.storage.store import Store

logger = logging.getLogger(__name__)
_EVERYTHING = "/registry/"
_OWNED, _GOING = b'"ownerReferences"', b'"deletionTimestamp"'


class LiveCatalog:
    """What is served now, and what binds the objects of it."""

    def __init__(self, store: Store, resources: Resources) -> None:
        self._store = store
        self._resources = resources

    def kinds(self) -> list[Kind]:
        """See Catalog."""
        found = (_kind(resource) for resource in self._resources)
        return [kind for kind in found if kind is not None]

    def find(self, api_version: str, kind: str) -> Kind | None:
        """See Catalog."""
        group, version = split_api_version(api_version)
        resource = self._resources.by_kind(group, kind)
        return _kind(resource, version) if resource is not None else None

    def follow(self, follower: Follower) -> Callable[[], None]:
        """See Catalog."""

        def deliver(changes: Sequence[Change]) -> None:
            for change in changes:
                step = self._step(change)
                if step is not None:
                    follower(step)

        for entry in self._store.list(_EVERYTHING):
            item = self._item(entry) if _is_bound(entry) else None
            if item is not None:
                follower(Step(None, item))
        return self._store.subscribe(_EVERYTHING, deliver=deliver).close

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """See Catalog."""
        return self._resources.subscribe(listener)

    def _step(self, change: Change) -> Step | None:
        gone, before = change.type == "DELETED", change.previous
        if not (gone or _is_bound(change.entry) or (before is not None and _is_bound(before))):
            return None
        old = self._item(before) if before is not None else None
        new = None if gone else self._item(change.entry)
        return Step(old, new) if old is not None or new is not None else None

    def _item(self, entry: Entry) -> Item | None:
        """None for an object whose kind is served no longer."""
        value = entry.value
        group, _ = split_api_version(value["apiVersion"])
        resource = self._resources.by_kind(group, value["kind"])
        kind = _kind(resource) if resource is not None else None
        return None if kind is None else Item.of(value, kind.resource)


def _kind(resource: Resource, version: str = "") -> Kind | None:
    """In that version, or in the stored one if it is served, or in the first that is."""
    served = resource.served(version or resource.storage.name)
    if served is None and not version:
        served = next(filter(None, map(resource.served, resource.versions)), None)
    if served is None:
        return None
    verbs = frozenset(resource.definition.verbs)
    return Kind(served.gvr, served.kind, resource.namespaced, verbs)


def _is_bound(entry: Entry) -> bool:
    return _OWNED in entry.data or _GOING in entry.data
