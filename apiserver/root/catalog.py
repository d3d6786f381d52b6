"""`controllers.core.catalog.Catalog` over the live table and one subscription to the store.

Most objects are bound to nothing: their bytes show it, and they are not even decoded.
"""

import logging
from collections.abc import Callable, Sequence

from inkube.apiserver.registry import keys
from inkube.apiserver.registry.resources import Resource, Resources
from inkube.apiserver.registry.storedbytes import may_be_bound
from inkube.controllers.core.catalog import Follower, Item, Kind, Step
from inkube.schemas.meta import split_api_version
from inkube.storage import columns
from inkube.storage.entry import Change, Entry
from inkube.storage.store import Store
from inkube.storage.subscription import Subscription

logger = logging.getLogger(__name__)
_COUNTED = tuple(
    keys.prefix(plural)
    for plural in ("persistentvolumeclaims", "pods", "resourceclaims", "services")
)
"""Objects whose changes are told even if they are bound to nothing: quotas count them anew."""


class LiveCatalog:
    """What is served now, and what binds the objects of it."""

    def __init__(self, store: Store, resources: Resources) -> None:
        self._store = store
        self._resources = resources
        self._followers: list[Follower] = []
        self._subscription: Subscription | None = None

    def kinds(self) -> list[Kind]:
        """See Catalog."""
        found = (_kind(resource) for resource in self._resources)
        return [kind for kind in found if kind is not None]

    def find(self, api_version: str, kind: str) -> Kind | None:
        """See Catalog."""
        group, version = split_api_version(api_version)
        resource = self._resources.by_kind(group, kind)
        return _kind(resource, version) if resource is not None else None

    def follow(self, follower: Follower, *, known: bool = False) -> Callable[[], None]:
        """See Catalog."""
        if known:
            entries = self._store.list(keys.ROOT)
            for place, data in enumerate(columns.data(entries)):
                item = self._item(entries[place]) if may_be_bound(data) else None
                if item is not None:
                    follower(Step(None, item))
        self._followers.append(follower)
        if self._subscription is None:
            self._subscription = self._store.subscribe(keys.ROOT, deliver=self._deliver)
        return lambda: self._end(follower)

    def _end(self, follower: Follower) -> None:
        self._followers.remove(follower)
        if not self._followers and self._subscription is not None:
            self._subscription.close()
            self._subscription = None

    def _deliver(self, changes: Sequence[Change]) -> None:
        for change in changes:
            step = self._step(change)
            if step is not None:
                for follower in tuple(self._followers):
                    try:
                        follower(step)
                    except Exception:  # one controller's mistake must not blind the others
                        logger.exception("a follower of all changes failed at %s", step.item.key)

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """See Catalog."""
        return self._resources.subscribe(listener)

    def _step(self, change: Change) -> Step | None:
        gone, before = change.type == "DELETED", change.previous
        counted = before is not None and change.entry.key.startswith(_COUNTED)
        if not (
            gone
            or counted
            or may_be_bound(change.entry.data)
            or (before is not None and may_be_bound(before.data))
        ):
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
