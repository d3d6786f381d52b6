"""Writes that controllers have in common: many pods in growing batches, a status if it changed.

Follows slowStartBatch of pkg/controller/replicaset.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from inkube.controllers.client import Client, Object
from inkube.controllers.core import is_ending as is_ending
from inkube.controllers.informer import Key
from inkube.controllers.manager import Reconcile, Result
from inkube.schemas.meta import GVR
from inkube.schemas.status import StatusError

AT_MOST = 500
"""Pods that one reconcile creates or deletes at most (BurstReplicas)."""


def patient(reconcile: Reconcile) -> Reconcile:
    """A reconcile that gives up quietly where its namespace is going: nothing new comes there."""

    async def attempt(key: Key) -> Result | None:
        try:
            return await reconcile(key)
        except StatusError as error:
            if is_ending(error):
                return None
            raise

    return attempt


async def in_batches(
    count: int, make: Callable[[int], Awaitable[None]]
) -> tuple[int, StatusError | None]:
    """Call `make` for 0 … count-1 in batches of 1, 2, 4, …; the batch after a failure is skipped.

    Returns how many succeeded, and the first failure.
    """
    done, size = 0, 1
    start = 0
    while start < count:
        batch = range(start, min(start + size, count))
        results = await asyncio.gather(*(make(i) for i in batch), return_exceptions=True)
        failure = None
        for result in results:
            if result is None:
                done += 1
            elif isinstance(result, StatusError):
                failure = failure or result
            else:
                raise result
        if failure is not None:
            return done, failure
        start, size = batch.stop, size * 2
    return done, None


async def all_of(objects: Iterable[Object], act: Callable[[Object], Awaitable[None]]) -> None:
    """Do something with every object at once; raises the first failure after all have ended."""
    results = await asyncio.gather(*(act(obj) for obj in objects), return_exceptions=True)
    for result in results:
        if result is not None:
            raise result


async def write_status(client: Client, obj: Object, status: Object) -> Object | None:
    """Write the status if it says something new. Returns the object as it is then.

    None when the object has gone or changed: the next event tells the controller.
    """
    if (obj.get("status") or {}) == status:
        return obj
    return await update(client, {**obj, "status": status}, subresource="status")


async def update(client: Client, obj: Object, *, subresource: str = "") -> Object | None:
    """Replace an object; None when it has gone or changed: the next event tells."""
    try:
        return await client.update(obj, subresource=subresource)
    except StatusError as error:
        if error.code in (404, 409):
            return None
        raise


async def delete(
    client: Client, resource: GVR | str, obj: Object, options: Object | None = None
) -> bool:
    """Delete this very object; whether it was there."""
    meta = obj["metadata"]
    wanted = {"preconditions": {"uid": meta["uid"]}, **(options or {})}
    try:
        await client.delete(resource, meta["name"], meta.get("namespace", ""), options=wanted)
    except StatusError as error:
        if error.code in (404, 409):
            return False
        raise
    return True


def set_condition(
    status: Object, kind: str, value: str, reason: str, message: str, *, now: str
) -> bool:
    """Put a condition in its place; whether that changed anything.

    One whose status and reason stay is left as it is; lastTransitionTime changes with the status.
    """
    conditions: list[Object] = status.setdefault("conditions", [])
    for index, present in enumerate(conditions):
        if present["type"] != kind:
            continue
        if (present["status"], present.get("reason", "")) == (value, reason):
            return False
        moved = now if present["status"] != value else present.get("lastTransitionTime", now)
        conditions[index] = _condition(kind, value, reason, message, moved)
        return True
    conditions.append(_condition(kind, value, reason, message, now))
    return True


def remove_condition(status: Object, kind: str) -> bool:
    """Take a condition away; whether there was one."""
    conditions = status.get("conditions") or []
    left = [each for each in conditions if each["type"] != kind]
    if len(left) == len(conditions):
        return False
    if left:
        status["conditions"] = left
    else:
        status.pop("conditions", None)
    return True


def _condition(kind: str, value: str, reason: str, message: str, moved: str) -> Object:
    made = {"type": kind, "status": value, "lastTransitionTime": moved}
    if reason:
        made["reason"] = reason
    if message:
        made["message"] = message
    return made
