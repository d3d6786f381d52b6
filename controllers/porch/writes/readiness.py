"""Whether a Repository exists and is ready for writes.

A create waits for the first sync of a new Repository, because it often arrives before that sync has
ended.
"""

import asyncio

from inkube.client import Object
from inkube.controllers.porch import storedobjects
from inkube.controllers.porch.refusals import Refusals
from inkube.formats import fielderrors
from inkube.kinds import Environment, Write, status

FIRST_SYNC = 10.0
"""The maximum time in seconds that a create waits for the first sync of its Repository."""


class Readiness:
    """Waits for the first sync of a Repository, and rejects Repositories that are not ready."""

    def __init__(self, refusals: Refusals) -> None:
        self._refusals = refusals
        self._sync_events: dict[tuple[str, str], asyncio.Event] = {}
        """An event for each Repository with waiting creates: its first sync has ended, with or
        without success."""

    async def ready(self, write: Write, env: Environment, name: str) -> Object:
        """Return the Repository of a write. Raises StatusError 404, or 422 with the problem of the
        Repository."""
        found = await storedobjects.repository(env.client, name, write.namespace)
        if found is None or found["metadata"].get("deletionTimestamp"):
            raise status.not_found("config.porch.kpt.dev", "repositories", name)
        if condition(found) is None:
            await self._first_sync(write.namespace, name)
            found = await storedobjects.repository(env.client, name, write.namespace) or found
        state = condition(found)
        if state is not None and state["status"] == "True":
            return found
        message = "it was not synced yet" if state is None else state.get("message", "")
        raise self._refusals.invalid(write.name, unready(name, message))

    async def _first_sync(self, namespace: str, name: str) -> None:
        event = self._sync_events.setdefault((namespace, name), asyncio.Event())
        try:
            async with asyncio.timeout(FIRST_SYNC):
                await event.wait()
        except TimeoutError:
            return

    def mark_synced(self, namespace: str, name: str) -> None:
        """Continue the creates that wait for the first sync of a Repository."""
        event = self._sync_events.get((namespace, name))
        if event is not None:
            event.set()

    def forget(self, namespace: str, name: str) -> None:
        """Forget a deleted Repository."""
        self._sync_events.pop((namespace, name), None)


def condition(repository: Object) -> Object | None:
    """Return the Ready condition of a Repository; None before its first check."""
    for each in (repository.get("status") or {}).get("conditions") or ():
        if each["type"] == "Ready" and each["reason"] != "Reconciling":
            return dict(each)
    return None


def unready(name: str, message: str) -> fielderrors.FieldError:
    """Return the error of a revision whose Repository is not ready."""
    return fielderrors.invalid(
        "spec.repository", name, f"repository {name} is not ready: {message}"
    )
