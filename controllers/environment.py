"""What checks and reconcilers are given: the client, time, caches, events and outside services.

The composition root makes one environment and hands it to every kind.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from inkube.controllers.client import Client
from inkube.controllers.events import Recorder
from inkube.controllers.informer import Informers
from inkube.controllers.pacer import Pacer
from inkube.controllers.records import NoRecords, Records
from inkube.schemas.clock import Clock

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Recheck:
    """Seconds until an object is checked again though nothing changed."""

    healthy: float = 300.0
    unhealthy: float = 60.0

    def after(self, *, is_healthy: bool) -> float:
        """The interval that applies."""
        return self.healthy if is_healthy else self.unhealthy


@dataclass(frozen=True, slots=True)
class Environment:
    """Everything outside the object itself; `services` are found by parameter name."""

    client: Client
    clock: Clock
    informers: Informers
    events: Recorder
    services: Mapping[str, Any] = field(default_factory=dict)
    recheck: Recheck = field(default_factory=Recheck)
    retry_seconds: float = 12.0
    """So long a failing service is asked again with back-off, before rechecks go on as usual."""
    pacer: Pacer = field(default_factory=Pacer)
    """Taken before every larger step, so that many objects at once leave room for requests."""
    records: Records = field(default_factory=NoRecords)
    """Writes what follows from something else, past rules and admission."""


class Memo:
    """Results shared by the checks of one run, so that equal questions are asked once."""

    def __init__(self) -> None:
        self._answers: dict[Any, asyncio.Future[Any]] = {}

    async def __call__(self, key: Any, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer to `key`; a failed question may be asked again."""
        future = self._answers.get(key)
        if future is None or (future.done() and (future.cancelled() or future.exception())):
            future = asyncio.ensure_future(ask())
            self._answers[key] = future
        answer: T = await asyncio.shield(future)
        return answer

    def known(self, key: Any) -> Any:
        """The answer when there is one already, else None."""
        future = self._answers.get(key)
        if future is None or not future.done() or future.cancelled() or future.exception():
            return None
        return future.result()

    async def close(self) -> None:
        """Cancel questions without a waiting check."""
        pending = [future for future in self._answers.values() if not future.done()]
        for future in pending:
            future.cancel()
        await asyncio.gather(*self._answers.values(), return_exceptions=True)
