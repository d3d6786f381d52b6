"""One subscriber: the changes that it has not read yet, and their delivery.

    log or history (the backlog, once) → queue (bounded) → next_batch()
                                       → deliver(changes), while attached

A subscriber with a full queue, or in whose queue a change waits longer than history keeps it, ends
with SlowConsumer. Other subscribers are not affected. So all waiting changes of all subscribers are
also in history, and take no additional memory.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, Self

from inkube.storage.entry import Change, Changes
from inkube.storage.errors import SlowConsumer, StorageError

logger = logging.getLogger(__name__)

Deliver = Callable[[Sequence[Change]], None]
OnEnd = Callable[[StorageError], None]

# Returns changes after a revision that happened before the subscription, and whether these are all.
Backlog = Callable[[int], Awaitable[tuple[Changes, bool]]]


class Publisher(Protocol):
    """The methods of the cache that a subscription calls."""

    @property
    def revision(self) -> int:
        """The newest published revision."""
        ...

    def unsubscribe(self, subscription: "Subscription") -> None:
        """Stop publishing changes to the subscription."""
        ...


class Subscription:
    """Every change under `prefix` after a revision, in order, each one time.

    Read it with `async for` or `next_batch`, or attach a callable. Close it, or use it as a
    synchronous or asynchronous context manager.
    """

    def __init__(self, publisher: Publisher, prefix: str, after: int, limit: int) -> None:
        self.prefix = prefix
        self._publisher = publisher
        self._limit = limit
        self._delivered = after
        self._not_before = after
        self._backlog: Backlog | None = None
        self._early: Changes = []
        self._is_of_history = True
        self._queue: Changes = []
        self._batch: Changes = []
        self._deliver: Deliver | None = None
        self._on_end: OnEnd | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._is_closed = False
        self._error: StorageError | None = None

    # Called by the subscriber.

    @property
    def revision(self) -> int:
        """The revision up to which everything under the prefix was delivered: a bookmark can
        contain it."""
        return self._delivered_up_to(self._publisher.revision)

    @property
    def is_ahead(self) -> bool:
        """Whether it begins after a revision that does not exist yet."""
        return self._not_before > self._publisher.revision

    @property
    def is_closed(self) -> bool:
        """Whether no more changes are published to it, because it was closed or disconnected."""
        return self._is_closed

    async def next_batch(self) -> Changes:
        """Return all waiting changes, at least one; an empty result means that the subscription or
        store was closed.

        Raises SlowConsumer, and Compacted if the backlog was compacted before it was read.
        """
        while True:
            batch = await self.waiting()
            if batch or self._is_closed:
                return batch
            await self._wait()

    async def waiting(self, size: int = 0) -> Changes:
        """Return the waiting changes as `next_batch`, or an empty result without any. Never waits
        for a new change. With `size`, returns only the first ones, with about this number of bytes
        and at least one."""
        while True:
            batch = self._drain()
            if size:
                batch = self._part(batch, size)
            if batch:
                self._delivered = batch[-1].revision
                return batch
            if self._error is not None:
                raise self._error
            if self._is_closed or self._backlog is None:
                return []
            await self._read_backlog(self._backlog)

    def attach(self, deliver: Deliver, on_end: OnEnd | None = None) -> None:
        """Call `deliver` with each further batch when it is published, until `detach`.

        Changes that wait in memory are delivered before this returns. A backlog in the log must
        have been read with `waiting`. `deliver` must not block. If it raises, the subscription
        ends. `on_end` is called when no more changes follow, with the error that `next_batch`
        raises from then on; not if the subscription or the store is closed.
        """
        if self._backlog is not None:
            raise RuntimeError("read the waiting changes before you attach a function")
        self._deliver, self._on_end = deliver, on_end
        waiting = self._batch[::-1] + self._early + self._queue
        self._batch, self._early, self._queue = [], [], []
        if waiting:
            self._delivered = waiting[-1].revision
            self._push(deliver, waiting)

    def detach(self) -> None:
        """Stop delivering. Changes wait in the queue again."""
        self._deliver = self._on_end = None

    def close(self) -> None:
        """Close the subscription. It receives no more changes."""
        self._publisher.unsubscribe(self)
        self.end(None)

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> Change:
        if not self._batch:
            batch = await self.next_batch()
            if not batch:
                raise StopAsyncIteration
            self._batch = batch[::-1]
        change = self._batch.pop()
        self._delivered = change.revision
        return change

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.close()

    # Called by the cache.

    def start(self, early: Changes, backlog: Backlog | None) -> None:
        """Add the changes from before the subscription: from history, or a backlog in the log."""
        self._early = early
        self._backlog = backlog
        self._is_of_history = backlog is None

    def offer(self, changes: Sequence[Change]) -> None:
        """Deliver changes that were just published, or keep them for the subscriber."""
        if changes[0].revision <= self._not_before:
            changes = [change for change in changes if change.revision > self._not_before]
            if not changes:
                return
        if self._deliver is not None:
            self._delivered = changes[-1].revision
            self._push(self._deliver, changes)
            return
        if len(self._queue) + len(changes) > self._limit:
            # these changes are published, but not delivered to this subscriber
            self._fail(SlowConsumer(self._delivered_up_to(changes[0].revision - 1)))
            return
        self._queue.extend(changes)
        self._wake()

    def forget(self, revision: int) -> None:
        """History no longer contains changes up to `revision`: end the subscription if it has not
        taken them yet."""
        waiting = (self._early if self._is_of_history else ()) or self._queue
        if waiting and waiting[0].revision <= revision:
            self._fail(SlowConsumer(self._delivered_up_to(waiting[0].revision - 1)))

    def end(self, error: StorageError | None) -> None:
        """End the subscription, with an error or without one."""
        if not self._is_closed:
            self._is_closed, self._error = True, error
            self._early, self._queue, self._deliver = [], [], None
            self._wake()
            ended, self._on_end = self._on_end, None
            if ended is not None and error is not None:
                ended(error)

    # Helpers.

    def _delivered_up_to(self, published: int) -> int:
        """Return the revision up to which the subscriber has everything, after all changes up to
        `published` were offered."""
        if self._batch:
            return self._batch[-1].revision - 1
        if self._backlog is not None or self._early or self._queue or self._is_closed:
            return self._delivered
        return max(self._delivered, published)

    def _drain(self) -> Changes:
        if self._batch:
            batch, self._batch = self._batch[::-1], []
        elif self._early:
            batch, self._early = self._early, []
        elif self._backlog is None:
            batch, self._queue = self._queue, []
            self._is_of_history = True
        else:
            batch = []
        return batch

    def _part(self, batch: Changes, size: int) -> Changes:
        """Return the beginning of a batch. The rest waits again, before all later changes."""
        for number, change in enumerate(batch, 1):
            size -= len(change.entry.data)
            if size <= 0 and number < len(batch):
                self._early = batch[number:] + self._early
                return batch[:number]
        return batch

    def _push(self, deliver: Deliver, changes: Sequence[Change]) -> None:
        try:
            deliver(changes)
        except Exception as error:
            logger.exception("a subscriber of %s failed and was cut off", self.prefix)
            failure = StorageError(f"the subscriber failed: {error}")
            failure.__cause__ = error
            self._fail(failure)

    def _fail(self, error: StorageError) -> None:
        self._publisher.unsubscribe(self)
        self.end(error)

    async def _read_backlog(self, backlog: Backlog) -> None:
        try:
            self._early, is_all = await backlog(self._delivered)
        except StorageError as error:
            self._fail(error)
            raise
        if is_all:
            self._backlog = None

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
