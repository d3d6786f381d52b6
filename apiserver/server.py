"""`APIServer`: a complete server in this process, created from its options.

    async with APIServer() as server:
        server.url, server.kubeconfig()
        await server.client.create(obj)
        await server.settled()

`root.parts` builds its parts. `root.lifespan` starts and stops them.
"""

import asyncio
import contextlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self, TypeVar, Unpack

from inkube import storage
from inkube.apiserver import listening, sources, workers
from inkube.apiserver.access import Security
from inkube.apiserver.client import InProcessClient
from inkube.apiserver.configuration import Options
from inkube.apiserver.discovery import Stage
from inkube.apiserver.faults import Faults
from inkube.apiserver.http import STOP_SECONDS, Grace
from inkube.apiserver.keywords import OptionValues
from inkube.apiserver.listening import Listener
from inkube.apiserver.registry import Registry, Resources
from inkube.apiserver.root import Parts, lifespan
from inkube.apiserver.sources import Progress, foundation
from inkube.apiserver.watching import Streams
from inkube.controllers.clock import Clock
from inkube.controllers.manager import Manager
from inkube.storage import Store

__all__ = ["APIServer", "Options"]

T = TypeVar("T")


@dataclass(slots=True)
class _Life:
    """The state of a server that changes during its lifetime. Everything else is frozen."""

    listener: Listener | None = None
    """Set once the port is open."""
    parts: Parts | None = None
    """Set at the end of the start."""
    is_open: bool = False
    """Whether the server was entered and not yet stopped."""
    was_entered: bool = False
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held during the start and during a stop: the parts close in their order, and only once."""


class APIServer:
    """A server in this process: an asynchronous context manager that can be entered once.

        async with APIServer(data=Path("boats.db"), port=8001) as server:
            await server.client.list("v1/namespaces")

    It takes an `Options`, or the same options as keyword arguments. The server is ready when
    `__aenter__` returns, and stops when the block ends. `options` and `stage` can always be read,
    `url` and `port` once the port is open. All other properties raise RuntimeError before the
    server is ready.

    Raises BadOption for options without a meaning, OSError if the port is taken, and a LogError if
    the data cannot be read.
    """

    def __init__(self, options: Options | None = None, **values: Unpack[OptionValues]) -> None:
        """Take an `Options`, or its values by name. Raises BadOption for values without a meaning,
        and TypeError for unknown names or for both at once."""
        self._life = _Life()
        self._stack = contextlib.AsyncExitStack()
        self._progress = Progress()
        self.options = foundation.validated(_options(options, values))
        self.before_ready: Callable[[], object] = lambda: None
        """A function that is called at the end of a start, before `/readyz` answers 200. If it
        raises, the start fails with that exception."""

    async def __aenter__(self) -> Self:
        """Start the server. It is ready when this returns. Raises RuntimeError the second time."""
        if self._life.was_entered:
            raise RuntimeError("an APIServer can be entered only once: create another one")
        self._life.is_open = self._life.was_entered = True
        async with self._life.changing:
            try:
                await self._start()
            except BaseException:
                await self._close()
                raise
        return self

    async def _start(self) -> None:
        listener = await listening.open_listener(self.options, self._progress, self._stack)
        self._life.listener = listener
        parts = await lifespan.lifespan(self.options, listener, self._progress, self._stack)
        self._life.parts = parts
        self.before_ready()
        self._progress.finish()
        if listener.intake is not None:
            listener.intake.ready()

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    def __del__(self) -> None:
        if self._life.is_open:
            warnings.warn(f"{self!r} was not stopped", ResourceWarning, stacklevel=1)

    async def stop(self, within: float = STOP_SECONDS) -> None:
        """Stop the server: refuse new connections, end the watches, wait for running requests for
        at most `within` seconds, stop controllers and store.

        The end of an `async with` block does the same. A cancellation ends the wait, and the server
        still stops. During the start or another stop, this first waits for its end."""
        async with self._life.changing:
            await self._close(within)

    async def _close(self, within: float = STOP_SECONDS) -> None:
        self._life.is_open = False
        grace = Grace() if self._life.listener is None else self._life.listener.server.grace
        grace.seconds = within
        await storage.run_to_end(self._stack.aclose(), on_cancelled=grace.end)

    async def settled(self, within: float = 60.0) -> None:
        """Wait until every controller of this server has read the newest revision and is idle.

        Raises TimeoutError after `within` seconds."""
        await self.parts.settled(within)

    async def snapshot(self) -> "sources.snapshots.Snapshot":
        """Return the state of the server now: the option `snapshot` of other servers. Raises
        LogError."""
        return await self.parts.snapshot()

    def kubeconfig(self, namespace: str = "default") -> str:
        """Return a kubeconfig for this server, as YAML; its context has this `namespace`."""
        return self.parts.kubeconfig(namespace)

    @property
    def stage(self) -> Stage | None:
        """The current step of the start, with its progress; None after the start."""
        return self._progress.stage

    @property
    def parts(self) -> Parts:
        """The parts of the server. Raises RuntimeError before the server is ready."""
        return _started(self._life.parts)

    @property
    def url(self) -> str:
        """The URL of the server, such as http://127.0.0.1:43210."""
        return _started(self._life.listener).url

    @property
    def port(self) -> int:
        """The port of `url`."""
        return _started(self._life.listener).port

    @property
    def client(self) -> InProcessClient:
        """A client in this process: its requests pass every stage except HTTP."""
        return self.parts.core.client

    @property
    def clock(self) -> Clock:
        """The clock of the server."""
        return self.parts.core.base.clock

    @property
    def store(self) -> Store:
        """The store of all objects."""
        return self.parts.core.base.store

    @property
    def registry(self) -> Registry:
        """The pipeline of every write."""
        return self.parts.core.registry

    @property
    def resources(self) -> Resources:
        """The table of the kinds that are served."""
        return self.parts.core.resources

    @property
    def manager(self) -> Manager:
        """The manager of the controllers."""
        return self.parts.core.manager

    @property
    def faults(self) -> Faults:
        """Fault injection: the rules that make requests fail."""
        return self.parts.core.faults

    @property
    def security(self) -> Security:
        """Authentication, authorization and TLS."""
        return self.parts.core.security

    @property
    def streams(self) -> Streams:
        """The open watches."""
        return self.parts.streams

    @property
    def intake(self) -> "workers.Intake | None":
        """The source of connections, if this server is one of several workers."""
        return _started(self._life.listener).intake


def _options(options: Options | None, values: OptionValues) -> Options:
    if options is not None:
        if values:
            raise TypeError(f"give Options or single options, not both: {', '.join(values)}")
        return options
    return Options(**values)


def _started(part: T | None) -> T:
    if part is None:
        raise RuntimeError("the server was not started: enter it with `async with`")
    return part
