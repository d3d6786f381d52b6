"""The manager runs controllers: informers feed their queues, which reconcile key by key.

A reconcile is level-based: it gets the key of an object, reads the current state, and returns when
to run again. If it raises, this is logged, and it is repeated with back-off; it cannot stop the
loop. If the store cannot be used, `outages` logs this once for all reconciles. The composition root
creates and enters one manager.

If several servers share their data, most controllers run only in the leader, like those of
kube-controller-manager. The controllers of kube-apiserver itself, which maintain the served kinds,
run in each server (`Controller.everywhere`).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Self

from inkube.controllers.client import Client, Selection
from inkube.controllers.clock import FakeClock, MovableClock
from inkube.controllers.eventnames import EventNames
from inkube.controllers.informer import Change, Informers, Key
from inkube.controllers.outages import Outages, Work
from inkube.controllers.pacer import Pacer
from inkube.controllers.workqueue import Backoff, WorkQueue
from inkube.schemas.clock import Clock
from inkube.schemas.meta import GVR
from inkube.schemas.status import StatusError

logger = logging.getLogger(__name__)

DRAIN = 1.0
"""Seconds for cancelled reconciles to clean up when the manager stops."""


class Result(NamedTuple):
    """The result of a reconcile. `requeue_after` is the delay until the next one in seconds, or 0
    for no next one."""

    requeue_after: float = 0.0


GRACE = 0.02
"""Real seconds between an object's creation and its first status, for controllers with gives_time.

In Kubernetes, an object passes through etcd's watch and an informer before kube-apiserver's own
controllers write its status. Until then, a client can update the object with the resourceVersion of
the response to its create. Without the delay, inkube's controllers would always be faster.
"""

Reconcile = Callable[[Key], Awaitable[Result | None]]


def own_key(change: Change) -> Iterable[Key]:
    """Return the key of the changed object."""
    return (Key.of(change.object),)


class Watch(NamedTuple):
    """A resource whose changes trigger a controller; `keys` returns the keys to reconcile."""

    resource: GVR | str
    keys: Callable[[Change], Iterable[Key]] = own_key
    selection: Selection = Selection()


Source = Callable[[Callable[[Key], None]], Callable[[], None]]
"""A source of keys other than watches: called with the queue's `add`, returns a function that ends
the source."""


@dataclass(frozen=True, slots=True, eq=False)
class Controller:
    """A name (unique in a manager), the watches, and the function for each key."""

    name: str
    reconcile: Reconcile
    watches: tuple[Watch, ...]
    concurrency: int = 4
    backoff: Backoff = field(default_factory=Backoff)
    sources: tuple[Source, ...] = ()
    everywhere: bool = False
    """Whether it also runs in servers that are not the leader, in several of them concurrently."""
    gives_time: bool = False
    """Whether it waits GRACE seconds before it handles a new object without conditions."""
    is_busy: Callable[[], bool] | None = None
    """Returns whether a task that the controller started continues by itself, without a key in the
    queue: such as a function that is a pod."""
    sums_up: bool = False
    """Whether it summarizes changes of many objects, so that many waiting reconciles run before
    it."""


class _RunningController:
    """A running controller: its queue, its reconciles and its subscriptions."""

    def __init__(self, controller: Controller, manager: "Manager") -> None:
        self.controller = controller
        self._pacer = manager.pacer
        self.outages = manager.outages
        informers, clock = manager.informers, manager.clock
        self.queue: WorkQueue[Key] = WorkQueue(clock, backoff=controller.backoff, wake=self._wake)
        self.informers = [
            informers.of(watch.resource, watch.selection) for watch in controller.watches
        ]
        """The informers that the controller watches, in the order of its watches."""
        self._slots = asyncio.Semaphore(controller.concurrency)
        self._due_times: dict[Key, float] = {}
        """Key of a new object → the end of its GRACE, in the time of the event loop, which tests do
        not move. Objects that are created together wait together."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._ends: list[Callable[[], None]] = []
        self._context: Context | None = None
        """Of the start, in which all tasks run; None before the start and when they run."""

    @property
    def is_idle(self) -> bool:
        """Whether no key waits or is being reconciled, and no task of the controller is busy."""
        is_busy = self.controller.is_busy
        return self.queue.is_idle and (is_busy is None or not is_busy())

    def observe(self, observe: Callable[[float, str, str], None]) -> None:
        """Call `observe` as `Manager.observe_queues` says."""
        name = self.controller.name
        self.queue.observe = lambda phase, seconds: observe(
            seconds, f"workqueue_{phase}_duration_seconds", name
        )

    def start(self) -> None:
        """Subscribe, and start to reconcile when all informers have listed their objects."""
        self._context = copy_context()
        self._ends = [source(self.queue.add) for source in self.controller.sources]
        for informer, watch in zip(self.informers, self.controller.watches, strict=True):
            hear = partial(self._on_change, watch)
            informer.subscribe(hear)
            self._ends.append(partial(informer.unsubscribe, hear))

    def end(self) -> "set[asyncio.Task[None]]":
        """Unsubscribe and cancel running reconciles. Level-based work can stop at any point.
        Returns the tasks to wait for."""
        self._context = None
        self.queue.close()
        for end in self._ends:
            end()
        self._ends = []
        for task in self._tasks:
            task.cancel()
        return self._tasks

    def _on_change(self, watch: Watch, change: Change) -> None:
        """Queue the keys that a change concerns."""
        try:
            keys = list(watch.keys(change))
        except Exception:  # a single malformed object must not stop the informer
            logger.exception(
                "%s cannot find the objects that a change concerns", self.controller.name
            )
            return
        if self.controller.gives_time and _is_new(change):
            own = Key.of(change.object)
            if own in keys:
                self._due_times.setdefault(own, asyncio.get_running_loop().time() + GRACE)
        for key in keys:
            self.queue.add(key)

    def _wake(self) -> None:
        """Start to work with the first key: most controllers of a server in a test never have
        one."""
        context, self._context = self._context, None
        if context is not None:
            self._start_task(self.queue.run(), context)
            self._start_task(self._work(), context)

    def _start_task(self, job: Coroutine[Any, Any, None], context: Context | None = None) -> None:
        name = f"controller {self.controller.name}"
        task = asyncio.create_task(job, name=name, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self) -> None:
        """Start a task for a key, with at most `concurrency` tasks at a time.

        Permanent workers would cost a task each, in every server that starts and stops.
        """
        for informer in self.informers:
            await informer.wait_synced()
        while True:
            await self._slots.acquire()
            self._start_task(self._process(await self.queue.get()))

    async def _process(self, first: Key) -> None:
        """Work on a key, then on all that wait, because a task for each of many keys is costly."""
        try:
            key: Key | None = first
            while key is not None:
                await self._attempt(key)
                key = self.queue.get_nowait()
        finally:
            self._slots.release()

    async def _attempt(self, key: Key) -> None:
        try:
            await self._pacer.wait(patient=self.controller.sums_up)
            if key in self._due_times:
                await asyncio.sleep(self._due_times.pop(key) - asyncio.get_running_loop().time())
            self.queue.start(key)
            await self._reconcile(key)
        finally:
            self.queue.done(key)

    async def _reconcile(self, key: Key) -> None:
        try:
            result = await self.controller.reconcile(key)
        except Exception as error:  # noqa: BLE001 - the loop continues after any exception
            self._on_error(key, error)
        else:
            self.outages.record_success(Work(self.controller.name, key))
            self.queue.forget(key)
            if result is not None and result.requeue_after > 0:
                self.queue.add_after(key, result.requeue_after)

    def _on_error(self, key: Key, error: Exception) -> None:
        delay, work = self.queue.retry(key), Work(self.controller.name, key)
        is_ordinary = isinstance(error, StatusError) and error.code in (404, 409)
        if self.outages.includes(error):
            self.outages.record_failure(work, error)
            is_ordinary = True
        level = logging.DEBUG if is_ordinary else logging.ERROR
        logger.log(
            level,
            "%s could not be reconciled, again in %.3f s: %s",
            work,
            delay,
            error,
            exc_info=None if is_ordinary else error,
        )


async def _wait_ended(controllers: Iterable[_RunningController]) -> None:
    """Stop controllers, and give their reconciles time to clean up."""
    stopped = list(controllers)
    tasks = set().union(*(running.end() for running in stopped))
    if tasks:
        await asyncio.wait(tasks, timeout=DRAIN)
    for running in stopped:
        running.outages.forget(running.controller.name)


def _is_new(change: Change) -> bool:
    """Return whether a change is a new object without conditions."""
    made = change.new if change.old is None else None
    return made is not None and not (made.get("status") or {}).get("conditions")


class Manager:
    """Runs controllers with one client; `async with` starts and stops it.

    Until it becomes the leader, it runs only controllers with `everywhere`. `outages` are the
    exceptions of a store that cannot be used.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        *,
        is_leader: bool = True,
        outages: tuple[type[Exception], ...] = (),
    ) -> None:
        self.client = client
        self.clock = clock
        self.outages = Outages(clock, outages)
        self.informers = Informers(client, clock, self.outages)
        self.pacer = Pacer()
        self.event_names = EventNames(clock)
        self._controllers: dict[str, Controller] = {}
        self._running_controllers: dict[str, _RunningController] = {}
        self._is_started = False
        self._is_leader = is_leader
        self._context = copy_context()
        self._observe: Callable[[float, str, str], None] | None = None

    def observe_queues(self, observe: Callable[[float, str, str], None]) -> None:
        """Call `observe` with the seconds that a key waited or was worked on
        (`WorkQueue.observe`), the name of their metric and that of the controller, also for
        controllers to come."""
        self._observe = observe
        for running in self._running_controllers.values():
            running.observe(observe)

    def figures(self) -> Iterator[tuple[str, str, str]]:
        """Yield the metrics of the queues of the running controllers: the name of a metric, that
        of a queue, and the value."""
        for name, controller in self._running_controllers.items():
            queue, working = controller.queue, controller.queue.working_seconds()
            for metric, number in (
                ("adds_total", queue.added_count),
                ("depth", queue.depth),
                ("longest_running_processor_seconds", max(working, default=0.0)),
                ("retries_total", queue.retried_count),
                ("unfinished_work_seconds", sum(working)),
            ):
                yield f"workqueue_{metric}", name, str(number)

    def add(self, controller: Controller) -> None:
        """Add a controller, and start it if the manager runs. Raises ValueError if a controller
        with its name exists."""
        if controller.name in self._controllers:
            raise ValueError(f"a controller named {controller.name!r} runs already")
        self._controllers[controller.name] = controller
        if self._is_leader or controller.everywhere:
            self._start_controller(controller)

    async def remove(self, name: str) -> None:
        """Stop a controller and the informers that no other controller uses."""
        del self._controllers[name]
        gone = self._running_controllers.pop(name, None)
        if gone is None:
            return
        await _wait_ended([gone])
        for informer in set(gone.informers):
            if not informer.is_used:
                await self.informers.remove(informer)

    @property
    def names(self) -> list[str]:
        """The names of the controllers that run in this process now."""
        return list(self._running_controllers)

    async def wait_processed(self, name: str, revision: int) -> None:
        """Return when a controller of this process has handled all watched changes up to a
        revision."""
        running = self._running_controllers[name]
        for informer in running.informers:
            await informer.wait_for_revision(revision)
        await running.queue.wait_idle()

    async def caught_up(self, name: str) -> None:
        """Return when a controller of this process has handled all changes that are stored now, or
        immediately if it does not run here."""
        running = self._running_controllers.get(name)
        if running is not None:
            for informer in running.informers:
                await informer.caught_up()
            await running.queue.wait_idle()

    def start_leading(self, context: Context) -> None:
        """Run all controllers. Controllers that run only in the leader run in copies of a context,
        with all tasks that they start."""
        self._is_leader, self._context = True, context
        for name, controller in list(self._controllers.items()):
            if name not in self._running_controllers:
                self._start_controller(controller)

    async def stop_leading(self) -> None:
        """Stop the controllers that run only in the leader."""
        self._is_leader = False
        gone = [
            name for name in self._running_controllers if not self._controllers[name].everywhere
        ]
        await _wait_ended([self._running_controllers.pop(name) for name in gone])

    async def start(self) -> None:
        """Start informers and controllers."""
        self._is_started = True
        self.informers.start()
        for running in list(self._running_controllers.values()):
            running.start()

    async def stop(self) -> None:
        """Stop controllers, then informers."""
        self._is_started = False
        await _wait_ended(self._running_controllers.values())
        await self.informers.stop()

    def _start_controller(self, controller: Controller) -> None:
        running = self._running_controllers[controller.name] = _RunningController(controller, self)
        if self._observe is not None:
            running.observe(self._observe)
        if not self._is_started:
            return
        if controller.everywhere:
            running.start()
        else:
            self._context.copy().run(running.start)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    @property
    def is_working(self) -> bool:
        """Whether a key waits or is being reconciled."""
        return any(running.queue for running in self._running_controllers.values())

    async def wait_idle(self) -> None:
        """Return when no key waits, is being reconciled or will be retried soon. This includes keys
        that other controllers add meanwhile, so it can take forever. Delayed keys do not count."""
        while self.is_working:
            await self._wait_queues_idle()

    def reconcile_count(self) -> int:
        """Return the number of started reconciles. Two equal results mean that none started in
        between."""
        return sum(running.queue.taken_count for running in self._running_controllers.values())

    async def settled(self) -> None:
        """Return when nothing continues by itself: all informers are caught up, all queues are
        idle, no task of a controller is busy and no sleeper of a moved clock is due, at the same
        time.

        Delayed rechecks do not count, nor failed keys whose next attempt is more than a second
        away.
        """
        while not await self._is_settled():
            for informer in self.informers.all():
                await informer.caught_up()
            await self._wait_queues_idle()
            if not self._is_idle():  # due sleepers and busy tasks have no key in a queue
                await asyncio.sleep(0)

    @property
    def waits_for(self) -> list[str]:
        """The names of busy controllers, for which `settled` waits, and `timers`."""
        busy = [name for name, each in self._running_controllers.items() if not each.is_idle]
        return [*busy, "timers"] if self._is_waking else busy

    @property
    def _is_waking(self) -> bool:
        return isinstance(self.clock, FakeClock | MovableClock) and self.clock.is_waking

    async def _is_settled(self) -> bool:
        """Return whether all informers are caught up, and no reconcile ran while this was
        checked."""
        before = self.reconcile_count()
        if not self._is_idle():
            return False
        for informer in self.informers.all():
            if await informer.missing_revision():
                return False
        return self._is_idle() and self.reconcile_count() == before

    async def _wait_queues_idle(self) -> None:
        """Return when every queue has been idle once, but not all at the same time."""
        for running in list(self._running_controllers.values()):
            await running.queue.wait_idle()

    def _is_idle(self) -> bool:
        running = self._running_controllers.values()
        return not self._is_waking and all(each.is_idle for each in running)
