"""A batch that the writer has accepted, and that is neither committed nor rejected yet.

The next writer of the same key can continue from its result without waiting for the disk
(`Update.after`); both then share a commit. No other code sees the result: a pending batch is in no
cache.
"""

import asyncio
from collections.abc import Callable, Generator, Sequence
from typing import Any, Self

from inkube.storage.entry import Entries, Entry, TransientEntry, Value
from inkube.storage.fences import Fence
from inkube.storage.writes import Write

Batch = Sequence[Write]
"""Writes that are committed together or not at all, at most one for each key."""


Consent = Callable[[], bool]
"""Is called directly before a commit begins, and returns whether it can begin."""


class PendingBatch:
    """An awaitable that returns the entries of the batch.

    Raises the exceptions of `Writer.submit`. If the caller is cancelled before the commit, the
    batch is withdrawn.
    """

    __slots__ = ("__weakref__", "batch", "consent", "fence", "future", "revision")

    def __init__(
        self,
        batch: Batch,
        fence: Fence | None,
        future: "asyncio.Future[Entries]",
        consent: Consent | None = None,
    ) -> None:
        self.batch = batch
        self.fence = fence
        """A condition of the commit in addition to the preconditions of the writes."""
        self.future = future
        self.consent = consent
        self.revision = 0
        """The revision of the last write of the batch, during or after the commit; 0 if it is not
        stored."""

    def __await__(self) -> Generator[Any, None, Entries]:
        return self.future.__await__()

    def begin(self) -> bool:
        """Return whether the commit can begin. The batch is withdrawn if its caller was cancelled,
        or does not consent any more."""
        if self.future.done():
            return False
        if self.consent is None or self.consent():
            return True
        self.future.cancel()
        return False

    @property
    def settled(self) -> bool:
        """Whether the batch is committed, rejected or withdrawn."""
        return self.future.done()

    def forget(self) -> None:
        """Release the batch, and with it the batches that it follows. Otherwise a client that
        writes without a pause would keep all of them in memory."""
        self.batch = ()
        self.consent = None

    async def outcome(self) -> Entries | None:
        """Return the created entries, for a caller other than the one that submitted the batch;
        None if it was rejected, failed or was withdrawn."""
        await asyncio.wait([self.future])  # cancelling this caller does not withdraw the batch
        if self.future.cancelled() or self.future.exception() is not None:
            return None
        return self.future.result()


class Uncommitted(TransientEntry):
    """The result of a pending write, with the revision of the state before."""

    _after: PendingBatch

    def __new__(cls, before: Entry, data: bytes, value: Value, after: PendingBatch) -> Self:
        """`value` is the decoded `data`."""
        entry = super().__new__(cls, before, data, value)
        entry._after = after
        return entry

    @property
    def after(self) -> PendingBatch:
        """The write that stores this state."""
        return self._after
