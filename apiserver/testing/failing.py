"""`kube.fail(…)`: a Fault for as long as a block runs, in a test's words."""

from collections.abc import Collection
from dataclasses import KW_ONLY, dataclass
from types import TracebackType
from typing import Protocol, Self

from inkube.apiserver.testing.clients import AsyncClient, BlockingClient
from inkube.apiserver.testing.criteria import split
from inkube.schemas.objects import Object
from inkube.schemas.status import Reason, StatusError

FAULTS = "world.inkube.dev/v1/faults"
Texts = str | Collection[str]


class Server(Protocol):
    """Whose requests fail."""

    @property
    def client(self) -> BlockingClient:
        """Writes the fault."""
        ...

    @property
    def aio(self) -> AsyncClient:
        """The same for coroutines."""
        ...

    def counted(self, fault: str) -> tuple[int, int]:
        """How many requests a fault matched and made fail."""
        ...


@dataclass(frozen=True, slots=True)
class Failure:
    """How requests fail: the spec of a Fault, whose fields have descriptions.

    By default, the server returns 500.
    """

    # which requests
    verbs: Texts = ()
    resources: Texts = ()
    """`pods`, `pods/status`, `deployments.apps` or `apps/v1/deployments`."""
    _: KW_ONLY
    namespace: Texts = ()
    name: Texts = ()
    user: Texts = ()
    user_agent: Texts = ()
    labels: str = ""
    paths: Texts = ()
    """Of requests for no resource: `/version`, `/openapi/*`."""
    controllers: bool = False

    # which of those
    skip: int = 0
    every: int = 1
    times: int | None = None
    probability: float = 1.0
    seed: int = 0

    # what happens to them
    code: int | None = None
    reason: str = ""
    message: str = ""
    retry_after: int = 0
    cut: bool = False
    applied: bool = False
    """Answered so, or cut, when the request was carried out."""
    delay: float = 0.0
    jitter: float = 0.0
    stale: int = 0
    bytes_per_second: int = 0

    # what happens to watches
    events: int | None = None
    end: str = "Cut"
    bookmarks: bool = True

    def spec(self) -> Object:
        """The spec of a Fault."""
        common = {"match": self._match(), "when": self._when(), "controllers": self.controllers}
        return common | self._effects()

    def _match(self) -> Object:
        groups, plurals = _places(_listed(self.resources))
        return {
            "verbs": _listed(self.verbs),
            "apiGroups": groups,
            "resources": plurals,
            "namespaces": _listed(self.namespace),
            "names": _listed(self.name),
            "users": _listed(self.user),
            "userAgents": _listed(self.user_agent),
            "labelSelector": self.labels,
            "nonResourceURLs": _listed(self.paths),
        }

    def _when(self) -> Object:
        which: Object = {"skip": self.skip, "every": self.every}
        if self.times is not None:
            which["times"] = self.times
        return which | {"probability": self.probability, "seed": self.seed}

    def _effects(self) -> Object:
        found: Object = {}
        if self.delay or self.jitter:
            found["delay"] = {"seconds": self.delay, "jitterSeconds": self.jitter}
        if self.cut:
            found["cut"] = self._moment
        if self.events is not None or not self.bookmarks:
            found["watch"] = {"end": self.end, "withoutBookmarks": not self.bookmarks}
            if self.events is not None:
                found["watch"]["events"] = self.events
        if self.stale:
            found["stale"] = {"changes": self.stale}
        if self.bytes_per_second:
            found["slow"] = {"bytesPerSecond": self.bytes_per_second}
        if self.code is not None or (self.applied and not self.cut) or not found:
            found["answer"] = self._answer()
        return found

    def _answer(self) -> Object:
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
    """A context manager, sync or async: matching requests fail inside its block.

    `matched` and `injected` count; the Fault itself is `name` of world.inkube.dev/v1.
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
        self._counted = 0, 0

    @property
    def matched(self) -> int:
        """How many requests it could have hit."""
        return self._count()[0]

    @property
    def injected(self) -> int:
        """How many it made fail."""
        return self._count()[1]

    def __enter__(self) -> Self:
        self.name = self._server.client.create(self._body)["metadata"]["name"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        name = self._end()
        try:
            self._server.client.delete(FAULTS, name)
        except StatusError as refused:
            _check(refused)

    async def __aenter__(self) -> Self:
        self.name = (await self._server.aio.create(self._body))["metadata"]["name"]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        name = self._end()
        try:
            await self._server.aio.delete(FAULTS, name)
        except StatusError as refused:
            _check(refused)

    def _end(self) -> str:
        """Save the counts; returns the name of the fault to delete."""
        self._counted = self._count()
        name, self.name = self.name, ""
        return name

    def _count(self) -> tuple[int, int]:
        return self._server.counted(self.name) if self.name else self._counted


def _check(refused: StatusError) -> None:
    """The test may have deleted the fault itself. Raises StatusError."""
    if refused.reason != Reason.NOT_FOUND:
        raise refused


def _listed(texts: Texts) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)


def _places(resources: list[str]) -> tuple[list[str], list[str]]:
    """API groups (none: any) and resources of what a test calls resources."""
    groups: list[str] = []
    plurals = []
    anywhere = False
    for each in resources:
        group, plural, subresource = split(each)
        anywhere = anywhere or group is None
        if group is not None and group not in groups:
            groups.append(group)
        plurals.append(f"{plural}/{subresource}" if subresource else plural)
    return [] if anywhere else groups, plurals
