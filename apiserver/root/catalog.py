"""`controllers.core.catalog.Catalog` over the table of served kinds and the changes of the store.

Most objects have no owner references and are not being deleted. Their bytes show that without being
decoded.
"""

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

import orjson

from inkube.apiserver.registry import Resource, Resources, keys, may_be_bound
from inkube.controllers.core import Follower, Item, Kind, Step
from inkube.schemas.meta import split_api_version
from inkube.storage import Change, Entry, Following, Store, columns

logger = logging.getLogger(__name__)
_COUNTED = tuple(
    keys.prefix(plural)
    for plural in ("persistentvolumeclaims", "pods", "resourceclaims", "services")
)
"""Kinds whose changes are always reported, because quotas count their objects again."""
_REMEMBERED = 4096
"""Items of recently changed objects. The next change of an object needs its item again."""


class _Known(NamedTuple):
    """The item of a state, and the revision of the state."""

    revision: int
    item: Item


class _Follower(NamedTuple):
    """A follower; see `Catalog.follow`."""

    follower: Follower
    anew: Callable[[], None]
    known: bool


class LiveCatalog:
    """The served kinds, and the owner references and finalizers of their objects."""

    def __init__(self, store: Store, resources: Resources) -> None:
        self._store = store
        self._resources = resources
        self._followers: list[_Follower] = []
        self._following: Following | None = None
        self._known: dict[str, _Known] = {}
        """Key in the store → the item of the newest state, the last changed last."""
        self._unsubscribe: Callable[[], None] | None = None

    def kinds(self) -> list[Kind]:
        """See Catalog."""
        found = map(_usual_kind, self._resources)
        return [kind for kind in found if kind is not None]

    def kinds_in(self, namespace: str) -> list[Kind]:
        """See Catalog."""
        count = self._store.count
        living = (
            each
            for each in self._resources.installed()
            if each.namespaced and count(each.key(namespace, ""))
        )
        return [kind for kind in map(_usual_kind, living) if kind is not None]

    def find(self, api_version: str, kind: str) -> Kind | None:
        """See Catalog."""
        group, version = split_api_version(api_version)
        resource = self._resources.by_kind(group, kind)
        return _kind(resource, version) if resource is not None else None

    def follow(
        self, follower: Follower, anew: Callable[[], None], *, known: bool = False
    ) -> Callable[[], None]:
        """See Catalog."""
        added = _Follower(follower, anew, known)
        if known:
            self._tell_known(follower)
        self._followers.append(added)
        if self._following is None:
            self._following = self._store.follow(keys.ROOT, self._deliver, anew=self._begin_anew)
            # an item contains the usual version of its kind
            self._unsubscribe = self._resources.subscribe(self._known.clear)
        return lambda: self._end(added)

    def _tell_known(self, follower: Follower) -> None:
        entries = self._store.list(keys.ROOT)
        for place, data in enumerate(columns.data(entries)):
            item = self._item(entries[place]) if may_be_bound(data) else None
            if item is not None:
                follower(Step(None, item))

    def _end(self, follower: "_Follower") -> None:
        self._followers.remove(follower)
        if not self._followers and self._following is not None:
            self._following.close()
            self._following = None
            if self._unsubscribe is not None:
                self._unsubscribe()
            self._known.clear()

    def _begin_anew(self) -> None:
        for each in tuple(self._followers):
            try:
                each.anew()
                if each.known:
                    self._tell_known(each.follower)
            except Exception:  # as below
                logger.exception("a follower of all changes failed at all there is")

    def _deliver(self, changes: Sequence[Change]) -> None:
        for change in changes:
            step = self._step(change)
            if step is not None:
                for each in tuple(self._followers):
                    try:
                        each.follower(step)
                    except Exception:  # an error of one controller must not affect the others
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
        old = self._last_item(before) if before is not None else None
        new = None if gone else self._item(change.entry)
        if new is not None:
            self._remember(change.entry, new)
        return Step(old, new) if old is not None or new is not None else None

    def _last_item(self, entry: Entry) -> Item | None:
        """Return the item of the state before a change."""
        known = self._known.pop(entry.key, None)
        if known is not None and known.revision == entry.revision:
            return known.item
        return self._item(entry)

    def _remember(self, entry: Entry, item: Item) -> None:
        self._known[entry.key] = _Known(entry.revision, item)
        if len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]

    def _item(self, entry: Entry) -> Item | None:
        """Return the item of an entry, or None if its kind is no longer served."""
        value = orjson.loads(entry.data)  # not kept decoded: few of these states are read again
        group, _ = split_api_version(value["apiVersion"])
        resource = self._resources.by_kind(group, value["kind"])
        kind = _usual_kind(resource) if resource is not None else None
        return None if kind is None else Item.of(value, kind.resource)


def _usual_kind(resource: Resource) -> Kind | None:
    """Return the kind in the storage version if it is served, else in the first served version."""
    return resource.once(_usual_kind, lambda: _make_usual_kind(resource))


def _make_usual_kind(resource: Resource) -> Kind | None:
    versions = (resource.storage.name, *resource.versions)
    return next(filter(None, (_kind(resource, version) for version in versions)), None)


def _kind(resource: Resource, version: str) -> Kind | None:
    """Return the kind in that version."""
    served = resource.served(version)
    if served is None:
        return None
    verbs = frozenset(resource.definition.verbs)
    return Kind(served.gvr, served.kind, resource.namespaced, verbs)
