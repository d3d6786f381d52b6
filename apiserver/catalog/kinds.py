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
from inkube.schemas.objects import Object
from inkube.storage import Change, Entry, Following, Store, columns

logger = logging.getLogger(__name__)
_QUOTA_COUNTED = tuple(
    keys.prefix(plural)
    for plural in ("persistentvolumeclaims", "pods", "resourceclaims", "services")
)
"""Kinds whose changes are always reported, because quotas count their objects again."""
_DEFINITIONS = keys.prefix("customresourcedefinitions")
_ESTABLISHED_CONDITION = b'"Established"'
"""Part of the stored bytes of each definition that can be served; most writes at a start lack
it."""
_MAX_CACHED_ITEMS = 4096
"""Items of recently changed objects. The next change of an object needs its item again."""


class _CachedItem(NamedTuple):
    """The item of a state, and the revision of the state."""

    revision: int
    item: Item


class _Follower(NamedTuple):
    """A follower; see `Catalog.follow`."""

    follower: Follower
    anew: Callable[[], None]
    includes_stored: bool


class LiveCatalog:
    """The served kinds, and the owner references and finalizers of their objects."""

    def __init__(self, store: Store, resources: Resources) -> None:
        self._store = store
        self._resources = resources
        self._followers: list[_Follower] = []
        self._subscription: Following | None = None
        self._items: dict[str, _CachedItem] = {}
        """Key in the store → the item of the newest state, the last changed last."""
        self._unsubscribe: Callable[[], None] | None = None

    def kinds(self) -> list[Kind]:
        usual_kinds = map(_usual_kind, self._resources)
        return [kind for kind in usual_kinds if kind is not None]

    def kinds_in(self, namespace: str) -> list[Kind]:
        count = self._store.count
        with_objects = (
            each
            for each in self._resources.installed()
            if each.namespaced and count(each.key(namespace, ""))
        )
        return [kind for kind in map(_usual_kind, with_objects) if kind is not None]

    def find(self, api_version: str, kind: str) -> Kind | None:
        group, version = split_api_version(api_version)
        resource = self._resources.by_kind(group, kind)
        return _kind(resource, version) if resource is not None else None

    def follow(
        self, follower: Follower, anew: Callable[[], None], *, includes_stored: bool = False
    ) -> Callable[[], None]:
        entry = _Follower(follower, anew, includes_stored)
        if includes_stored:
            self._send_stored(follower)
        self._followers.append(entry)
        if self._subscription is None:
            self._subscription = self._store.follow(
                keys.ROOT, self._deliver, on_relist=self._begin_anew
            )
            # an item contains the usual version of its kind
            self._unsubscribe = self._resources.subscribe(self._items.clear)
        return lambda: self._end(entry)

    def _send_stored(self, follower: Follower) -> None:
        entries = self._store.list(keys.ROOT)
        for index, data in enumerate(columns.data(entries)):
            item = self._item(entries[index]) if may_be_bound(data) else None
            if item is not None:
                follower(Step(None, item))

    def _end(self, follower: "_Follower") -> None:
        self._followers.remove(follower)
        if not self._followers and self._subscription is not None:
            self._subscription.close()
            self._subscription = None
            if self._unsubscribe is not None:
                self._unsubscribe()
            self._items.clear()

    def _begin_anew(self) -> None:
        for each in tuple(self._followers):
            try:
                each.anew()
                if each.includes_stored:
                    self._send_stored(each.follower)
            except Exception:  # as below
                logger.exception("a follower of all changes failed to process its relist")

    def _deliver(self, changes: Sequence[Change]) -> None:
        for change in changes:
            step = self._step(change)
            if step is not None:
                for each in tuple(self._followers):
                    try:
                        each.follower(step)
                    except Exception:  # an error of one controller must not affect the others
                        logger.exception(
                            "a follower of all changes failed to process the change of %s",
                            step.item.key,
                        )

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        return self._resources.subscribe(listener)

    def _step(self, change: Change) -> Step | None:
        is_deleted, previous = change.type == "DELETED", change.previous
        is_counted = previous is not None and change.entry.key.startswith(_QUOTA_COUNTED)
        if not (
            is_deleted
            or is_counted
            or may_be_bound(change.entry.data)
            or (previous is not None and may_be_bound(previous.data))
        ):
            return None
        old = self._last_item(previous) if previous is not None else None
        new = None if is_deleted else self._item(change.entry)
        if new is not None:
            self._cache(change.entry, new)
        return Step(old, new) if old is not None or new is not None else None

    def _last_item(self, entry: Entry) -> Item | None:
        """Return the item of the state before a change."""
        cached = self._items.pop(entry.key, None)
        if cached is not None and cached.revision == entry.revision:
            return cached.item
        return self._item(entry)

    def _cache(self, entry: Entry, item: Item) -> None:
        self._items[entry.key] = _CachedItem(entry.revision, item)
        if len(self._items) > _MAX_CACHED_ITEMS:
            del self._items[next(iter(self._items))]

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


def serve_stored(
    store: Store, serve: Callable[[Object], None], forget: Callable[[], None]
) -> Following:
    """Serve each definition as it is stored, before the response to its writer: a client that
    changes a schema and then writes an object finds the new schema in effect.

    `controllers.core.crds` accepts names and updates conditions later. If the whole store is read
    again, the cached state is dropped. The caller closes the result.
    """

    def on_changes(changes: Sequence[Change]) -> None:
        for change in changes:
            if change.type != "DELETED" and _ESTABLISHED_CONDITION in change.entry.data:
                serve({**change.entry.value})

    # the controller then lists again, and serves the definitions that it finds
    return store.follow(_DEFINITIONS, on_changes, on_relist=forget)
