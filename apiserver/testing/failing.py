"""`kube.fail(…)`: a Fault that exists while a block runs, described with keyword arguments."""

import warnings
from collections.abc import Collection, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Protocol, Self

from inkube.apiserver.testing import arguments
from inkube.apiserver.testing.clients import AsyncClient, BlockingClient
from inkube.schemas.objects import Object
from inkube.schemas.status import Reason, StatusError

FAULTS = "world.inkube.dev/v1/faults"
Texts = str | Collection[str]


class Server(Protocol):
    """The server whose requests fail: its clients, and the counts of its Faults."""

    @property
    def client(self) -> BlockingClient:
        """The blocking client, which creates and deletes the Fault in `with`."""
        ...

    @property
    def aio(self) -> AsyncClient:
        """The client for coroutines, which creates and deletes the Fault in `async with`."""
        ...

    def counted(self, fault: str) -> tuple[int, int]:
        """Return how many requests a Fault matched, and how many of them it made fail."""
        ...

    def unserved(self, fault: str) -> list[str]:
        """Return the resources of a Fault under whose names nothing is served."""
        ...


@dataclass(frozen=True, slots=True)
class Failure:
    """The failures of requests, as the spec of a Fault. The fields of Fault have descriptions.

    By default, the server returns 500.
    """

    # the criteria of requests
    verbs: Texts = ()
    resources: Texts = ()
    """`pods`, `Pod`, `po`, `pods/status`, `deployments.apps` or `apps/v1/deployments`."""
    _: KW_ONLY
    namespace: Texts = ()
    name: Texts = ()
    user: Texts = ()
    user_agent: Texts = ()
    labels: str = ""
    paths: Texts = ()
    """Paths of requests that are not for resources: `/version`, `/openapi/*`."""
    controllers: bool = False

    # the selection among matching requests
    skip: int = 0
    every: int = 1
    times: int | None = None
    probability: float = 1.0
    seed: int = 0

    # the failures of requests
    code: int | None = None
    reason: str = ""
    message: str = ""
    retry_after: int = 0
    cut: bool = False
    applied: bool = False
    """Whether the server carries out the request before the failure."""
    hold: float = 0.0
    """The longest time in seconds that a request waits for the end of the block."""
    delay: float = 0.0
    jitter: float = 0.0
    stale: int = 0
    bytes_per_second: int = 0

    # the failures of watches
    events: int | None = None
    end: str = "Cut"
    bookmarks: bool = True
    merge: float = 0.0
    """Seconds within which the changes of an object become one event."""
    repeat: int = 0
    """The number of changes before the start of a watch that are sent again."""

    def spec(self) -> Object:
        """Return the spec of the Fault."""
        common = {
            "match": self._match(),
            "when": self._conditions(),
            "controllers": self.controllers,
        }
        return common | self._effects()

    def _match(self) -> Object:
        return {
            "verbs": _as_list(self.verbs),
            "resources": _as_list(self.resources),
            "namespaces": _as_list(self.namespace),
            "names": _as_list(self.name),
            "users": _as_list(self.user),
            "userAgents": _as_list(self.user_agent),
            "labelSelector": self.labels,
            "nonResourceURLs": _as_list(self.paths),
        }

    def _conditions(self) -> Object:
        which: Object = {"skip": self.skip, "every": self.every}
        if self.times is not None:
            which["times"] = self.times
        return which | {"probability": self.probability, "seed": self.seed}

    def _effects(self) -> Object:
        found: Object = {}
        if self.delay or self.jitter:
            found["delay"] = {"seconds": self.delay, "jitterSeconds": self.jitter}
        if self.hold:
            found["hold"] = {"seconds": self.hold, "moment": self._moment}
        if self.cut:
            found["cut"] = self._moment
        if self.events is not None or not self.bookmarks or self.merge or self.repeat:
            found["watch"] = {
                "end": self.end,
                "withoutBookmarks": not self.bookmarks,
                "mergeSeconds": self.merge,
                "repeat": self.repeat,
            }
            if self.events is not None:
                found["watch"]["events"] = self.events
        if self.stale:
            found["stale"] = {"changes": self.stale}
        if self.bytes_per_second:
            found["slow"] = {"bytesPerSecond": self.bytes_per_second}
        if self.code is not None or (self.applied and not (self.cut or self.hold)) or not found:
            found["answer"] = self._answer_spec()
        return found

    def _answer_spec(self) -> Object:
        return {
            "code": self.code or 500,
            "reason": self.reason,
            "message": self.message,
            "retryAfterSeconds": self.retry_after,
            "moment": self._moment,
        }

    @property
    def _moment(self) -> str:
        return "AfterWrite" if self.applied else "BeforeWrite"


class Failing:
    """A context manager, for `with` and `async with`: matching requests fail inside its block.

    `matched` and `injected` are counts. `name` is the name of the Fault of world.inkube.dev/v1.
    """

    def __init__(self, server: Server, failure: Failure) -> None:
        self._server = server
        self._body: Object = {
            "apiVersion": "world.inkube.dev/v1",
            "kind": "Fault",
            "metadata": {"generateName": "fault-"},
            "spec": failure.spec(),
        }
        self.name = ""
        self._counts = 0, 0

    @property
    def matched(self) -> int:
        """The number of requests that the Fault matched."""
        return self._count()[0]

    @property
    def injected(self) -> int:
        """The number of requests that the Fault made fail."""
        return self._count()[1]

    def __enter__(self) -> Self:
        __tracebackhide__ = True
        self.name = self._server.client.create(self._body)["metadata"]["name"]
        self._warn()
        return self

    def __exit__(self, *error: object) -> None:
        name = self._end()
        try:
            self._server.client.delete(FAULTS, name)
        except StatusError as refused:
            _check(refused)

    async def __aenter__(self) -> Self:
        self.name = (await self._server.aio.create(self._body))["metadata"]["name"]
        self._warn()
        return self

    async def __aexit__(self, *error: object) -> None:
        name = self._end()
        try:
            await self._server.aio.delete(FAULTS, name)
        except StatusError as refused:
            _check(refused)

    def _warn(self) -> None:
        for text in self._server.unserved(self.name):
            what = f"kube.fail: nothing is served as {text!r}, so this matches no request of now"
            warnings.warn(what, UserWarning, stacklevel=3)

    def _end(self) -> str:
        """Save the counts, and return the name of the Fault to delete."""
        self._counts = self._count()
        name, self.name = self.name, ""
        return name

    def _count(self) -> tuple[int, int]:
        return self._server.counted(self.name) if self.name else self._counts


def failing(server: Server, args: tuple[Any, ...], options: Mapping[str, Any]) -> Failing:
    """Return the block in which requests fail. Raises TypeError for arguments that Failure does not
    take."""
    __tracebackhide__ = True
    if why := arguments.problem(Failure, args, options):
        raise TypeError(f"{arguments.written('kube.fail', args, options)}: {why}")
    return Failing(server, Failure(*args, **options))


def _check(error: StatusError) -> None:
    """Raise the StatusError of a deletion, except "not found": a test can delete
    the Fault itself."""
    if error.reason != Reason.NOT_FOUND:
        raise error


def _as_list(texts: Texts) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)
