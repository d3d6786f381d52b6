"""One thread for long computations, so that they do not block the event loop.

The computations of a write (decoding, patching, defaulting, ownership, validation, rules) are
functions of values: they do not write to the store or read shared state. They run in the event loop
for a small body, and in this thread for a large body or a kind whose small bodies can take long.
The event loop then waits at most for Python's switch between threads (5 ms; `inkube serve` sets
less, see `root.process.eventloop`). There is only one such thread: Python runs one thread at a
time, and each further thread would run before the event loop.

Writes of concurrent clients take turns in the event loop: before each of its computations, a write
lets the others run theirs. The same computation of many writes then runs in a row, while its code
and data are in the processor's caches. docs/performance.md shows the gain; the option
`interleaved_writes` disables it. Writes of controllers do not take turns: more and smaller groups
of them would be committed, and each group wakes the controllers again.
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

    @property
    def takes_turns(self) -> bool:
        """Whether the write takes turns with others in the event loop."""


class Worker:
    """Runs the computations of all writes. The first long one starts the thread.

    With `interleaves`, writes of several tasks can take turns.
    """

    def __init__(self, *, interleaves: bool = True) -> None:
        self._interleaves = interleaves
        self._last = 0
        """The id of the task that ran the last computation in the event loop."""
        self._loop: asyncio.AbstractEventLoop | None = None
        """The event loop, set at the first computation: up to Python 3.11, a query for the running
        loop is a system call."""
        self._pool: ThreadPoolExecutor | None = None

    async def compute(self, write: Write, do: Callable[..., T], *args: Any) -> T:
        """Run a computation of a write, in the thread if its effort is more than LIGHT bytes, else
        in turn with other writes. Returns its result, or raises its error."""
        effort = write.effort
        if effort > LIGHT:
            return await self.run(effort, do, *args)
        if self._yields(write):
            await asyncio.sleep(0)
        return do(*args)

    async def finish(self, write: Write, steps: Coroutine[Any, Any, T], *, waits: bool) -> T:
        """Run a computation that is a coroutine, as `compute` does, if it awaits nothing.

        `waits` means that it can await something, so it runs in the event loop. Returns its result,
        or raises its error.
        """
        try:
            if write.effort > LIGHT and not waits:
                return await self.run(write.effort, _completed, steps)
            if self._yields(write):
                await asyncio.sleep(0)
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

    def _yields(self, write: Write) -> bool:
        """Note the task of a computation. Returns whether other writes come first, because another
        task ran the last computation: a task that runs alone does not wait. The id of a task that
        has ended can be that of a new one, which then does not wait either."""
        if not (self._interleaves and write.takes_turns):
            return False
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        task, last = id(asyncio.current_task(self._loop)), self._last
        self._last = task
        return task != last

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
