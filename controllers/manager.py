"""The manager runs controllers: informers feed their queues, which reconcile key by key.

A reconcile is level-based: it gets the key of an object, reads the current state, and returns when
to run again. If it raises, this is logged, and it is repeated with back-off; it cannot stop the
loop. The composition root creates and enters one manager.

If several servers share their data, most controllers run only in the leader, like those of
kube-controller-manager. The controllers of kube-apiserver itself, which maintain the served kinds,
run in each server (`Controller.everywhere`).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, NamedTuple, Self

from inkube.controllers.client import Client, Selection
from inkube.controllers.informer import Change, Informer, Informers, Key
from inkube.controllers.pacer import Pacer
from inkube.controllers.workqueue import Backoff, WorkQueue
from inkube.schemas.clock import Clock
from inkube.schemas.meta import GVR
from inkube.schemas.status import StatusError

logger = logging.getLogger(__name__)

DRAIN = 1.0
"""Cancelled reconciles get so many seconds to clean up when the manager stops."""


class Result(NamedTuple):
    """How a reconcile ended: `requeue_after` is when to look again, in seconds; 0 means never."""

    requeue_after: float = 0.0


GRACE = 0.02
"""Real seconds between an object's creation and its first status, where a controller gives time.

In the reference an object travels through etcd's watch and an informer before kube-apiserver's own
controllers write its status, so that a client may update what its create was answered, with the
resourceVersion of that answer. Here they would always be faster than the client.
"""

Reconcile = Callable[[Key], Awaitable[Result | None]]


def own_key(change: Change) -> Iterable[Key]:
    """The changed object itself."""
    return (Key.of(change.object),)


class Watch(NamedTuple):
    """A resource whose changes concern a controller; `keys` says which of its objects."""

    resource: GVR | str
    keys: Callable[[Change], Iterable[Key]] = own_key
    selection: Selection = Selection()


Source = Callable[[Callable[[Key], None]], Callable[[], None]]
"""Keys from elsewhere than watches: called with the queue's `add`, returns what ends it."""


@dataclass(frozen=True, slots=True, eq=False)
class Controller:
    """A name (unique in a manager), what it watches and what it does with each key."""

    name: str
    reconcile: Reconcile
    watches: tuple[Watch, ...]
    concurrency: int = 4
    backoff: Backoff = field(default_factory=Backoff)
    sources: tuple[Source, ...] = ()
    everywhere: bool = False
    """Whether it runs in servers, too, that do not lead: several may do the same at once."""
    gives_time: bool = False
    """Whether a new object without conditions is left alone for GRACE."""
    sums_up: bool = False
    """Whether it sums up what others do to many objects, and so lets a crowd of them go first."""


class _Running:
    """A controller at work: its queue, what it reconciles and its subscriptions."""

    def __init__(self, controller: Controller, manager: "Manager") -> None:
        self.controller = controller
        self._pacer = manager.pacer
        informers, clock = manager.informers, manager.clock
        self.queue: WorkQueue[Key] = WorkQueue(clock, backoff=controller.backoff)
        self._watched = [
            (informers.of(watch.resource, watch.selection), self._subscriber(watch))
            for watch in controller.watches
        ]
        self._room = asyncio.Semaphore(controller.concurrency)
        self._due: dict[Key, float] = {}
        """Until when new objects are left alone, as the event loop's time, which no test moves:
        those that are created together wait together."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._ends: list[Callable[[], None]] = []

    def start(self) -> None:
        """Subscribe and begin to work once all informers were listed."""
        self._ends = [source(self.queue.add) for source in self.controller.sources]
        for informer, subscriber in self._watched:
            informer.subscribe(subscriber)
        self._begin(self.queue.run())
        self._begin(self._work())

    async def stop(self) -> None:
        """Hear no more changes and cancel what runs: level-based work may stop anywhere."""
        for end in self._ends:
            end()
        self._ends = []
        for informer, subscriber in self._watched:
            informer.unsubscribe(subscriber)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=DRAIN)

    def informers(self) -> list[Informer]:
        """The informers that the controller watches."""
        return [informer for informer, _ in self._watched]

    def _subscriber(self, watch: Watch) -> Callable[[Change], None]:
        def hear(change: Change) -> None:
            try:
                keys = list(watch.keys(change))
            except Exception:  # one object that cannot be understood must not stop the informer
                logger.exception("%s cannot tell whom a change concerns", self.controller.name)
                return
            own = Key.of(change.object)
            if self.controller.gives_time and own in keys and _is_new(change):
                self._due.setdefault(own, asyncio.get_running_loop().time() + GRACE)
            for key in keys:
                self.queue.add(key)

        return hear

    def _begin(self, job: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(job, name=f"controller {self.controller.name}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self) -> None:
        """Give each key a task of its own, as many at once as there is room for.

        Waiting workers would cost every server that starts and stops a task each.
        """
        for informer in self.informers():
            await informer.synced()
        while True:
            await self._room.acquire()
            self._begin(self._work_on(await self.queue.take()))

    async def _work_on(self, key: Key) -> None:
        try:
            await self._pacer.turn(patient=self.controller.sums_up)
            if key in self._due:
                await asyncio.sleep(self._due.pop(key) - asyncio.get_running_loop().time())
            self.queue.begin(key)
            await self._reconcile(key)
        finally:
            self.queue.done(key)
            self._room.release()

    async def _reconcile(self, key: Key) -> None:
        try:
            result = await self.controller.reconcile(key)
        except StatusError as error:
            self._failed(key, error, is_ordinary=error.code in (404, 409))
        except Exception as error:  # noqa: BLE001 - whatever a reconcile raises, the loop goes on
            self._failed(key, error, is_ordinary=False)
        else:
            self.queue.forget(key)
            if result is not None and result.requeue_after > 0:
                self.queue.add_after(key, result.requeue_after)

    def _failed(self, key: Key, error: Exception, *, is_ordinary: bool) -> None:
        delay = self.queue.retry(key)
        level = logging.DEBUG if is_ordinary else logging.ERROR
        logger.log(
            level,
            "%s could not reconcile %s, again in %.3f s: %s",
            self.controller.name,
            "/".join(part for part in key if part),
            delay,
            error,
            exc_info=None if is_ordinary else error,
        )


def _is_new(change: Change) -> bool:
    """Whether an object appeared that nothing was said of yet."""
    made = change.new if change.old is None else None
    return made is not None and not (made.get("status") or {}).get("conditions")


class Manager:
    """Runs controllers over one client; `async with` starts and stops it.

    Until it becomes the leader, it runs only the controllers that run everywhere.
    """

    def __init__(self, client: Client, clock: Clock, *, leads: bool = True) -> None:
        self.client = client
        self.clock = clock
        self.informers = Informers(client, clock)
        self.pacer = Pacer()
        self._controllers: dict[str, Controller] = {}
        self._running: dict[str, _Running] = {}
        self._is_started = False
        self._leads = leads
        self._context = copy_context()

    def add(self, controller: Controller) -> None:
        """Run it with the others; at once when they run already."""
        if controller.name in self._controllers:
            raise ValueError(f"a controller named {controller.name!r} runs already")
        self._controllers[controller.name] = controller
        if self._leads or controller.everywhere:
            self._make(controller)

    async def remove(self, name: str) -> None:
        """Stop a controller and the informers that no other controller uses."""
        del self._controllers[name]
        gone = self._running.pop(name, None)
        if gone is None:
            return
        await gone.stop()
        for informer in set(gone.informers()):
            if not informer.is_used:
                await self.informers.drop(informer)

    @property
    def names(self) -> list[str]:
        """The controllers that run here now."""
        return list(self._running)

    async def done(self, name: str, revision: int) -> None:
        """Return once a controller that runs here has done what it had to up to a revision, of
        whatever it watches."""
        running = self._running[name]
        for informer in running.informers():
            await informer.reach(revision)
        await running.queue.idle()

    def lead(self, context: Context) -> None:
        """Run all controllers; those that run in one server only, and what they begin, in copies
        of a context."""
        self._leads, self._context = True, context
        for name, controller in list(self._controllers.items()):
            if name not in self._running:
                self._make(controller)

    async def rest(self) -> None:
        """Stop what runs in one server only."""
        self._leads = False
        gone = [name for name in self._running if not self._controllers[name].everywhere]
        await asyncio.gather(*(self._running.pop(name).stop() for name in gone))

    async def start(self) -> None:
        """Start informers and controllers."""
        self._is_started = True
        self.informers.start()
        for running in list(self._running.values()):
            running.start()

    async def stop(self) -> None:
        """Stop controllers, then informers."""
        self._is_started = False
        await asyncio.gather(*(running.stop() for running in self._running.values()))
        await self.informers.stop()

    def _make(self, controller: Controller) -> None:
        running = self._running[controller.name] = _Running(controller, self)
        if not self._is_started:
            return
        if controller.everywhere:
            running.start()
        else:
            self._context.copy().run(running.start)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    @property
    def is_working(self) -> bool:
        """Whether a key waits or is worked on."""
        return any(running.queue for running in self._running.values())

    async def worked_off(self) -> None:
        """Return when no key waits, is worked on or is about to be retried: what changes gave
        controllers to do, and what that gave others. May take forever; delayed keys do not count.
        """
        while self.is_working:
            await self._queues_idle()

    def work_done(self) -> int:
        """How many keys were worked on so far: equal twice means that nothing ran in between."""
        return sum(running.queue.taken for running in self._running.values())

    async def settled(self) -> None:
        """Return when every informer is caught up and every queue idle, both at the same time.

        Delayed rechecks do not count, nor do keys that have failed so often that their next try
        is more than a second away.
        """
        while not await self._is_settled():
            for informer in self.informers.all():
                await informer.caught_up()
            await self._queues_idle()

    async def _is_settled(self) -> bool:
        """Nothing was worked on while the revisions were asked for, and all of them are reached."""
        before = self.work_done()
        if not self._is_idle():
            return False
        for informer in self.informers.all():
            if await informer.behind():
                return False
        return self._is_idle() and self.work_done() == before

    async def _queues_idle(self) -> None:
        """Return when every queue has been idle, not all at the same time."""
        for running in list(self._running.values()):
            await running.queue.idle()

    def _is_idle(self) -> bool:
        return all(running.queue.is_idle for running in self._running.values())
