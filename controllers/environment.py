"""The environment of checks and reconcilers: client, clock, caches, events and outside services.

The composition root creates one environment for all kinds.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from inkube.controllers.client import Client
from inkube.controllers.events import Recorder
from inkube.controllers.informer import Informers
from inkube.controllers.outages import Outages
from inkube.controllers.pacer import Pacer
from inkube.controllers.records import NoRecords, Records
from inkube.schemas.clock import Clock

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Recheck:
    """Seconds until an object is checked again without a change."""

    healthy: float = 300.0
    unhealthy: float = 60.0

    def after(self, *, is_healthy: bool) -> float:
        """Return the interval for an object, by its health."""
        return self.healthy if is_healthy else self.unhealthy


@dataclass(frozen=True, slots=True)
class Service(Generic[T]):
    """The typed key of a service: `OFFICE: Service[Office] = Service("office")`.

    Its name is that of the parameter by which checks receive the service. A kind lists the services
    that its other code uses in `KindModule.needs`.
    """

    name: str

    def of(self, services: Mapping[str, Any]) -> T:
        """Return the service among others. Raises LookupError if it is missing."""
        if self.name not in services:
            raise LookupError(f"no service named {self.name!r}; there are {sorted(services)}")
        found: T = services[self.name]
        return found


@dataclass(frozen=True, slots=True)
class Environment:
    """The data and services outside an object. A check receives one of the `services` by the name
    of its parameter."""

    client: Client
    clock: Clock
    informers: Informers
    events: Recorder
    outages: Outages
    services: Mapping[str, Any] = field(default_factory=dict)
    recheck: Recheck = field(default_factory=Recheck)
    retry_seconds: float = 12.0
    """Seconds for which requests to a failing service are repeated with back-off, before the normal
    rechecks continue."""
    pacer: Pacer = field(default_factory=Pacer)
    """Checks await its `turn` before larger steps, so that many objects do not delay requests."""
    records: Records = field(default_factory=NoRecords)
    """Writes derived objects, without rules and admission."""

    def service(self, key: Service[T]) -> T:
        """Return a service. Raises LookupError if it is missing."""
        return key.of(self.services)


class Memo:
    """Results that the checks of one run share, so that equal requests are sent one time."""

    def __init__(self) -> None:
        self._answers: dict[Any, asyncio.Future[Any]] = {}

    async def __call__(self, key: Any, load: Callable[[], Awaitable[T]]) -> T:
        """Return the result for `key`. Calls `load` at the first use of the key, and again after a
        failure."""
        future = self._answers.get(key)
        if future is None or (future.done() and (future.cancelled() or future.exception())):
            future = asyncio.ensure_future(load())
            self._answers[key] = future
        answer: T = await asyncio.shield(future)
        return answer

    def known(self, key: Any) -> Any:
        """Return the result for `key` if it is available; otherwise None."""
        future = self._answers.get(key)
        if future is None or not future.done() or future.cancelled() or future.exception():
            return None
        return future.result()

    async def close(self) -> None:
        """Cancel unfinished requests."""
        pending = [future for future in self._answers.values() if not future.done()]
        for future in pending:
            future.cancel()
        await asyncio.gather(*self._answers.values(), return_exceptions=True)
