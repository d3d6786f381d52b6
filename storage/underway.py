"""A batch on its way: asked of the writer, and neither committed nor refused yet.

Who writes the same key next may go on from it without waiting for the disk (`Update.after`): both
then share a commit. Nobody else sees it: what is underway is in no cache.
"""

import asyncio
from collections.abc import Generator, Sequence
from typing import Any, Self

from inkube.storage.entry import Entries, Entry, ShownEntry, Value
from inkube.storage.fences import Fence
from inkube.storage.writes import Write

Batch = Sequence[Write]
"""Writes that are committed all together or not at all, one per key."""


class Underway:
    """To be awaited by who asked for it: the entries it made. Raises what `Writer.submit` names.

    Who asked and goes away before its group is committed takes it back.
    """

    __slots__ = ("__weakref__", "answer", "batch", "fence", "revision")

    def __init__(
        self, batch: Batch, fence: Fence | None, answer: "asyncio.Future[Entries]"
    ) -> None:
        self.batch = batch
        self.fence = fence
        """What must hold at the commit, beside what the writes ask for."""
        self.answer = answer
        self.revision = 0
        """Of its last write in the group at hand, or where it is stored; 0: it is not."""

    def __await__(self) -> Generator[Any, None, Entries]:
        return self.answer.__await__()

    @property
    def settled(self) -> bool:
        """Whether it is decided what became of it."""
        return self.answer.done()

    def forget(self) -> None:
        """Let go of what was to be written, and with it of the writes that it came after: who
        writes without a pause would keep all there ever were."""
        self.batch = ()

    async def outcome(self) -> Entries | None:
        """The entries it made, for somebody else who waits for them; None where it was refused,
        failed or was taken back."""
        await asyncio.wait([self.answer])  # who is cancelled here takes nothing back
        if self.answer.cancelled() or self.answer.exception() is not None:
            return None
        return self.answer.result()


class Uncommitted(ShownEntry):
    """The state that a write underway makes, with the revision of the state before."""

    _after: Underway

    def __new__(cls, before: Entry, data: bytes, value: Value, after: Underway) -> Self:
        """`value` is what `data` stands for."""
        made = super().__new__(cls, before, data, value)
        made._after = after
        return made

    @property
    def after(self) -> Underway:
        """See Entry."""
        return self._after
