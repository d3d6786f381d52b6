"""What reading one git repository may cost at a time: processor time, objects, bytes.

A repository is written by others, and a few objects that name each other are a tree without end.
Nobody can stop a thread from outside, so whoever reads objects in one says so, and is stopped here.
`outside.Git` and Porch's depots run every question under an allowance.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from inkube.controllers.provisioning.outside.contents import TooMuch

T = TypeVar("T")

SECONDS = 60.0  # of the thread's own work: a repository of 50,000 revisions takes some twenty
OBJECTS = 1_000_000
BYTES = 1024 * 2**20


class Exhausted(TooMuch):
    """Reading the repository costs more than it may."""

    def __init__(self) -> None:
        Exception.__init__(
            self,
            f"reading the repository takes more than {SECONDS:g} s of work, {OBJECTS} objects "
            f"or {BYTES // 2**20} MiB",
        )


@dataclass(slots=True)
class Allowance:
    """What is left of it in one thread."""

    objects: int = field(default_factory=lambda: OBJECTS)
    bytes: int = field(default_factory=lambda: BYTES)
    until: float = field(default_factory=lambda: time.thread_time() + SECONDS)

    def spend(self, size: int) -> None:
        """One more object of so many bytes. Raises Exhausted."""
        self.objects -= 1
        self.bytes -= size
        if self.objects < 0 or self.bytes < 0 or time.thread_time() > self.until:
            raise Exhausted


_CURRENT = threading.local()


def spend(size: int = 0) -> None:
    """An object was read, or something else done that may go on for long. Raises Exhausted, where
    the thread works under an allowance."""
    allowance: Allowance | None = getattr(_CURRENT, "allowance", None)
    if allowance is not None:
        allowance.spend(size)


def limited(question: Callable[[], T]) -> Callable[[], T]:
    """The same, under an allowance of its own."""

    def ask() -> T:
        _CURRENT.allowance = Allowance()
        try:
            return question()
        finally:
            _CURRENT.allowance = None

    return ask
