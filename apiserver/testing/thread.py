"""A thread with its own event loop: blocking clients and other loops can use a server in it."""

import asyncio
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from inkube.schemas.status import StatusError

T = TypeVar("T")

NAME = "inkube-fixture"
HIDDEN = frozenset({"asyncio", "concurrent", "contextlib", "dataclasses", "inkube"})
"""Packages whose frames do not help the user of a test."""
ABOUT_INPUT = (StatusError, ValueError, OSError)
"""Errors about the input of a user: a refusal, an option, a file, a time limit that passed."""


class LoopThread:
    """A thread with an event loop. `with LoopThread() as thread: thread.run(coroutine())` runs the
    coroutine in the thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=NAME, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the thread, block until it has finished, and return its result or
        raise its error.

        An error is raised without the frames of the thread, and one about the input of a user
        without those of inkube.
        """
        __tracebackhide__ = True
        self._check_caller(work)
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except StatusError as error:
            raise error.with_traceback(None) from None
        except BaseException as error:  # noqa: BLE001 # it is raised again, with fewer frames
            future.cancel()
            raise error.with_traceback(frames_of_users(error))  # noqa: B904 # the same error

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


def frames_of_users(error: BaseException) -> TracebackType | None:
    """Return the traceback of an error without the frames of threads and event loops.

    For errors about the input of a user, also without the frames of inkube. Others can be defects
    of inkube, so their frames stay.
    """
    hidden = HIDDEN if isinstance(error, ABOUT_INPUT) else HIDDEN - {"inkube"}
    found = []
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] not in hidden:
            found.append(trace)
        trace = trace.tb_next
    shown: TracebackType | None = None
    for each in reversed(found):
        shown = TracebackType(shown, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return shown


async def _end_tasks() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
