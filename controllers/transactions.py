"""Code that a kind runs around each of its writes, from the last check to the commit.

    @asynccontextmanager
    async def transaction(write, env):
        async with locks.hold(write.namespace):       # held until the commit
            await write.confirm()                     # no other write was faster
            if await is_taken(write.obj):             # a rule that uses outside data
                raise status.conflict(...)
            if write.dry_run:
                yield
                return
            undo = await push(write.obj)              # a step that may fail
            write.obj["status"] = {...}
            write.records.append(Record("update", other))   # committed together
            try:
                yield                                 # the commit
            except BaseException:
                await undo()
                raise

    KindModule(Widget, transaction=transaction)

It is entered after schema, static rules, admission, policies and webhooks have accepted a write,
also in dry runs. It runs to its end even if the client disconnects. How a view of another kind's
objects is shown and written is a `View`.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal

from inkube.controllers.client import Object
from inkube.controllers.environment import Environment
from inkube.controllers.records import Record
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.meta import GVR


@dataclass(slots=True)
class Write:
    """One write of one object."""

    operation: Literal["create", "update", "delete"]
    namespace: str
    name: str
    subresource: str
    user: str
    """The name of the user."""
    dry_run: bool
    old: Object | None
    """The stored object, which must not be changed. For a view, the object that it shows."""
    obj: Object | None
    """The object to store, which can be changed in place; for a view, the object to return. None if
    the object is removed."""
    record: Object | None
    """For a view: the object that it shows, as it will be stored. Otherwise None."""
    goes: bool
    """Whether the object is removed; otherwise a deletion only marks it for its finalizers."""
    confirm: Callable[[], Awaitable[None]]
    """Ends the write with a conflict, or starts it again, if the object changed since its start."""
    warn: Callable[[str], None]
    """Adds a Warning header to the response."""
    records: list[Record] = field(default_factory=list)
    """Further writes in the same commit."""


Transaction = Callable[[Write, Environment], AbstractAsyncContextManager[None]]


def _nothing(obj: Object, old: Object | None) -> None:
    """Permit all changes."""


def _no_errors(obj: Object, old: Object | None) -> list[FieldError]:
    return []


@dataclass(frozen=True, slots=True)
class Part:
    """A path that updates an object, with separate rules; "" is the path of the object.

    `prepare` restores fields that this path must not change, in place (`old` is None on create).
    `validate` returns the errors of the other fields. Both receive plain objects. `validate` can
    raise a StatusError with any code.
    """

    name: str
    prepare: Callable[[Object, Object | None], None] = _nothing
    validate: Callable[[Object, Object | None], list[FieldError]] = _no_errors
    verbs: tuple[str, ...] = ("get", "patch", "update")


@dataclass(frozen=True, slots=True)
class View:
    """The objects of another kind in another form, under the same names.

    `show` converts a batch of objects and keeps their order. Lists, gets, tables and selectors use
    it. An update goes through the transaction of the view's kind, which changes `Write.record`.
    """

    of: GVR
    show: Callable[[Sequence[Object], Environment], Awaitable[list[Any]]]
