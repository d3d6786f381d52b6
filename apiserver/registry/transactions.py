"""The code of a kind around its writes, from the last check to the commit.

A `Transactor` is entered after every check has accepted a write, and left after the commit. In
between it can take locks, query other systems, refuse with any StatusError, do work that can fail
(and undo it if the commit fails), change the object that will be stored, and add writes of other
objects. The write then runs to its end, even if the client disconnects.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from inkube.schemas.objects import Object
from inkube.storage import Entry, Store, writes
from inkube.storage import errors as storage_errors

T = TypeVar("T")


@dataclass(slots=True)
class Pending:
    """One write on its way to the commit."""

    operation: Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
    key: str
    namespace: str
    name: str
    entry: Entry | None
    """The stored object; None for a create."""
    obj: Object | None
    """The object for the response, which is also stored unless `record` is set; None if the object
    is removed without a last state."""
    record: Object | None = None
    """For a view: the object behind the view, as it will be stored."""
    goes: bool = False
    """Whether the object is removed with this commit."""
    subresource: str = ""
    user: str = ""
    """The name of the user."""
    dry_run: bool = False
    warn: Callable[[str], None] = lambda text: None
    """Adds a Warning header to the response."""
    beside: list[writes.Write] = field(default_factory=list)
    """Writes of other objects in the same commit; the transactor adds them."""

    async def confirm(self, store: Store) -> None:
        """Check, with locks held, that the object has not changed since the write began.

        Raises Conflict, NotFound or AlreadyExists of storage. They end the write as they do at a
        commit.
        """
        await store.current()
        key, found = self.key, store.get(self.key)
        if self.entry is None:
            if found is not None:
                raise storage_errors.AlreadyExists(key, found)
        elif found is None:
            raise storage_errors.NotFound(key)
        elif found.revision != self.entry.revision:
            raise storage_errors.Conflict(key, self.entry.revision, found)


Transactor = Callable[[Pending], AbstractAsyncContextManager[None]]


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Run the work to its end and return its result. A cancellation of the caller takes effect
    only after that."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # mark it as retrieved: the caller is cancelled
        raise cancelled
    return task.result()
