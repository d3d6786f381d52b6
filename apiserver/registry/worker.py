"""One thread for long computations, so that they do not block the event loop.

The computations of a write (decoding, patching, defaulting, ownership, validation, rules) are
functions of values: they do not write to the store or read shared state. They run in the event loop
for a small body, and in this thread for a large body or a kind whose small bodies can take long.
The event loop then waits at most for Python's switch between threads (5 ms; `inkube serve` sets
less, see `root.process.eventloop`). There is only one such thread: Python runs one thread at a
time, and each further thread would run before the event loop.
"""

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar, cast

T = TypeVar("T")

LIGHT = 8 * 1024  # bytes that take some milliseconds, with any content
HEAVY = LIGHT + 1  # the weight of work that can take long at any size
STACK = 32 * 2**20  # bytes; on most systems 8 MiB in the main thread, less in other threads


class Write(Protocol):
    """A write whose computations the worker runs."""

    @property
    def effort(self) -> int:
        """The effort of one computation: bytes, or HEAVY."""


class Worker:
    """Runs the computations of all writes. The first long one starts the thread."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    async def compute(self, write: Write, do: Callable[..., T], *args: Any) -> T:
        """Run a computation of a write, in the thread if its effort is more than LIGHT bytes.
        Returns its result, or raises its error."""
        return await self.run(write.effort, do, *args)

    async def finish(self, write: Write, steps: Coroutine[Any, Any, T], *, waits: bool) -> T:
        """Run a computation that is a coroutine, as `compute` does, if it awaits nothing.

        `waits` means that it can await something, so it runs in the event loop. Returns its result,
        or raises its error.
        """
        try:
            if write.effort > LIGHT and not waits:
                return await self.run(write.effort, _completed, steps)
            return await steps
        finally:
            if inspect.getcoroutinestate(steps) == inspect.CORO_CREATED:
                steps.close()  # the request was cancelled before the coroutine ran

    async def run(self, weight: int, do: Callable[..., T], *args: Any) -> T:
        """Run `do`, in the thread if `weight` is more than LIGHT bytes. Returns its result, or
        raises its error."""
        if weight <= LIGHT:
            return do(*args)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads(), lambda: do(*args))

    def close(self) -> None:
        """End the thread after its running function. Waiting functions are cancelled."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "inkube-worker")
            before = threading.stack_size(STACK)
            try:
                self._pool.submit(_nothing).result()  # start the thread with this stack
            finally:
                threading.stack_size(before)
        return self._pool


def _nothing() -> None:
    pass


def _completed(steps: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that awaits nothing to its end. Raises RuntimeError if it awaits."""
    try:
        steps.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    steps.close()
    raise RuntimeError("work of another thread cannot wait")
