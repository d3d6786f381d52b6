"""One thread for long computations, so that they do not block the event loop.

The computations of a write (decoding, patching, defaulting, ownership, validation, rules) are
functions of values: they do not write to the store or read shared state. They run in the event loop
for a small body, and in this thread for a large body or a kind whose small bodies can take long.
The event loop then waits at most for Python's switch between threads (5 ms; `inkube serve` sets
less, see `process.eventloop`). There is only one such thread: Python runs one thread at a
time, and each further thread would run before the event loop.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

STACK = 32 * 2**20  # bytes; on most systems 8 MiB in the main thread, less in other threads


class Worker:
    """The thread, which the first computation starts."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    async def run(self, do: Callable[..., T], *args: Any) -> T:
        """Run a computation in the thread. Returns its result, or raises its error."""
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
