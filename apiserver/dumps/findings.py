"""What was not read from a dump, and why."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

REASONS = 1_000
"""The most reasons in a table. More are counted as one."""
_OTHER = "more reasons than are listed"


class DumpError(Exception):
    """A source that is no dump, or is too large. The text says what to do."""


class Unread(Exception):
    """A part of a source that cannot be read. The text is the reason, `place` the object inside the
    file."""

    def __init__(self, reason: str, place: str = "") -> None:
        super().__init__(reason)
        self.place = place


class Line(NamedTuple):
    """A reason, the number of parts that were left out for it, and the path of the first one."""

    reason: str
    parts: int
    example: str


class Findings:
    """Counts what was left out, by reason."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._examples: dict[str, str] = {}

    def add(self, reason: str, place: str, count: int = 1) -> None:
        """Count parts that are left out."""
        if reason not in self._counts and len(self._counts) >= REASONS:
            reason = _OTHER
        self._counts[reason] += count
        self._examples.setdefault(reason, place)

    def __iter__(self) -> Iterator[Line]:
        for reason, count in self._counts.most_common():
            yield Line(reason, count, self._examples[reason])

    def __len__(self) -> int:
        return len(self._counts)
