"""Informers: one watched, cached copy of a resource, shared by all controllers that need it.

An informer lists objects, then watches from the list's revision. After the end of a watch, it
resumes at its revision, and lists again only on 410, like client-go/tools/cache/reflector.go.
Subscribers receive each change as (old, new). These objects belong to the cache and must not be
changed. Cached objects have no managedFields. The number of objects bounds an informer: it has no
queue.
"""

import asyncio
import logging
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import NamedTuple, Protocol, TypeVar

from inkube.controllers.client import Client, Event, Object, Selection, ignoring
from inkube.controllers.outages import Outages
from inkube.controllers.workqueue import Backoff
from inkube.schemas.clock import Clock
from inkube.schemas.meta import GVR
from inkube.schemas.status import StatusError

logger = logging.getLogger(__name__)

RECONNECT = Backoff(first=0.1, longest=30.0)


class Key(NamedTuple):
    """The namespace ("" for a cluster-scoped object) and name of an object.

    For objects of any kind, `resource` is the resource, such as `apps/v1/deployments`.
    """

    namespace: str
    name: str
    resource: str = ""

    @classmethod
    def of(cls, obj: Object) -> "Key":
        """Return the key of an object."""
        metadata = obj["metadata"]
        return cls(metadata.get("namespace", ""), metadata["name"])


class Change(NamedTuple):
    """A change of one object: no `old` for a new object, no `new` for a deleted one."""

    old: Object | None
    new: Object | None

    @property
    def object(self) -> Object:
        """The newest known state."""
        found = self.new if self.new is not None else self.old
        assert found is not None
        return found


Subscriber = Callable[[Change], None]
Indexer = Callable[[Object], Iterable[str]]


class Summary(Protocol):
    """Data that an informer derives from its objects."""

    def update(self, change: Change) -> None:
        """Handle a new, changed or deleted object, before subscribers receive the change."""
        ...


S = TypeVar("S", bound=Summary)


class Index:
    """The keys of cached objects by values that a function reads from them."""

    def __init__(self, values: Indexer) -> None:
        self._values = values
        self._keys: dict[str, set[Key]] = {}

    def update(self, change: Change) -> None:
        """Remove the values of the old object and add those of the new one."""
        before = () if change.old is None else tuple(self._values(change.old))
        after = () if change.new is None else tuple(self._values(change.new))
        if before == after:  # most changes of an object
            return
        key = Key.of(change.object)
        for value in before:
            self._remove(value, key)
        for value in after:
            self._keys.setdefault(value, set()).add(key)

    def keys(self, value: str) -> list[Key]:
        """Return the keys of the objects with a value, sorted."""
        return sorted(self._keys.get(value, ()))

    def count(self, value: str) -> int:
        """Return the number of objects with a value."""
        return len(self._keys.get(value, ()))

    def _remove(self, value: str, key: Key) -> None:
        keys = self._keys.get(value, set())
        keys.discard(key)
        if not keys:
            self._keys.pop(value, None)


class _Waiter(NamedTuple):
    """A caller that waits until the cache has reached a revision."""

    revision: int
    future: asyncio.Future[None]


class Informer:
    """The cached copy of one resource. `run` updates it."""

    def __init__(
        self,
        client: Client,
        resource: GVR,
        *,
        clock: Clock,
        outages: Outages,
        selection: Selection | None = None,
    ) -> None:
        self.resource = resource
        self._client = client
        self._clock = clock
        self._outages = outages
        self._selection = selection or Selection()
        self._objects: dict[Key, Object] = {}
        self._summaries: dict[Hashable, Summary] = {}
        self._subscribers: list[Subscriber] = []
        self._version = ""
        self._has_synced = asyncio.Event()
        self._waiters: list[_Waiter] = []

    @property
    def version(self) -> int:
        """The revision of the cache; 0 before the first list."""
        return int(self._version or 0)

    @property
    def is_synced(self) -> bool:
        """Whether the resource was listed."""
        return self._has_synced.is_set()

    def get(self, key: Key) -> Object | None:
        """Return the cached object."""
        return self._objects.get(key)

    def items(self, namespace: str = "") -> Iterator[Object]:
        """Yield all cached objects, or those of a namespace."""
        for key, obj in self._objects.items():
            if not namespace or key.namespace == namespace:
                yield obj

    def index(self, values: Indexer) -> Index:
        """Return the index by the values of a function. The first call with a function creates
        it."""
        return self.summary(values, Index, lambda: Index(values))

    def summary(self, name: Hashable, kind: type[S], create: Callable[[], S]) -> S:
        """Return the summary with that name; the first call creates it with `create`."""
        if name not in self._summaries:
            made = create()
            for obj in self._objects.values():
                made.update(Change(None, obj))
            self._summaries[name] = made
        found = self._summaries[name]
        assert isinstance(found, kind), f"{name} is kept as something else"
        return found

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call the subscriber for every change, and now for each cached object. It must return
        immediately."""
        self._subscribers.append(subscriber)
        for obj in list(self._objects.values()):
            subscriber(Change(None, obj))

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Stop calling the subscriber."""
        self._subscribers.remove(subscriber)

    @property
    def is_used(self) -> bool:
        """Whether it has a listener, an index or another summary."""
        return bool(self._subscribers or self._summaries)

    async def wait_synced(self) -> None:
        """Return when the resource was listed."""
        await self._has_synced.wait()

    async def wait_for_revision(self, revision: int) -> None:
        """Return when the cache has reached a revision."""
        if self.version < revision:
            reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(_Waiter(revision, reached))
            await reached

    async def wait_for_write(self, written: Object) -> None:
        """Return when the cache has reached the write that returned this object."""
        await self.wait_for_revision(int(written["metadata"]["resourceVersion"]))

    async def missing_revision(self) -> int:
        """Return the newest revision of the resource if the cache has not reached it; otherwise
        0."""
        newest = 0
        with ignoring(404):
            newest = int(await self._client.revision(self.resource, self._selection.namespace) or 0)
        return newest if newest > self.version else 0

    async def caught_up(self) -> None:
        """Return when the cache contains all writes before this call."""
        await self.wait_for_revision(await self.missing_revision())

    async def run(self) -> None:
        """List and watch the resource, and repeat this after errors. Runs until cancelled."""
        failures = 0
        while True:
            before = self._version
            try:
                await self._list_and_watch()
            except StatusError as error:
                self._on_error(error)
            except Exception as error:  # an informer that ends would stop all subscribers
                is_known = self._outages.includes(error)
                trace = None if is_known else error
                logger.error("watching %s failed: %s", self.resource, error, exc_info=trace)
            failures = 1 if self._version != before else failures + 1
            await self._clock.sleep(RECONNECT.delay(failures))

    async def _list_and_watch(self) -> None:
        if not self._version:
            await self._list()
        events = self._client.watch(self.resource, self._selection, resource_version=self._version)
        async for event in events:
            self._apply(event)

    def _on_error(self, error: StatusError) -> None:
        if error.code == 410:
            logger.info("the watch of %s is too old, listing again", self.resource)
            self._version = ""
        elif error.code != 404:
            logger.warning("watching %s was refused: %s", self.resource, error.message)

    async def _list(self) -> None:
        found = await self._client.list(self.resource, self._selection)
        listed = {Key.of(obj): obj for obj in found.items}
        for key in [key for key in self._objects if key not in listed]:
            self._publish(key, None)
        for key, obj in listed.items():
            self._replace(key, obj)
        self._advance(found.resource_version)
        self._has_synced.set()

    def _replace(self, key: Key, new: Object) -> None:
        old = self._objects.get(key)
        if old is not None and old["metadata"].get("uid") != new["metadata"].get("uid"):
            self._publish(key, None)
            old = None
        if old is None or old["metadata"]["resourceVersion"] != new["metadata"]["resourceVersion"]:
            self._publish(key, new)

    def _apply(self, event: Event) -> None:
        if event.type in ("ADDED", "MODIFIED"):
            self._publish(Key.of(event.object), event.object)
        elif event.type == "DELETED":
            self._publish(Key.of(event.object), None, event.object)
        self._advance(event.object["metadata"]["resourceVersion"])

    def _publish(self, key: Key, new: Object | None, last: Object | None = None) -> None:
        old = self._objects.pop(key, None) if new is None else self._objects.get(key)
        if new is None and old is None:
            return
        if new is not None:
            # half of a pod's size; an update without managedFields keeps the stored ones
            new["metadata"].pop("managedFields", None)
            if old is not None and "spec" in new and new["spec"] == old.get("spec"):
                new["spec"] = old["spec"]  # most changes are of the status
            self._objects[key] = new
        change = Change(old, new)
        for summary in self._summaries.values():
            summary.update(change)
        heard = Change(last or old, None) if new is None else change
        for subscriber in tuple(self._subscribers):
            subscriber(heard)

    def _advance(self, version: str) -> None:
        self._version = version
        if self._waiters:
            now, waiting = self.version, self._waiters
            self._waiters = [
                each for each in waiting if each.revision > now and not each.future.done()
            ]
            for each in waiting:
                if each.revision <= now and not each.future.done():
                    each.future.set_result(None)


class Informers:
    """The informers in use, one for each resource and selection. `start` runs them."""

    def __init__(self, client: Client, clock: Clock, outages: Outages | None = None) -> None:
        self._client = client
        self._clock = clock
        self._outages = outages or Outages(clock)
        self._informers: dict[tuple[GVR, Selection], Informer] = {}
        self._tasks: dict[Informer, asyncio.Task[None]] = {}
        self._is_running = False

    def of(self, resource: GVR | str, selection: Selection | None = None) -> Informer:
        """Return the informer of a resource; created and started at the first call."""
        gvr = GVR.parse(resource) if isinstance(resource, str) else resource
        wanted = selection or Selection()
        informer = self._informers.get((gvr, wanted))
        if informer is None:
            informer = Informer(
                self._client, gvr, clock=self._clock, outages=self._outages, selection=wanted
            )
            self._informers[gvr, wanted] = informer
            if self._is_running:
                self._start(informer)
        return informer

    @property
    def is_running(self) -> bool:
        """Whether the informers run."""
        return self._is_running

    def all(self) -> list[Informer]:
        """Return all informers in use."""
        return list(self._informers.values())

    async def remove(self, informer: Informer) -> None:
        """Stop an informer and remove it; it must not be used afterwards."""
        self._informers = {
            key: known for key, known in self._informers.items() if known is not informer
        }
        await _cancel([task for task in [self._tasks.pop(informer, None)] if task])

    def start(self) -> None:
        """Run all informers, including those created later."""
        self._is_running = True
        for informer in self._informers.values():
            self._start(informer)

    async def stop(self) -> None:
        """Stop all informers."""
        self._is_running = False
        tasks = list(self._tasks.values())
        self._tasks.clear()
        await _cancel(tasks)

    def _start(self, informer: Informer) -> None:
        if informer not in self._tasks:
            name = f"informer {informer.resource.resource}"
            self._tasks[informer] = asyncio.create_task(informer.run(), name=name)


async def _cancel(tasks: "list[asyncio.Task[None]]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
