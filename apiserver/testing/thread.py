"""A thread with its own event loop: blocking clients and other loops can use a server in it."""

import asyncio
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from inkube.schemas.status import StatusError

T = TypeVar("T")

NAME = "inkube-fixture"


class LoopThread:
    """A thread with an event loop. `with LoopThread() as thread: thread.run(coroutine())` runs the
    coroutine in the thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=NAME, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the thread, block until it has finished, and return its result or
        raise its error.

        An error of the server is raised without the frames of the server.
        """
        __tracebackhide__ = True
        self._check_caller(work)
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except StatusError as error:
            raise error.with_traceback(None) from None
        except BaseException:
            future.cancel()
            raise

    async def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the thread, and await its result from a coroutine of another event
        loop."""
        __tracebackhide__ = True
        self._check_caller(work)
        try:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))
        except StatusError as error:
            raise error.with_traceback(None) from None

    def _check_caller(self, work: Coroutine[Any, Any, T]) -> None:
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError(
                "this runs in the server's own thread: use the client it was given (env.client)"
            )

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(_end_tasks())
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            asyncio.set_event_loop(None)


async def _end_tasks() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
