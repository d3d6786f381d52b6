"""The queue between events and reconciles: each key once, one worker for each key, with back-off.

Follows client-go/util/workqueue: a key that is added while a worker has it is queued again
afterwards; failures delay a key exponentially; of several delayed adds, only the earliest counts.
The number of distinct keys bounds the queue.
"""

import asyncio
import heapq
import time
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

from inkube.schemas.clock import Clock

K = TypeVar("K", bound=Hashable)

PATIENCE = 1.0
"""A retry within these seconds counts as work. `idle` does not wait for later retries."""


class Backoff(NamedTuple):
    """Delays of a failing key: `first`, doubled each time, at most `longest` (seconds)."""

    first: float = 0.005
    longest: float = 60.0

    def delay(self, failures: int) -> float:
        """Return the delay after the n-th failure in a row, counted from 1."""
        return min(self.first * 2.0 ** min(failures - 1, 60), self.longest)


class WorkQueue(Generic[K]):
    """Keys that wait for a worker. Workers call `get`, then `start` if they waited since, then
    `done`. `run` processes delayed adds. Each add calls `wake`, so that the owner can start both
    with the first key."""

    def __init__(
        self,
        clock: Clock,
        *,
        backoff: Backoff | None = None,
        wake: Callable[[], None] | None = None,
    ) -> None:
        self._clock = clock
        self._wake = wake or _no_wake
        self._backoff = backoff or Backoff()
        self._ready: asyncio.Queue[K] = asyncio.Queue()
        self._queued: dict[K, float] = {}
        """The keys that wait, with the time of their add."""
        self._processing: dict[K, float] = {}
        """The keys with a worker, with the time at which it took them."""
        self._dirty: set[K] = set()
        self._due_times: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._order = 0
        self._failures: dict[K, int] = {}
        self._retrying: set[K] = set()
        self._earlier = asyncio.Event()
        self._is_idle_event = asyncio.Event()
        self._is_idle_event.set()
        self.observe: Callable[[str, float], None] | None = None
        """Called with `queue` and `work`, and the seconds that a key waited and was worked on; None
        if nobody reads metrics."""
        self.added_count = self.retried_count = 0
        """The numbers of adds, without repeated ones, and of retries."""
        self.taken_count = 0
        """The number of keys taken so far. Two equal values mean that no work started between
        them."""

    def close(self) -> None:
        """Call `wake` no more, because its owner has ended."""
        self._wake = _no_wake

    def add(self, key: K) -> None:
        """Queue the key. Repeated adds before it is taken have no effect."""
        if key in self._processing:
            self.added_count += key not in self._dirty
            self._dirty.add(key)
        elif key not in self._queued:
            self.added_count += 1
            self._queued[key] = time.perf_counter()
            self._ready.put_nowait(key)
            self._is_idle_event.clear()
            self._wake()

    def add_after(self, key: K, seconds: float) -> None:
        """Queue the key after a delay in seconds, unless it is taken earlier."""
        if seconds <= 0:
            self.add(key)
            return
        due = self._clock.monotonic() + seconds
        if self._due_times.get(key, due) < due:
            return
        self._due_times[key] = due
        self._order += 1
        heapq.heappush(self._heap, (due, self._order, key))
        self._drop_outdated()
        self._earlier.set()
        self._wake()

    def retry(self, key: K) -> float:
        """Queue a failed key again after its back-off. Returns this delay in seconds."""
        self.retried_count += 1
        self._failures[key] = self._failures.get(key, 0) + 1
        delay = self._backoff.delay(self._failures[key])
        if delay <= PATIENCE:
            self._retrying.add(key)
        self.add_after(key, delay)
        return delay

    def forget(self, key: K) -> None:
        """Reset the back-off of a key after a success."""
        self._failures.pop(key, None)

    async def get(self) -> K:
        """Wait for a key and own it until `done`."""
        return self._own(await self._ready.get())

    def get_nowait(self) -> K | None:
        """Return own a key that waits until `done`. Returns None if none waits."""
        return None if self._ready.empty() else self._own(self._ready.get_nowait())

    def _own(self, key: K) -> K:
        now = time.perf_counter()
        if self.observe is not None:
            self.observe("queue", now - self._queued.get(key, now))
        self._queued.pop(key, None)
        self._retrying.discard(key)
        self._due_times.pop(key, None)
        self._processing[key] = now
        self.taken_count += 1
        return key

    def start(self, key: K) -> None:
        """Start the work on a taken key. Adds between `get` and now do not queue it again."""
        self._dirty.discard(key)

    def done(self, key: K) -> None:
        """End the work on a key. The key is queued again if it was added meanwhile."""
        taken = self._processing.pop(key, None)
        if self.observe is not None and taken is not None:
            self.observe("work", time.perf_counter() - taken)
        if key in self._dirty:
            self._dirty.discard(key)
            self.add(key)
        self._note_idle()

    @property
    def is_idle(self) -> bool:
        """Whether no key waits, is due, is with a worker or will be retried soon. Later adds do not
        count."""
        return not (self._queued or self._processing or self._retrying or self._is_due)

    @property
    def _is_due(self) -> bool:
        """Whether the time of a delayed key has come, and `run` has not queued it yet."""
        return bool(self._heap) and self._heap[0][0] <= self._clock.monotonic()

    async def wait_idle(self) -> None:
        """Return as soon as the queue is idle."""
        while not self.is_idle:
            self._is_idle_event.clear()
            await self._is_idle_event.wait()

    @property
    def depth(self) -> int:
        """The number of keys that wait for a worker."""
        return len(self._queued)

    def working_seconds(self) -> list[float]:
        """Return for how long each worker has had its key."""
        now = time.perf_counter()
        return [now - taken for taken in self._processing.values()]

    def __len__(self) -> int:
        return len(self._queued) + len(self._processing)

    async def run(self) -> None:
        """Queue delayed keys when they are due. Runs until cancelled."""
        while True:
            self._release_due()
            self._earlier.clear()
            if not self._heap:
                await self._earlier.wait()
                continue
            await self._until(self._heap[0][0])

    async def _until(self, due: float) -> None:
        sleep = asyncio.ensure_future(self._sleep_until(due))
        earlier = asyncio.ensure_future(self._earlier.wait())
        try:
            await asyncio.wait((sleep, earlier), return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleep.cancel()
            earlier.cancel()

    async def _sleep_until(self, due: float) -> None:
        """Sleep until a time. The duration is computed at the start of the sleep, because the clock
        can be moved before it."""
        await self._clock.sleep(due - self._clock.monotonic())

    def _release_due(self) -> None:
        now = self._clock.monotonic()
        while self._heap and self._heap[0][0] <= now:
            due, _, key = heapq.heappop(self._heap)
            if self._due_times.get(key) == due:
                del self._due_times[key]
                self._retrying.discard(key)
                self.add(key)
        self._note_idle()

    def _drop_outdated(self) -> None:
        """Remove outdated entries, so that the heap does not grow with repeated delays of keys."""
        if len(self._heap) > 2 * len(self._due_times) + 64:
            self._heap = [
                entry for entry in self._heap if self._due_times.get(entry[2]) == entry[0]
            ]
            heapq.heapify(self._heap)

    def _note_idle(self) -> None:
        if self.is_idle:
            self._is_idle_event.set()


def _no_wake() -> None:
    """Start nothing: the loops run already."""
