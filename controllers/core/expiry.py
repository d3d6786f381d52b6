"""Deletes Events some time after their last write.

The reference uses a lease of etcd (pkg/registry/core/event/storage, `--event-ttl`). Here, a
reconcile of one key checks all Events when the oldest of them expires.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

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


class Expiry:
    """Deletes Events without a write for `lifetime` seconds."""

    def __init__(self, client: Client, clock: Clock, lifetime: float) -> None:
        self._client = client
        self._clock = clock
        self._lifetime = timedelta(seconds=lifetime)

    def feed(self, add: Callable[[Key], None]) -> Callable[[], None]:
        """Add the only key to the queue, once."""
        add(ALL_EVENTS)
        return lambda: None

    async def reconcile(self, key: Key) -> Result:
        """Delete expired events; run again when the next one expires. No newer event can expire
        earlier."""
        now = self._clock.now()
        wait = self._lifetime
        for event in (await self._client.list(RESOURCE)).items:
            left = self._lifetime - (now - _last_write_time(event))
            if left <= _NOTHING:
                await self._delete(event)
            else:
                wait = min(wait, left)
        return Result(requeue_after=max(wait.total_seconds(), 1.0))

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
