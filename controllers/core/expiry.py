"""Deletes Events some time after their last write.

The reference uses a lease of etcd (pkg/registry/core/event/storage, `--event-ttl`). Here, a
reconcile of one key checks all Events when the oldest of them expires. As leases, which use
monotonic time (etcd/server/lease/lessor.go), Events do not expire when the clock is set ahead, and
not while the machine sleeps.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from inkube.controllers.client import Client, Object
from inkube.controllers.informer import Key
from inkube.controllers.manager import Controller, Manager, Result
from inkube.schemas.clock import Clock
from inkube.schemas.meta import GVR
from inkube.schemas.status import StatusError

NAME = "expiry"
RESOURCE = GVR("", "v1", "events")
ALL_EVENTS = Key("", "events")
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_NOTHING = timedelta()
_SLEWED = timedelta(seconds=60)
"""How far the clock can be ahead without a jump, because it is adjusted in small steps."""


class _Jump(NamedTuple):
    """How far the clock was set ahead, and the latest time at which it was not yet."""

    until: datetime
    by: timedelta


class Expiry:
    """Deletes Events without a write for `lifetime` seconds."""

    def __init__(self, client: Client, clock: Clock, lifetime: float) -> None:
        self._client = client
        self._clock = clock
        self._lifetime = timedelta(seconds=lifetime)
        self._last: tuple[datetime, float] | None = None
        """The time and the monotonic time of the last reconcile."""
        self._jumps: list[_Jump] = []

    def feed(self, add: Callable[[Key], None]) -> Callable[[], None]:
        """Add the only key to the queue, once."""
        add(ALL_EVENTS)
        return lambda: None

    async def reconcile(self, key: Key) -> Result:
        """Delete expired events; run again when the next one expires. No newer event can expire
        earlier."""
        now = self._clock.now()
        self._find_jump(now)
        wait = self._lifetime
        for event in (await self._client.list(RESOURCE)).items:
            left = self._lifetime - self._age(_last_write_time(event), now)
            if left <= _NOTHING:
                await self._delete(event)
            else:
                wait = min(wait, left)
        return Result(requeue_after=max(wait.total_seconds(), 1.0))

    def _find_jump(self, now: datetime) -> None:
        """Find out whether the clock was set ahead since the last reconcile, and forget jumps that
        are older than all Events."""
        monotonic = self._clock.monotonic()
        if self._last is not None:
            before, monotonic_before = self._last
            expected = before + timedelta(seconds=monotonic - monotonic_before)
            if now - expected > _SLEWED:
                self._jumps.append(_Jump(expected, now - expected))
        self._last = now, monotonic
        self._jumps = [each for each in self._jumps if self._age(each.until, now) < self._lifetime]

    def _age(self, written: datetime, now: datetime) -> timedelta:
        """Return how long ago something was written, without the jumps since then."""
        jumps = (each.by for each in self._jumps if written <= each.until)
        return now - written - sum(jumps, _NOTHING)

    async def _delete(self, event: Object) -> None:
        meta = event["metadata"]
        options = {"preconditions": {"resourceVersion": meta["resourceVersion"]}}
        try:
            await self._client.delete(RESOURCE, meta["name"], meta["namespace"], options=options)
        except StatusError as error:
            if error.code not in (404, 409):
                raise


def _last_write_time(event: Object) -> datetime:
    """Return the latest time in an Event's metadata, which records every change of a field."""
    meta = event["metadata"]
    times = [meta["creationTimestamp"]]
    times += [entry.get("time") or "" for entry in meta.get("managedFields") or ()]
    return max((datetime.fromisoformat(text) for text in times if text), default=_LONG_AGO)


def add(manager: Manager, lifetime: float) -> None:
    """Add the controller to the manager."""
    expiry = Expiry(manager.client, manager.clock, lifetime)
    manager.add(Controller(NAME, expiry.reconcile, (), concurrency=1, sources=(expiry.feed,)))
