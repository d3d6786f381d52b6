"""One thread for work that takes long, so that it holds nobody else up.

Everything of a write that computes (decoding, patching, defaulting, ownership, validation, rules)
is a function of values: it neither stores nor looks at what others change. For a small body it
runs where it stands; for a large one, and where even a small one may take long, here. The event
loop then waits no longer than Python takes to change between threads (5 ms; `inkube serve` has
less, `root.eventloop`). One thread, not several:
Python runs one at a time anyway, and each more would be one more before the loop's turn.
"""

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

T = TypeVar("T")

LIGHT = 8 * 1024  # bytes that are worked on in some milliseconds, whatever they say
HEAVY = LIGHT + 1  # what may take long, however small
STACK = 32 * 2**20  # bytes; the main thread's on most systems is 8 MiB, other threads' may be less


class Worker:
    """Runs functions beside the event loop; its thread begins with the first."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    async def run(self, weight: int, do: Callable[..., T], *args: Any) -> T:
        """What `do` returns or raises; beside the loop when `weight` is more than LIGHT bytes."""
        if weight <= LIGHT:
            return do(*args)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads(), lambda: do(*args))

    async def finish(self, weight: int, steps: Coroutine[Any, Any, T], *, waits: bool) -> T:
        """What a coroutine returns or raises; `waits` says that it may wait, for which it needs
        the loop."""
        if weight <= LIGHT or waits:
            return await steps
        try:
            return await self.run(weight, _completed, steps)
        finally:
            if inspect.getcoroutinestate(steps) == inspect.CORO_CREATED:
                steps.close()  # the server stopped before its turn came

    def close(self) -> None:
        """End the thread after what it is doing."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "inkube-worker")
            before = threading.stack_size(STACK)
            try:
                self._pool.submit(_nothing).result()  # the thread begins, with this stack
            finally:
                threading.stack_size(before)
        return self._pool


def _nothing() -> None:
    pass


def _completed(steps: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that does not wait to its end."""
    try:
        steps.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    steps.close()
    raise RuntimeError("work of another thread cannot wait")
