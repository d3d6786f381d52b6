"""Limits for one read of a git repository: processor time, objects, bytes.

Repositories are untrusted, and a few objects that refer to each other can form an unlimited tree. A
thread cannot be stopped from outside, so code that reads objects in a thread calls `spend`, which
raises Exhausted above a limit. `outside.Git` and the depots of Porch run every operation under an
allowance.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from inkube.controllers.provisioning.outside.contents import TooMuch

T = TypeVar("T")

SECONDS = 60.0  # processor time of the thread; 50,000 revisions need about 20
OBJECTS = 1_000_000
BYTES = 1024 * 2**20


class Exhausted(TooMuch):
    """A read of the repository exceeds its limits."""

    def __init__(self) -> None:
        Exception.__init__(
            self,
            f"reading the repository takes more than {SECONDS:g} s of work, {OBJECTS} objects "
            f"or {BYTES // 2**20} MiB",
        )


@dataclass(slots=True)
class Allowance:
    """The remaining limits of one thread."""

    objects: int = field(default_factory=lambda: OBJECTS)
    bytes: int = field(default_factory=lambda: BYTES)
    until: float = field(default_factory=lambda: time.thread_time() + SECONDS)

    def spend(self, size: int) -> None:
        """Count one more object of `size` bytes. Raises Exhausted."""
        self.objects -= 1
        self.bytes -= size
        if self.objects < 0 or self.bytes < 0 or time.thread_time() > self.until:
            raise Exhausted


_CURRENT = threading.local()


def spend(size: int = 0) -> None:
    """Count an object that was read, or a step of an operation that can take long. Raises Exhausted
    if the thread runs under an exceeded allowance."""
    allowance: Allowance | None = getattr(_CURRENT, "allowance", None)
    if allowance is not None:
        allowance.spend(size)


def limited(function: Callable[[], T]) -> Callable[[], T]:
    """Return the same function, under a separate allowance."""

    def limited() -> T:
        _CURRENT.allowance = Allowance()
        try:
            return function()
        finally:
            _CURRENT.allowance = None

    return limited
