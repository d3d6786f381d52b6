"""`kube.fail(…)`: a Fault for as long as a block runs, in a test's words."""

from collections.abc import Collection
from types import TracebackType
from typing import Any, Protocol, Self

from inkube.apiserver.testing.clients import AsyncClient, BlockingClient
from inkube.apiserver.testing.criteria import split
from inkube.schemas.status import Reason, StatusError

Object = dict[str, Any]
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


class Failing:
    """A context manager, awaited or not: what it says fails inside of the block.

    `matched` and `injected` count; the Fault itself is `name` of world.inkube.dev/v1.
    """

    def __init__(self, server: Server, spec: Object) -> None:
        self._server = server
        self._body: Object = {
            "apiVersion": "world.inkube.dev/v1",
            "kind": "Fault",
            "metadata": {"generateName": "fault-"},
            "spec": spec,
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
        """Keep the counts; what is to be deleted."""
        self._counted = self._count()
        name, self.name = self.name, ""
        return name

    def _count(self) -> tuple[int, int]:
        return self._server.counted(self.name) if self.name else self._counted


def _check(refused: StatusError) -> None:
    """The test may have deleted the fault itself. Raises StatusError."""
    if refused.reason != Reason.NOT_FOUND:
        raise refused


def spec(
    verbs: Texts = (),
    resources: Texts = (),
    *,
    namespace: Texts = (),
    name: Texts = (),
    user: Texts = (),
    user_agent: Texts = (),
    labels: str = "",
    paths: Texts = (),
    times: int | None = None,
    every: int = 1,
    skip: int = 0,
    probability: float = 1.0,
    seed: int = 0,
    code: int | None = None,
    reason: str = "",
    message: str = "",
    retry_after: int = 0,
    cut: bool = False,
    applied: bool = False,
    delay: float = 0.0,
    jitter: float = 0.0,
    events: int | None = None,
    end: str = "Cut",
    bookmarks: bool = True,
    stale: int = 0,
    bytes_per_second: int = 0,
    controllers: bool = False,
) -> Object:
    """The spec of a Fault. What fails nowise else is answered 500."""
    groups, plurals = _places(_listed(resources))
    match: Object = {
        "verbs": _listed(verbs),
        "apiGroups": groups,
        "resources": plurals,
        "namespaces": _listed(namespace),
        "names": _listed(name),
        "users": _listed(user),
        "userAgents": _listed(user_agent),
        "labelSelector": labels,
        "nonResourceURLs": _listed(paths),
    }
    when = {"skip": skip, "every": every, "probability": probability, "seed": seed}
    if times is not None:
        when["times"] = times
    found: Object = {"match": match, "when": when, "controllers": controllers}
    moment = "AfterWrite" if applied else "BeforeWrite"
    if delay or jitter:
        found["delay"] = {"seconds": delay, "jitterSeconds": jitter}
    if cut:
        found["cut"] = moment
    if events is not None or not bookmarks:
        found["watch"] = {"end": end, "withoutBookmarks": not bookmarks}
        if events is not None:
            found["watch"]["events"] = events
    if stale:
        found["stale"] = {"changes": stale}
    if bytes_per_second:
        found["slow"] = {"bytesPerSecond": bytes_per_second}
    if code is not None or (applied and not cut) or len(found) == len(_ALWAYS):
        found["answer"] = {
            "code": code or 500,
            "reason": reason,
            "message": message,
            "retryAfterSeconds": retry_after,
            "moment": moment,
        }
    return found


_ALWAYS = ("match", "when", "controllers")


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
