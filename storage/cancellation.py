"""Work that must not stop halfway."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def run_to_end(work: Awaitable[T], on_cancelled: Callable[[], object] = lambda: None) -> T:
    """Wait for work to its end, also if the caller is cancelled, any number of times. The
    cancellation is raised at the end; meanwhile `on_cancelled` can shorten the work.

    Raises the exceptions of the work.
    """
    task = asyncio.ensure_future(work)
    cancelled = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
            on_cancelled()
    if cancelled is None:
        return task.result()
    raise cancelled from None if task.cancelled() else task.exception()
