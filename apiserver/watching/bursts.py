"""The time at which streams write gathered changes: at once, or several changes in one burst.

A write to a socket costs about the same for one event as for twenty. With many readers, a burst
therefore needs fewer and longer writes: 200 readers of 100 changes took 240 ms of processor time
one by one, and take 70 ms in bursts. A single change is written in the next turn of the event loop,
as is every change while there are few readers.
"""

import asyncio
import time
from collections.abc import Callable

from inkube.apiserver.watching.frames import SharedFrames

PER_READER = 50e-6  # seconds, some eight times the time of a write
LONGEST = 0.01  # seconds: the longest wait, with any number of readers
TURN_SECONDS = 0.001  # seconds: the resolution of timers


class Bursts:
    """The bursts of all streams of a server."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._callbacks: list[Callable[[SharedFrames], None]] = []
        self._quiet_until = 0.0

    def add(self, write: Callable[[SharedFrames], None]) -> None:
        """Call `write` once, with the next burst."""
        if not self._callbacks:
            wait = self._quiet_until - time.monotonic()
            if wait < TURN_SECONDS:
                self._loop.call_soon(self._call_waiting)
            else:
                self._loop.call_later(wait, self._call_waiting)
        self._callbacks.append(write)

    def _call_waiting(self) -> None:
        waiting, self._callbacks = self._callbacks, []
        quiet = min(len(waiting) * PER_READER, LONGEST)
        self._quiet_until = time.monotonic() + quiet
        told: SharedFrames = {}
        for write in waiting:  # separate calls, so that an error does not affect other streams
            self._loop.call_soon(write, told)
