"""The code of a kind around its writes, from the last check to the commit.

A `Transactor` is entered after every check has accepted a write, and left after the commit. In
between it can take locks, query other systems, refuse with any StatusError, do work that can fail
(and undo it if the commit fails), change the object that will be stored, and add writes of other
objects. The write then runs to its end, even if the client disconnects.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from inkube.storage import writes

T = TypeVar("T")

Transactor = Callable[[Any, list[writes.Write]], AbstractAsyncContextManager[None]]
"""Is called with the `write.Write`, and a list to which it adds writes for the same commit."""


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
