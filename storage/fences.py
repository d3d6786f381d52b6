"""Fences: conditions of a commit in addition to the preconditions of the write itself.

    with fences.behind(fence):
        task = asyncio.create_task(work())   # and every task that it begins

A process that may write only while it holds a Lease can be suspended until the Lease has expired,
and resume in the middle of a write. So the Lease is checked at the commit: under the write lock, or
together with the commit's condition on the newest revision. A fence belongs to the task, not to a
call, because the work of a controller passes through many functions until it writes. Dry runs
ignore fences.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from inkube.storage.entry import Entry


class Fence(Protocol):
    """A condition on the stored state of one key."""

    @property
    def key(self) -> str:
        """The key whose state the fence checks."""
        ...

    def check(self, entry: Entry | None) -> None:
        """Check the newest state of the key. Raises the error with which the write is rejected.
        Called for every write behind the fence, so it must be fast."""
        ...


_fence: ContextVar[Fence | None] = ContextVar("inkube fence", default=None)

current = _fence.get
"""The fence of the current task, or None."""


@contextmanager
def behind(fence: Fence) -> Iterator[None]:
    """Tasks and calls that start in this block can write only while the condition of the fence
    holds."""
    token = _fence.set(fence)
    try:
        yield
    finally:
        _fence.reset(token)
