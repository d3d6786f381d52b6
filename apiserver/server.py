"""`APIServer`: a whole server in this process, from its options.

    async with APIServer() as server:
        server.url, server.kubeconfig()
        await server.client.create(obj)
        await server.settled()

What it consists of is built by `root.parts`, and started and stopped by `root.lifespan`.
"""

import contextlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from inkube.apiserver import root, workers
from inkube.apiserver.configuration import Options
from inkube.apiserver.discovery import Stage
from inkube.apiserver.faults import Faults
from inkube.apiserver.registry import Registry, Resources
from inkube.apiserver.root import (
    Door,
    InProcessClient,
    Parts,
    Progress,
    Security,
    foundation,
    listening,
)
from inkube.apiserver.root.lifespan import lifespan
from inkube.apiserver.watching import Streams
from inkube.controllers.clock import Clock
from inkube.controllers.manager import Manager
from inkube.storage import Store

if TYPE_CHECKING:
    from typing import Unpack

    from inkube.apiserver.keywords import OptionValues

__all__ = ["APIServer", "Options"]

T = TypeVar("T")


@dataclass(slots=True)
class _Life:
    """What changes of a server while it lives; nothing else of it does."""

    door: Door | None = None
    """From when the port is taken."""
    parts: Parts | None = None
    """From the end of the start on."""
    is_open: bool = False
    """Whether it was entered and not stopped."""
    was_entered: bool = False


class APIServer:
    """A whole server. Make it, enter it, use it; it may be entered once.

    `options` and `stage` can be read at any time, `url` and `port` from when the port is taken, all
    else once it was entered; before, each raises RuntimeError.
    """

    def __init__(self, options: Options | None = None, **values: "Unpack[OptionValues]") -> None:
        """The options are an `Options`, or its values by name. Raises BadOption for values without
        a meaning, TypeError for unknown names and for both at once."""
        self._life = _Life()
        self._stack = contextlib.AsyncExitStack()
        self._progress = Progress()
        self.options = foundation.checked(_options(options, values))
        self.before_ready: Callable[[], object] = lambda: None
        """Called when all else of the start is done, before `/readyz` answers 200: what it raises
        ends the start."""

    async def __aenter__(self) -> Self:
        """Start; when this returns the server answers `/readyz`. Raises RuntimeError the second
        time."""
        if self._life.was_entered:
            raise RuntimeError("the server was entered before: make another APIServer")
        self._life.is_open = self._life.was_entered = True
        try:
            door = await listening.opened(self.options, self._progress, self._stack)
            self._life.door = door
            parts = await lifespan(self.options, door, self._progress, self._stack)
            self._life.parts = parts
            self.before_ready()
        except BaseException:
            await self.stop()
            raise
        self._progress.finish()
        if door.intake is not None:
            door.intake.ready()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    def __del__(self) -> None:
        if self._life.is_open:
            warnings.warn(f"{self!r} was not stopped", ResourceWarning, stacklevel=1)

    async def stop(self) -> None:
        """End what runs: no new requests, watches closed, controllers, store."""
        self._life.is_open = False
        await self._stack.aclose()

    async def settled(self, within: float = 60.0) -> None:
        """Wait until every controller that runs here has seen the newest revision and has nothing
        to do. Raises TimeoutError when that takes longer than `within` seconds."""
        await self.parts.settled(within)

    async def snapshot(self) -> "root.snapshots.Snapshot":
        """The state as it is now, for other servers to begin with. Raises LogError."""
        return await self.parts.snapshot()

    def kubeconfig(self, namespace: str = "default") -> str:
        """A kubeconfig for this server, as YAML text; `namespace` is that of its context."""
        return self.parts.kubeconfig(namespace)

    @property
    def stage(self) -> Stage | None:
        """The step that a start is at, with its progress; None once the start is over."""
        return self._progress.stage

    @property
    def parts(self) -> Parts:
        """The parts of the server. Raises RuntimeError before it was started."""
        return _begun(self._life.parts)

    @property
    def url(self) -> str:
        """Where it answers, such as http://127.0.0.1:43210."""
        return _begun(self._life.door).url

    @property
    def port(self) -> int:
        """The port of `url`."""
        return _begun(self._life.door).port

    @property
    def client(self) -> InProcessClient:
        """A client whose requests go through everything but HTTP."""
        return self.parts.core.client

    @property
    def clock(self) -> Clock:
        """The time of the server."""
        return self.parts.core.base.clock

    @property
    def store(self) -> Store:
        """The store of its objects."""
        return self.parts.core.base.store

    @property
    def registry(self) -> Registry:
        """The pipeline of every write."""
        return self.parts.core.registry

    @property
    def resources(self) -> Resources:
        """The table of all kinds that are served."""
        return self.parts.core.resources

    @property
    def manager(self) -> Manager:
        """The manager of its controllers."""
        return self.parts.core.manager

    @property
    def faults(self) -> Faults:
        """The rules by which requests fail on purpose."""
        return self.parts.core.faults

    @property
    def security(self) -> Security:
        """Authentication, authorization and TLS."""
        return self.parts.core.security

    @property
    def streams(self) -> Streams:
        """The watches that are open."""
        return self.parts.streams

    @property
    def intake(self) -> "workers.Intake | None":
        """Where connections come from, in one of several workers."""
        return _begun(self._life.door).intake


def _options(options: Options | None, values: "OptionValues") -> Options:
    if options is not None:
        if values:
            raise TypeError(f"give Options or single options, not both: {', '.join(values)}")
        return options
    unknown = ", ".join(name for name in values if name not in Options.__dataclass_fields__)
    if unknown:
        names = ", ".join(sorted(Options.__dataclass_fields__))
        raise TypeError(f"APIServer has no option {unknown}; the options are {names}")
    return Options(**values)


def _begun(part: T | None) -> T:
    if part is None:
        raise RuntimeError("the server was not started: enter it with `async with`")
    return part
