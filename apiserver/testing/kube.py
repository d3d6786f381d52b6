"""A server for tests, as the fixtures `kube` and `kube_api` provide it.

It runs in its own thread, with a clock that a test can move and a log of all requests and changes.
"""

import asyncio
import contextlib
import inspect
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self, TypeVar

import yaml

from inkube.apiserver import manifests, modules
from inkube.apiserver.manifests import Source
from inkube.apiserver.server import APIServer, Options
from inkube.apiserver.sources import Snapshot
from inkube.apiserver.testing import arguments, failing, patience
from inkube.apiserver.testing.clients import AsyncClient, BlockingClient, Face
from inkube.apiserver.testing.failing import Failing
from inkube.apiserver.testing.log import TestLog
from inkube.apiserver.testing.thread import LoopThread
from inkube.controllers.client import ignoring
from inkube.controllers.clock import FakeClock
from inkube.controllers.environment import Environment
from inkube.controllers.manager import Controller
from inkube.schemas.status import Reason, StatusError
from inkube.storage import Following, Store

T = TypeVar("T")
__tracebackhide__ = True  # pytest shows the call in the test, not the frames of this module
POLL_SECONDS = 0.05
"""Seconds between evaluations of a condition while no object changes."""
LONGEST = 4_000
"""The maximum number of characters that an error shows of the objects a condition last read."""
LAST = 5
"""The number of latest changes that the error shows if a server does not settle."""


def options(**values: Any) -> Options:
    """Return the options of a server for tests, with these values: it is offline, and reports
    failures immediately."""
    scripted = {"offline": True} if "offline" in modules.own_options() else {}
    return Options(**{"retry_seconds": 0.0, **scripted, **values})


@dataclass(frozen=True, slots=True)
class Plan:
    """The server to start; `controllers` run in addition to the built-in ones."""

    options: Options = field(default_factory=options)
    controllers: Sequence[Controller | Callable[[Environment], Controller]] = ()


class Kube:
    """A running server. `client` has methods that block, `aio` the same methods as coroutines."""

    client: BlockingClient
    aio: "AsyncKube"

    def __init__(self, server: APIServer, thread: LoopThread, log: TestLog) -> None:
        self.server = server
        self.url = server.url
        self.port = server.port
        self.clock = server.clock
        self.log = log
        self.client = BlockingClient(server.client, thread)
        self.aio = AsyncKube(self, thread)
        self._thread = thread

    def kubeconfig(self) -> str:
        """Return a kubeconfig for this server, as YAML text."""
        return self.server.kubeconfig()

    @arguments.checked("kube", sources=arguments.SOURCES)
    def install(self, *sources: Source) -> None:
        """Load CRDs and objects: files, folders or dicts. Raises manifests.ManifestError."""
        self._thread.run(self._install(sources))

    @arguments.checked("kube", work=arguments.COROUTINE)
    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the server's own thread, and return its result."""
        return self._thread.run(work)

    @arguments.checked("kube", within=arguments.NUMBER, quiet=arguments.NUMBER)
    def settled(self, within: float = patience.SETTLED, *, quiet: float = 0.0) -> None:
        """Wait until every controller has seen the newest state and has nothing to do.

        With `quiet`, for operators outside the server: until no client has written for this number
        of seconds. Raises TimeoutError.
        """
        self._thread.run(self.settle(within, quiet))

    def fail(self, *verbs_and_resources: Any, **options: Any) -> Failing:
        """`with kube.fail("update", "configmaps", times=2, code=409): …`; see `failing.Failure`."""
        return failing.failing(self, verbs_and_resources, options)

    @arguments.checked("kube", fault=arguments.TEXT)
    def counted(self, fault: str) -> tuple[int, int]:
        """Return how many requests a Fault matched, and how many it made fail."""
        matched, injected, _ = self.server.faults.counted(fault) or (0, 0, 0)
        return matched, injected

    @arguments.checked("kube", fault=arguments.TEXT)
    def unserved(self, fault: str) -> list[str]:
        """Return the resources of a Fault under whose names nothing is served now."""
        return self.server.faults.unserved(fault)

    def snapshot(self) -> Snapshot:
        """Settle the controllers, and return the state as a snapshot with which other servers can
        start."""
        return self._thread.run(self._snapshot())

    async def _snapshot(self) -> Snapshot:
        await self.server.settled()
        return await self.server.snapshot()

    @arguments.checked("kube", name=arguments.TEXT)
    def in_namespace(self, name: str) -> "KubeNamespace":
        """Return this server with a namespace as its default. Creates the namespace if it is
        missing."""
        return KubeNamespace(self, name, self._thread)

    @arguments.checked("kube", seconds=arguments.NUMBER)
    def advance(self, seconds: float) -> None:
        """Move the clock, and wait until all work that is now due (rechecks, leases, lifetimes) is
        done."""
        self._thread.run(self.move(seconds))

    @arguments.checked("kube", condition=arguments.CALLABLE, within=arguments.NUMBER)
    def wait_for(self, condition: Callable[[], T], within: float = patience.HOLDS) -> T:
        """Return the first true result of the condition, which runs again after every change of an
        object.

        Errors about an object, a member or an item that does not exist count as false. Raises
        TimeoutError, which shows the objects that the condition last read.
        """
        wait = _Wait(self.server.store, condition, within, (self.client, self.aio))
        while True:
            with wait:
                answer = condition()
                if answer:
                    return answer
            self._thread.run(wait.newer())

    async def _install(self, sources: Sequence[Source]) -> None:
        found = manifests.read(sources)
        await manifests.install(self.server.client, found, self.server.settled)

    async def settle(self, within: float, quiet: float) -> None:
        """Implement `settled` as a coroutine in the server's own event loop."""
        store, within = self.server.store, patience.limit(within)
        try:
            async with asyncio.timeout(within):
                while True:
                    await self.server.manager.settled()
                    if not quiet or await _is_quiet(store, quiet):
                        return
        except TimeoutError as error:
            newest = [str(change).strip() for change in self.log.history()[-LAST:]]
            last = "\n  ".join(["the last changes:", *newest])
            raise TimeoutError(f"not settled within {within:g} s; {last}") from error

    async def move(self, seconds: float) -> None:
        """Implement `advance` as a coroutine in the server's own event loop."""
        if not isinstance(self.clock, FakeClock):
            raise TypeError(f"{type(self.clock).__name__} cannot be moved")
        self.clock.advance(seconds)
        await self.server.settled()


class AsyncKube(AsyncClient):
    """The client and the waiting methods of Kube for tests that are coroutines."""

    def __init__(self, kube: Kube, thread: LoopThread) -> None:
        super().__init__(kube.server.client, thread)
        self._kube = kube

    @arguments.checked("kube.aio", within=arguments.NUMBER, quiet=arguments.NUMBER)
    async def settled(self, within: float = patience.SETTLED, *, quiet: float = 0.0) -> None:
        """Wait until every controller has seen the newest state; `Kube.settled` describes the
        arguments."""
        await self.thread.wait(self._kube.settle(within, quiet))

    def fail(self, *verbs_and_resources: Any, **options: Any) -> Failing:
        """`async with kube.aio.fail(…)`: requests fail inside the block, as with `Kube.fail`."""
        return self._kube.fail(*verbs_and_resources, **options)

    @arguments.checked("kube.aio", seconds=arguments.NUMBER)
    async def advance(self, seconds: float) -> None:
        """Move the clock, and wait until all work that is now due is done, as
        `Kube.advance` does."""
        await self.thread.wait(self._kube.move(seconds))

    @arguments.checked("kube.aio", condition=arguments.CALLABLE, within=arguments.NUMBER)
    async def wait_for(
        self, condition: Callable[[], T | Awaitable[T]], within: float = patience.HOLDS
    ) -> T:
        """Wait for a condition as `Kube.wait_for` does. The condition can be a
        coroutine function."""
        kube = self._kube
        wait = _Wait(kube.server.store, condition, within, (kube.client, self))
        while True:
            with wait:
                answer = condition()
                if inspect.isawaitable(answer):
                    answer = await answer
                if answer:
                    return answer
            await self.thread.wait(wait.newer())


class KubeNamespace:
    """A server and a new namespace for one test.

    `client` and `aio` use this namespace by default, also in lists.
    """

    def __init__(self, kube: Kube, name: str, thread: LoopThread) -> None:
        self.kube = kube
        self.name = name
        self.url = kube.url
        self.client = BlockingClient(kube.server.client, thread, name)
        self.aio = AsyncClient(kube.server.client, thread, name)
        meta = {"name": name}
        with ignoring(Reason.ALREADY_EXISTS):
            self.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})

    def kubeconfig(self) -> str:
        """Return a kubeconfig whose context is in the namespace."""
        return self.kube.server.kubeconfig(self.name)

    def delete(self) -> None:
        """Delete the namespace; its contents are deleted in the background."""
        self.client.delete("v1/namespaces", self.name)


@contextlib.contextmanager
def running(thread: LoopThread, plan: Plan) -> Iterator[Kube]:
    """Start a server in the thread, and stop it at the end of the block."""
    log = TestLog()
    options = replace(
        plan.options,
        clock=plan.options.clock or _clock(plan.options),
        on_request=plan.options.on_request or log.record_request,
        record_bodies=True,
    )
    server = APIServer(options)
    following = thread.run(_start(server, plan, log))
    log.open_watches = server.streams.open
    log.spelled = server.resources.spelled
    try:
        yield Kube(server, thread, log)
    finally:
        thread.run(_stop(server, following))


def _clock(options: Options) -> FakeClock | None:
    """Return a clock that a test can move, or None with a seed, which creates its own clock.

    With a snapshot, the clock starts at the time of the snapshot if that is later than now.
    """
    if options.seed is not None:
        return None
    taken = getattr(options.snapshot, "taken", None)
    start = max(taken, datetime.now(UTC)) if taken else None
    return FakeClock(start, ticking=True)


async def _is_quiet(store: Store, seconds: float) -> bool:
    """Return whether `seconds` pass without a write."""
    try:
        async with asyncio.timeout(seconds):
            await store.reached(store.revision + 1)
    except TimeoutError:
        return True
    return False


async def _start(server: APIServer, plan: Plan, log: TestLog) -> Following:
    await server.__aenter__()
    try:
        for wanted in plan.controllers:
            if not isinstance(wanted, Controller):
                wanted = wanted(server.parts.environment())
            server.manager.add(wanted)
    except BaseException:
        await server.stop()
        raise
    return log.record(server.store)


async def _stop(server: APIServer, subscription: Following) -> None:
    subscription.close()
    await server.stop()


class _Wait:
    """Evaluates a condition repeatedly. It keeps an error about a missing object, and raises other
    errors."""

    def __init__(
        self, store: Store, condition: Callable[[], Any], within: float, faces: Sequence[Face]
    ) -> None:
        self._store = store
        self._condition = condition
        self._within = patience.limit(within)
        self._deadline = time.monotonic() + self._within
        self._error: BaseException | None = None
        self._faces = faces

    def __enter__(self) -> Self:
        self._error = None
        self._revision = self._store.revision
        for face in self._faces:
            face.last = None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if error is not None and _is_absence(error):
            self._error = error
            return True
        return False

    async def newer(self) -> None:
        """Return when an object changed after the evaluation, or when it is time for the next
        evaluation.

        Raises TimeoutError after the deadline.
        """
        if time.monotonic() > self._deadline:
            raise TimeoutError(self._report()) from None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(POLL_SECONDS):
                await self._store.reached(self._revision + 1)

    def _report(self) -> str:
        name = getattr(self._condition, "__qualname__", repr(self._condition))
        text = f"{name} was not true within {self._within:g} s"
        if self._error is not None:
            text += f": {type(self._error).__name__}: {self._error}"
        for face in self._faces:
            if face.last is not None:
                shown = yaml.safe_dump(_display_value(face.last), sort_keys=False)
                text += f"\nlast read:\n{shown[:LONGEST]}"
        return text


def _is_absence(error: BaseException) -> bool:
    """Return whether an error is about a missing object, or a missing member or
    item at any depth."""
    if isinstance(error, StatusError):
        return error.reason == Reason.NOT_FOUND
    if isinstance(error, KeyError | IndexError | StopIteration | StopAsyncIteration):
        return True
    return isinstance(error, TypeError | AttributeError) and "'NoneType' object" in str(error)


def _display_value(value: Any) -> Any:
    """Return a value without the members that do not explain a failure (managedFields)."""
    if isinstance(value, list):
        return [_display_value(item) for item in value]
    if not isinstance(value, dict) or not isinstance(value.get("metadata"), dict):
        return value
    meta = {name: part for name, part in value["metadata"].items() if name != "managedFields"}
    return {**value, "metadata": meta}
