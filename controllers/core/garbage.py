"""Garbage collection by owner references, for objects of every kind.

The graph maps uids of owners to their dependents. A reconcile reads one object and each of its
owners. Nothing is deleted because of the graph alone. Follows pkg/controller/garbagecollector
(graph_builder.go, garbagecollector.go).
"""

from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum

from inkube.controllers.client import Client, Object, get_or_none
from inkube.controllers.core.catalog import Catalog, Item, Owner, Step
from inkube.controllers.informer import Key
from inkube.controllers.manager import Controller, Manager, Result

NAME = "garbage"
ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
_MAX_ABSENT_OWNERS = 500  # deleted owners, the size of the reference's cache of absent owners
_WORKERS = 20  # --concurrent-gc-syncs
_WRITER = "kube-controller-manager"


class Graph:
    """The dependents of objects, by the uids of the owners."""

    def __init__(self) -> None:
        self._items: dict[tuple[str, str, str], Item] = {}
        self._dependents: dict[str, dict[tuple[str, str, str], Key]] = {}
        self._waiting: dict[str, Key] = {}
        """Owners in foreground deletion, by uid."""
        self._absent_owners: deque[str] = deque(maxlen=_MAX_ABSENT_OWNERS)

    def apply(self, step: Step) -> Iterable[Key]:
        """Record a step. Yields the objects that the collector must check because of it."""
        place = _identity(step.item.key)
        old = self._items.pop(place, None)
        new = step.new
        if old is not None:
            self._remove(place, old)
        if new is not None and (new.owners or new.is_deleting):
            self._add(place, new)
        if new is None or (old is not None and old.uid != new.uid):
            gone = old if old is not None else step.item
            left = self.dependents(gone.uid)
            if left:
                self._absent_owners.append(gone.uid)
            yield from left
        yield from self._owners_to_tell(old, new)
        if new is None:
            return
        if _is_collected(new):
            yield new.key
            if FOREGROUND in new.finalizers and not (old and FOREGROUND in old.finalizers):
                yield from self.dependents(new.uid)
        elif new.owners and (old is None or (old.uid, old.owners) != (new.uid, new.owners)):
            yield new.key

    def clear(self) -> None:
        """Clear the graph before it is filled again: the collector then checks all objects."""
        self._items.clear()
        self._dependents.clear()
        self._waiting.clear()

    def dependents(self, uid: str) -> list[Key]:
        """Return the objects that name this owner."""
        return list(self._dependents.get(uid, {}).values())

    def is_absent(self, uid: str) -> bool:
        """Return whether this owner was deleted recently, even if its kind is no longer served."""
        return uid in self._absent_owners

    def blocking(self, uid: str) -> list[Key]:
        """Return the dependents that a foreground deletion of this owner waits for."""
        return [
            key
            for place, key in self._dependents.get(uid, {}).items()
            if any(owner.uid == uid and owner.blocks for owner in self._items[place].owners)
        ]

    def is_waiting(self, key: Key) -> bool:
        """Return whether the object is in foreground deletion."""
        item = self._items.get(_identity(key))
        return item is not None and item.is_deleting and FOREGROUND in item.finalizers

    def _add(self, identity: tuple[str, str, str], item: Item) -> None:
        self._items[identity] = item
        for owner in item.owners:
            self._dependents.setdefault(owner.uid, {})[identity] = item.key
        if item.is_deleting and FOREGROUND in item.finalizers:
            self._waiting[item.uid] = item.key

    def _remove(self, identity: tuple[str, str, str], item: Item) -> None:
        self._waiting.pop(item.uid, None)
        for owner in item.owners:
            places = self._dependents.get(owner.uid, {})
            places.pop(identity, None)
            if not places:
                self._dependents.pop(owner.uid, None)

    def _owners_to_tell(self, old: Item | None, new: Item | None) -> Iterable[Key]:
        """Yield the waiting owners that a changed dependent no longer blocks."""
        if old is None:
            return
        still = {owner.uid for owner in new.owners if owner.blocks} if new is not None else set()
        for owner in old.owners:
            if owner.uid in self._waiting and owner.uid not in still:
                yield self._waiting[owner.uid]


def _identity(key: Key) -> tuple[str, str, str]:
    """Return an object's identity in all versions of its kind."""
    group = key.resource.rpartition("/")[0].rpartition("/")[0]
    plural = key.resource.rpartition("/")[2]
    return f"{plural}.{group}", key.namespace, key.name


def _is_collected(item: Item) -> bool:
    return item.is_deleting and (ORPHAN in item.finalizers or FOREGROUND in item.finalizers)


class _OwnerState(Enum):
    SOLID = "solid"
    DANGLING = "dangling"
    WAITING = "waiting"
    UNKNOWN = "unknown"
    IMPOSSIBLE = "impossible"


class Collector:
    """Deletes objects without existing owners, and finishes foreground and orphaning deletions."""

    def __init__(self, client: Client, catalog: Catalog) -> None:
        self._client = client
        self._catalog = catalog
        self._graph = Graph()
        self._unknown: set[Key] = set()
        """Objects with an owner of a kind that is not served."""

    def feed(self, add: Callable[[Key], None]) -> Callable[[], None]:
        """Add the objects to check to the queue. Returns a function that ends this."""

        def follow(step: Step) -> None:
            for key in self._graph.apply(step):
                add(key)

        def retry() -> None:
            unknown, self._unknown = self._unknown, set()
            for key in unknown:
                add(key)

        ends = [
            self._catalog.follow(follow, self._graph.clear, includes_stored=True),
            self._catalog.on_change(retry),
        ]

        def end() -> None:
            for each in ends:
                each()

        return end

    async def reconcile(self, key: Key) -> Result | None:
        """Check the current state of one object."""
        obj = await self._get(key)
        if obj is None:
            return None
        item = Item.of(obj, key.resource)
        if item.is_deleting:
            if ORPHAN in item.finalizers:
                await self._orphan(item, obj)
            elif FOREGROUND in item.finalizers:
                await self._finish_foreground(item, obj)
        elif item.owners:
            await self._attempt_to_delete(item, obj)
        return None

    async def _attempt_to_delete(self, item: Item, obj: Object) -> None:
        """attemptToDeleteItem: keep the object, remove its missing owners, or delete it."""
        standings = [(owner, await self._owner_state(item, owner)) for owner in item.owners]
        found = {standing for _, standing in standings}
        if _OwnerState.UNKNOWN in found:
            self._unknown.add(item.key)
            return
        if _OwnerState.IMPOSSIBLE in found:
            return
        if _OwnerState.SOLID in found:
            lost = {owner.uid for owner, standing in standings if standing is not _OwnerState.SOLID}
            if lost:
                await self._drop_owners(item.key, obj, lost)
        elif _OwnerState.WAITING in found and self._graph.dependents(item.uid):
            if any(self._graph.is_waiting(key) for key in self._graph.dependents(item.uid)):
                obj = await self._unblock(item.key, obj)
            await self._delete(item.key, obj, "Foreground")
        else:
            await self._delete(item.key, obj, _policy(item))

    async def _owner_state(self, item: Item, owner: Owner) -> _OwnerState:
        kind = self._catalog.find(owner.api_version, owner.kind)
        if kind is None:
            gone = self._graph.is_absent(owner.uid)
            return _OwnerState.DANGLING if gone else _OwnerState.UNKNOWN
        if kind.namespaced and not item.key.namespace:
            return _OwnerState.IMPOSSIBLE
        namespace = item.key.namespace if kind.namespaced else ""
        found = await self._get(Key(namespace, owner.name, str(kind.resource)))
        if found is None or found["metadata"]["uid"] != owner.uid:
            return _OwnerState.DANGLING
        meta = found["metadata"]
        if meta.get("deletionTimestamp") and FOREGROUND in (meta.get("finalizers") or ()):
            return _OwnerState.WAITING
        return _OwnerState.SOLID

    async def _orphan(self, item: Item, obj: Object) -> None:
        for key in self._graph.dependents(item.uid):
            dependent = await self._get(key)
            if dependent is not None:
                await self._drop_owners(key, dependent, {item.uid})
        await self._remove_finalizer(item.key, obj, ORPHAN)

    async def _finish_foreground(self, item: Item, obj: Object) -> None:
        """Remove the owner when no dependent blocks it; its dependents were deleted when its
        deletion began."""
        if not self._graph.blocking(item.uid):
            await self._remove_finalizer(item.key, obj, FOREGROUND)

    async def _drop_owners(self, key: Key, obj: Object, uids: set[str]) -> None:
        references = obj["metadata"].get("ownerReferences") or []
        kept = [reference for reference in references if reference.get("uid") not in uids]
        await self._write(key, obj, {"ownerReferences": kept or None})

    async def _unblock(self, key: Key, obj: Object) -> Object:
        """Clear blockOwnerDeletion, because the object and its owner wait for each other."""
        references = obj["metadata"]["ownerReferences"]
        freed = [{**reference, "blockOwnerDeletion": False} for reference in references]
        return await self._write(key, obj, {"ownerReferences": freed})

    async def _remove_finalizer(self, key: Key, obj: Object, name: str) -> None:
        kept = [finalizer for finalizer in obj["metadata"]["finalizers"] if finalizer != name]
        await self._write(key, obj, {"finalizers": kept or None})

    async def _write(self, key: Key, obj: Object, metadata: Object) -> Object:
        version = obj["metadata"]["resourceVersion"]
        patch = {"metadata": {"resourceVersion": version, **metadata}}
        return await self._client.patch(
            key.resource, key.name, key.namespace, patch=patch, field_manager=_WRITER
        )

    async def _delete(self, key: Key, obj: Object, policy: str) -> None:
        meta = obj["metadata"]
        same = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        options = {"propagationPolicy": policy, "preconditions": same}
        await self._client.delete(key.resource, key.name, key.namespace, options=options)

    async def _get(self, key: Key) -> Object | None:
        return await get_or_none(self._client, key.resource, key.name, key.namespace)


def _policy(item: Item) -> str:
    """Return the propagation policy for the deletion of an object, by its finalizers."""
    if ORPHAN in item.finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in item.finalizers else "Background"


def add(manager: Manager, catalog: Catalog) -> None:
    """Add the collector to the manager."""
    collector = Collector(manager.client, catalog)
    source = collector.feed
    manager.add(Controller(NAME, collector.reconcile, (), concurrency=_WORKERS, sources=(source,)))
