"""The event loop of `inkube serve`, and the signals that stop it."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import Any

from inkube.apiserver.http import GRACE_SECONDS

SIGNALS = (signal.SIGINT, signal.SIGTERM)
SWITCH = 0.001
"""Seconds until the event loop runs while another thread works."""
_run: Callable[[Coroutine[Any, Any, None]], None]
"""asyncio.run with the fastest installed event loop: uvloop, or winloop on Windows."""
try:
    if sys.platform == "win32":
        import winloop as uvloop
    else:
        import uvloop
except ImportError:
    _run = asyncio.run
else:
    _run = uvloop.run


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run a server to its end, in a process that contains nothing else."""
    sys.setswitchinterval(SWITCH)
    _run(main)


class Stop:
    """The signals that stop a process. Created in its event loop."""

    def __init__(self, signals: Collection[signal.Signals] = SIGNALS) -> None:
        self.requested = asyncio.Event()
        self._repeated = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in signals:
            with contextlib.suppress(NotImplementedError):  # Windows supports no signal handlers
                loop.add_signal_handler(number, self._receive)

    def _receive(self) -> None:
        (self._repeated if self.requested.is_set() else self.requested).set()

    async def or_done(self, work: "asyncio.Future[Any]") -> None:
        """Wait for a signal, or for the end of a task."""
        waiting = asyncio.create_task(self.requested.wait())
        await asyncio.wait({work, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()

    async def finish(self, stop: Callable[[float], Awaitable[None]]) -> None:
        """Stop a server (`APIServer.stop`) after its running requests. They have as long as in
        kube-apiserver, and end at a second signal (apiserver/pkg/server/genericapiserver.go)."""
        stopping = asyncio.ensure_future(stop(GRACE_SECONDS))
        repeated = asyncio.create_task(self._repeated.wait())
        await asyncio.wait({stopping, repeated}, return_when=asyncio.FIRST_COMPLETED)
        repeated.cancel()
        if not stopping.done():
            stopping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await stopping
