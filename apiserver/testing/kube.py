"""A server for tests, as the fixtures `kube` and `kube_api` hand it out.

It runs in a thread of its own, with a clock that a test can move and a log of all that happened.
"""

import asyncio
import contextlib
import inspect
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self, TypeVar

from inkube.apiserver.registry import keys
from inkube.apiserver.root import manifests
from inkube.apiserver.root.manifests import Source
from inkube.apiserver.server import APIServer, Options
from inkube.apiserver.testing.clients import AsyncClient, BlockingClient
from inkube.apiserver.testing.log import TestLog
from inkube.apiserver.testing.thread import LoopThread
from inkube.controllers.clock import FakeClock
from inkube.controllers.environment import Environment
from inkube.controllers.manager import Controller
from inkube.schemas.status import Reason, StatusError
from inkube.storage.store import Store, Subscription

T = TypeVar("T")
LOOK_AGAIN = 0.05
"""A condition that depends on something else than objects is looked at every so many seconds."""
TURNS = 20
"""So many turns of the loop let everybody a moved clock wakes begin to work."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to start; `controllers` run beside the built-in ones."""

    options: Options = field(default_factory=lambda: Options(offline=True, retry_seconds=0.0))
    controllers: Sequence[Controller | Callable[[Environment], Controller]] = ()


class Kube:
    """A running server. `client` blocks, `aio` has the same words to await."""

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
        """A kubeconfig for this server, as YAML text."""
        return self.server.kubeconfig()

    def install(self, *sources: Source) -> None:
        """Load CRDs and objects: files, folders or dicts. Raises manifests.ManifestError."""
        self._thread.run(self._install(sources))

    def settled(self, within: float = 10.0) -> None:
        """Wait until every controller has seen the newest state and has nothing to do."""
        self._thread.run(self.server.settled(within))

    def advance(self, seconds: float) -> None:
        """Move the clock and wait until what became due (rechecks, leases, lifetimes) is done."""
        self._thread.run(self.move(seconds))

    def wait_for(self, condition: Callable[[], T], within: float = 5.0) -> T:
        """The first true answer of the condition, asked again after every change of an object.

        An object that does not exist counts as not yet. Raises TimeoutError.
        """
        wait = _Wait(self.server.store, condition, within)
        while True:
            with wait:
                answer = condition()
                if answer:
                    return answer
            self._thread.run(wait.newer())

    async def _install(self, sources: Sequence[Source]) -> None:
        found = manifests.read(sources)
        await manifests.install(self.server.client, found, self.server.settled)

    async def move(self, seconds: float) -> None:
        """`advance`, in the server's own loop."""
        if not isinstance(self.clock, FakeClock):
            raise TypeError(f"{type(self.clock).__name__} cannot be moved")
        self.clock.advance(seconds)
        for _ in range(TURNS):
            await asyncio.sleep(0)
        await self.server.settled()


class AsyncKube(AsyncClient):
    """The client and the waiting for tests that are coroutines."""

    def __init__(self, kube: Kube, thread: LoopThread) -> None:
        super().__init__(kube.server.client, thread)
        self._kube = kube

    async def settled(self, within: float = 10.0) -> None:
        """See Kube."""
        await self.thread.wait(self._kube.server.settled(within))

    async def advance(self, seconds: float) -> None:
        """See Kube."""
        await self.thread.wait(self._kube.move(seconds))

    async def wait_for(self, condition: Callable[[], T | Awaitable[T]], within: float = 5.0) -> T:
        """See Kube; the condition may be a coroutine function."""
        wait = _Wait(self._kube.server.store, condition, within)
        while True:
            with wait:
                answer = condition()
                if inspect.isawaitable(answer):
                    answer = await answer
                if answer:
                    return answer
            await self.thread.wait(wait.newer())


@contextlib.contextmanager
def running(thread: LoopThread, plan: Plan) -> Iterator[Kube]:
    """Start a server in the thread, and stop it."""
    log = TestLog()
    options = replace(
        plan.options,
        clock=plan.options.clock or FakeClock(ticking=True),
        on_request=plan.options.on_request or log.hear_request,
    )
    server = APIServer(options)
    subscription = thread.run(_start(server, plan, log))
    try:
        yield Kube(server, thread, log)
    finally:
        thread.run(_stop(server, subscription))


async def _start(server: APIServer, plan: Plan, log: TestLog) -> Subscription:
    await server.__aenter__()
    try:
        for wanted in plan.controllers:
            if not isinstance(wanted, Controller):
                wanted = wanted(server.environment)
            server.manager.add(wanted)
    except BaseException:
        await server.stop()
        raise
    return server.store.subscribe(keys.ROOT, deliver=log.hear_changes)


async def _stop(server: APIServer, subscription: Subscription) -> None:
    subscription.close()
    await server.stop()


class _Wait:
    """Asking a condition again and again: what is not found is remembered, all else is raised."""

    def __init__(self, store: Store, condition: Callable[[], Any], within: float) -> None:
        self._store = store
        self._condition = condition
        self._within = within
        self._deadline = time.monotonic() + within
        self._error: StatusError | None = None

    def __enter__(self) -> Self:
        self._error = None
        self._revision = self._store.revision
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if isinstance(error, StatusError) and error.reason == Reason.NOT_FOUND:
            self._error = error
            return True
        return False

    async def newer(self) -> None:
        """Return once something happened since the condition was asked, or it is time to look
        again. Raises TimeoutError when there is no time left."""
        if time.monotonic() > self._deadline:
            name = getattr(self._condition, "__qualname__", repr(self._condition))
            raise TimeoutError(f"{name} was not true within {self._within:g} s") from self._error
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_AGAIN):
                await self._store.reached(self._revision + 1)
