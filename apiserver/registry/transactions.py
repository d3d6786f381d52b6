"""What a kind does around a write of its own, from the last check to the commit.

A `Transactor` is entered when everything else has let a write pass, and left once it is committed:
there it takes locks, looks at the world, refuses with any StatusError, does what may fail (and must
be undone if the commit fails), changes what will be stored and adds writes of other objects. What
it was entered for runs to its end, even if the client goes away meanwhile.
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
    """What is stored now; None for a create."""
    obj: Object | None
    """What the client will be shown, and what is stored unless there is a `record`; None where the
    object goes without a last state."""
    record: Object | None = None
    """Of a view the object it is a view of, as it will be stored."""
    goes: bool = False
    """Whether the object is removed with this commit."""
    subresource: str = ""
    user: str = ""
    """The name of who asks."""
    dry_run: bool = False
    warn: Callable[[str], None] = lambda text: None
    """Adds a Warning header to the answer."""
    beside: list[writes.Write] = field(default_factory=list)
    """Writes of other objects in the same commit; the transactor adds them."""

    async def confirm(self, store: Store) -> None:
        """See that the object is still as it was when the write began: once locks are held.

        Raises storage's Conflict, NotFound or AlreadyExists, which end the write as they do at a
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
    """What the work comes to. Who is cancelled meanwhile hears of it when the work is done."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # nobody is left to be told
        raise cancelled
    return task.result()
