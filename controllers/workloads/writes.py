"""Writes that several controllers share: pods in growing batches, a status if it changed.

Follows slowStartBatch of pkg/controller/replicaset.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from inkube.client import GVR, Client, Object, ignoring
from inkube.controllers.core import is_ending as is_ending
from inkube.kinds import Key, Reconcile, Result, StatusError

BURST = 500
"""Pods that one reconcile creates or deletes, at most (BurstReplicas)."""
MAX_CONCURRENT = 16
"""Calls that run at a time. With 500, all their objects are in memory together, and the garbage
collector of Python visits them again and again: a fifth of the processor time of 500 deletions."""
T = TypeVar("T")


def patient(reconcile: Reconcile) -> Reconcile:
    """Return `reconcile` without the errors of a namespace in deletion, which accepts no new
    objects."""

    async def attempt(key: Key) -> Result | None:
        try:
            return await reconcile(key)
        except StatusError as error:
            if is_ending(error):
                return None
            raise

    return attempt


async def in_batches(
    count: int, create: Callable[[int], Awaitable[None]]
) -> tuple[int, StatusError | None]:
    """Call `create` for 0 … count-1 in batches of 1, 2, 4, …; stop after a batch with a failure.

    Returns the number of successful calls, and the first StatusError. Other errors are raised.
    """
    done, size = 0, 1
    start = 0
    while start < count:
        batch = range(start, min(start + size, count))
        failure = None
        for error in await _errors(create, batch):
            if error is None:
                done += 1
            elif isinstance(error, StatusError):
                failure = failure or error
            else:
                raise error
        if failure is not None:
            return done, failure
        start, size = batch.stop, size * 2
    return done, None


async def all_of(objects: Iterable[Object], act: Callable[[Object], Awaitable[None]]) -> None:
    """Call `act` for every object, AT_ONCE at a time. Raises the first error after all calls
    ended."""
    for error in await _errors(act, tuple(objects)):
        if error is not None:
            raise error


async def _errors(
    act: Callable[[T], Awaitable[None]], arguments: Sequence[T]
) -> list[Exception | None]:
    """Call `act` for every argument, AT_ONCE at a time. Returns the error of each call, None for
    one without an error."""
    errors: list[Exception | None] = [None] * len(arguments)
    waiting = iter(enumerate(arguments))

    async def work() -> None:
        for place, argument in waiting:
            try:
                await act(argument)
            except Exception as error:  # noqa: BLE001 # the caller raises it
                errors[place] = error

    await asyncio.gather(*(work() for _ in range(min(MAX_CONCURRENT, len(arguments)))))
    return errors


async def write_status(client: Client, obj: Object, status: Object) -> Object | None:
    """Write the status if it changed. Returns the written object, or the object without a change.

    Returns None if the object was deleted or changed meanwhile: an event about it follows.
    """
    if (obj.get("status") or {}) == status:
        return obj
    return await update(client, {**obj, "status": status}, subresource="status")


async def update(client: Client, obj: Object, *, subresource: str = "") -> Object | None:
    """Replace an object and return it, or None if it was deleted or changed meanwhile: an event
    follows."""
    with ignoring(404, 409):
        return await client.update(obj, subresource=subresource)
    return None


async def delete(
    client: Client, resource: GVR | str, obj: Object, options: Object | None = None
) -> bool:
    """Delete the object with this uid. Returns whether it existed."""
    meta = obj["metadata"]
    wanted = {"preconditions": {"uid": meta["uid"]}, **(options or {})}
    with ignoring(404, 409):
        await client.delete(resource, meta["name"], meta.get("namespace", ""), options=wanted)
        return True
    return False


def set_condition(
    status: Object, kind: str, value: str, reason: str, message: str, *, now: str
) -> bool:
    """Set a condition in a status, in place. Returns whether the status changed.

    A condition with the same status and reason does not change. lastTransitionTime changes only
    with the status.
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
    """Remove a condition from a status, in place. Returns whether the status had it."""
    conditions = status.get("conditions") or []
    left = [each for each in conditions if each["type"] != kind]
    if len(left) == len(conditions):
        return False
    if left:
        status["conditions"] = left
    else:
        status.pop("conditions", None)
    return True


def _condition(kind: str, value: str, reason: str, message: str, transition_time: str) -> Object:
    made = {"type": kind, "status": value, "lastTransitionTime": transition_time}
    if reason:
        made["reason"] = reason
    if message:
        made["message"] = message
    return made
