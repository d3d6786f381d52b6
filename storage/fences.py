"""Fences: what must hold when a write is committed, beside what the write itself asks for.

    with fences.behind(fence):
        task = asyncio.create_task(work())   # and every task that it begins

Whoever works only as long as a record says so may sleep for longer than the record is good for and
wake up in the middle of a write. So the record is looked at where the write is committed: under the
lock, or the condition on the newest revision, that the commit itself has. A fence goes with the
task and not with the call, for work that is done on somebody's behalf writes through many hands.
Dry runs pass.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from inkube.storage.entry import Entry


class Fence(Protocol):
    """What must hold of one key."""

    @property
    def key(self) -> str:
        """Which key is looked at."""
        ...

    def check(self, entry: Entry | None) -> None:
        """Raises what the write is refused with, given the newest state of the key. Called for
        every write behind the fence, so it must be quick."""
        ...


_fence: ContextVar[Fence | None] = ContextVar("inkube fence", default=None)

current = _fence.get
"""The fence that this task works behind; None without one."""


@contextmanager
def behind(fence: Fence) -> Iterator[None]:
    """Whatever is begun in this block writes only while the fence lets it."""
    token = _fence.set(fence)
    try:
        yield
    finally:
        _fence.reset(token)
