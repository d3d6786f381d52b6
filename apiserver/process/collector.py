"""The schedule of Python's garbage collector: rare, but before garbage uses much memory.

A server stores bytes, which the collector skips, and reference counting frees the objects of
requests. Full collections stop the process and find almost no garbage. But the few reference cycles
can keep large buffers alive, so the schedule depends on memory, not only on the number of objects:
a collection of new objects for every STEP by which the process has grown, and of all objects
whenever memory has doubled. In the same steps, freed memory that the C library keeps is returned to
the system. Only `inkube serve` uses this. A server embedded in another program does not change the
program's collector.
"""

import asyncio
import contextlib
import gc
import mmap
import os
from collections.abc import Callable, Iterator
from typing import Self

from inkube.apiserver.process import trimming

THRESHOLDS = (25_000, 25, 100)  # allocations before a collection of young objects
STEP = 16 * 2**20
CHECK_SECONDS = 0.5
TRIM_BYTES = 64 * 2**20  # bytes above which freed memory is returned to the system
_STATM = "/proc/self/statm"
_STATM_BYTES = 256
_PAGE_BYTES = mmap.PAGESIZE


class Collector:
    """Checks the memory of the process regularly. `resident` returns it in bytes."""

    def __init__(self, resident: Callable[[], int]) -> None:
        self._resident = resident
        self._timer: asyncio.TimerHandle | None = None
        self._old_thresholds = gc.get_threshold()
        self._next_collection = self._after_full_collection = 0
        self._trims = False
        self._free = 0
        """The minimum of freed bytes that the C library keeps, since the last time they were
        returned."""

    def __enter__(self) -> Self:
        """Begin without a collection: a start leaves almost no garbage, and to search its objects
        takes a tenth of the start's processor time."""
        gc.set_threshold(*THRESHOLDS)
        self._after_full_collection = self._freeze()
        self._wait()
        return self

    def __exit__(self, *error: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        gc.set_threshold(*self._old_thresholds)
        gc.unfreeze()

    def check(self) -> None:
        """Collect if memory has grown."""
        resident = self._resident()
        if resident >= 2 * self._after_full_collection:
            self._collect_whole()
        elif resident >= self._next_collection:
            gc.collect()
            self._freeze()
        if resident >= TRIM_BYTES:
            self._trim(STEP)

    def _collect_whole(self) -> None:
        gc.unfreeze()
        gc.collect()
        if self._resident() >= TRIM_BYTES:
            self._trim(0)
        self._after_full_collection = self._freeze()

    def _trim(self, least: int) -> None:
        """Return freed memory to the system if it is at least `least` bytes more than last time."""
        if not self._trims:
            self._trims = True
            trimming.return_large_blocks()
        free = trimming.free()
        self._free = min(self._free, free)
        if free - self._free >= least:
            trimming.trim()
            self._free = trimming.free()

    def _freeze(self) -> int:
        """Exclude all objects from collections of young objects. Returns the resident bytes."""
        gc.freeze()
        resident = self._resident()
        self._next_collection = resident + STEP
        return resident

    def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(CHECK_SECONDS, self._tick)

    def _tick(self) -> None:
        self.check()
        self._wait()


@contextlib.contextmanager
def rare_collections() -> Iterator[None]:
    """Collect rarely during the start and the life of a server. The objects of a start stay alive,
    and repeated searches for garbage in them took a tenth of the start's processor time."""
    old = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*old)


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Pause the collector during a start. Reading a log creates millions of objects without cycles,
    and repeated searches for cycles take two fifths of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def of_process() -> "Collector | None":
    """Return the collector to enter, or None if a process cannot read its memory usage. Python's
    own schedule then stays."""
    if not os.path.exists(_STATM):
        return None
    return Collector(_resident)


def _resident() -> int:
    with open(_STATM, "rb", buffering=0) as file:
        return int(file.read(_STATM_BYTES).split(maxsplit=2)[1]) * _PAGE_BYTES
