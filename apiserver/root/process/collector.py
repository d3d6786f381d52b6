"""When Python looks for garbage in cycles: seldom, but before it takes much memory.

What a server keeps is bytes, which are no work for the collector, and what requests make is freed
by counting references; full collections stop everything and find next to nothing. But what little
is in cycles may hold large buffers, so their schedule follows memory and not the number of objects
alone: a full collection for every STEP by which the process has grown, of what is new since the
last one, and of everything whenever memory has doubled. What was freed since, and is kept by the C
library for later, is given back in the same steps. Used by `inkube serve`, whose process is
its own; a server inside of somebody's process leaves their collector alone.
"""

import asyncio
import contextlib
import gc
import os
from collections.abc import Callable, Iterator
from typing import Self

from inkube.apiserver import root

YOUNG = (25_000, 25, 100)  # young objects are looked at after so many allocations
STEP = 16 * 2**20
LOOK = 0.5  # seconds
LARGE = 64 * 2**20  # from here on what the C library keeps is worth to be given back
_STATM = "/proc/self/statm"


class Collector:
    """Looks at the process's memory now and then; `resident` gives it in bytes."""

    def __init__(self, resident: Callable[[], int]) -> None:
        self._resident = resident
        self._timer: asyncio.TimerHandle | None = None
        self._old = gc.get_threshold()
        self._next = self._whole = 0
        self._is_large = False
        self._free = 0
        """Bytes that were freed and are kept for later: the fewest since some were given back."""

    def __enter__(self) -> Self:
        gc.set_threshold(*YOUNG)
        self._collect_whole()
        self._wait()
        return self

    def __exit__(self, *error: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        gc.set_threshold(*self._old)
        gc.unfreeze()

    def look(self) -> None:
        """Collect if memory has grown."""
        resident = self._resident()
        if resident >= 2 * self._whole:
            self._collect_whole()
        elif resident >= self._next:
            gc.collect()
            self._settle()
        if resident >= LARGE:
            self._give_back(STEP)

    def _collect_whole(self) -> None:
        gc.unfreeze()
        gc.collect()
        if self._resident() >= LARGE:
            self._give_back(0)
        self._settle()
        self._whole = self._next - STEP

    def _give_back(self, least: int) -> None:
        """Give back what was freed since the last time, if it is so much."""
        if not self._is_large:
            self._is_large = True
            root.trimming.return_large_blocks()
        free = root.trimming.free()
        self._free = min(self._free, free)
        if free - self._free >= least:
            root.trimming.give_back()
            self._free = root.trimming.free()

    def _settle(self) -> None:
        gc.freeze()
        self._next = self._resident() + STEP

    def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(LOOK, self._tick)

    def _tick(self) -> None:
        self.look()
        self._wait()


@contextlib.contextmanager
def seldom() -> Iterator[None]:
    """As long as a server starts and serves: what a start imports and makes stays, and to look for
    garbage in it again and again took a tenth of the start's processor time."""
    old = gc.get_threshold()
    gc.set_threshold(*YOUNG)
    try:
        yield
    finally:
        gc.set_threshold(*old)


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """As long as a server starts: reading a log makes millions of objects and no cycle; looking for
    cycles among them, again and again, takes two fifths of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def of_process() -> "Collector | None":
    """The collector to enter; None where a process cannot see its memory: Python's own stays."""
    if not os.path.exists(_STATM):
        return None
    return Collector(_resident)


def _resident() -> int:
    with open(_STATM, "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
