"""What was made of changes lately, kept for the next watcher who is told the same.

Watchers of the same sort are told a change at about the same time, so little is enough: beyond the
bound the oldest change is forgotten with all that was made of it, and is worked out again for a
watcher who comes late. One for all streams of a server.
"""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from inkube.storage import Change

T = TypeVar("T", bytes, str)

MOST = 8 * 2**20
"""Bytes that are kept, together with what keeps them."""
EACH = 256
"""Bytes of memory that one result takes beside its own: a key and its place."""


class _Made:
    """All that was made of one change."""

    __slots__ = ("forms", "weight")

    def __init__(self) -> None:
        self.forms: dict[Hashable, Any] = {}
        self.weight = 0


class FrameCache:
    """Results by change and form, of `most` bytes at most."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._made: dict[int, _Made] = {}
        """By revision, which no two changes share."""
        self.weight = 0
        """Bytes that are kept now."""

    def get(self, change: Change, form: Hashable, make: Callable[[Change], T]) -> T:
        """What `make` makes of a change; `form` tells apart what is made of the same change."""
        made = self._made.get(change.revision)
        found: T | None = None if made is None else made.forms.get(form)
        if found is None:
            found = make(change)
            self._keep(change.revision, form, found)
        return found

    def _keep(self, revision: int, form: Hashable, result: bytes | str) -> None:
        made = self._made.get(revision)
        if made is None:
            made = self._made[revision] = _Made()
        weight = len(result) + EACH
        made.forms[form] = result
        made.weight += weight
        self.weight += weight
        while self.weight > self._most:
            oldest = next(iter(self._made))
            self.weight -= self._made.pop(oldest).weight
