"""A cache of encoded changes, for the next watcher that receives the same event.

Watchers with the same options receive a change at about the same time, so a small cache is enough.
Above the limit, the oldest change is dropped with all its results. They are computed again for a
late watcher. All streams of a server share one cache.
"""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from inkube.storage import Change

T = TypeVar("T", bytes, str)

MAX_BYTES = 8 * 2**20
"""The limit in bytes, including the memory of the cache itself."""
EACH = 256
"""Bytes of memory for the key and the entry of one result, in addition to the result."""


class _Results:
    """All results for one change, whose state has these bytes."""

    __slots__ = ("data", "forms", "weight")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.forms: dict[Hashable, Any] = {}
        self.weight = 0


class FrameCache:
    """Results by change and form, at most `limit` bytes."""

    def __init__(self, limit: int = MAX_BYTES) -> None:
        self._limit = limit
        self._results: dict[int, _Results] = {}
        """Keys: revisions. Each stands for one change, until the log loses commits."""
        self.weight = 0
        """Current bytes, with those of the cache itself."""

    def get(self, change: Change, form: Hashable, render: Callable[[Change], T]) -> T:
        """Return the result of `render` for a change. `form` is the key among results of the same
        change."""
        made = self._results.get(change.revision)
        if made is not None and made.data is not change.entry.data:
            made = self._replaced(change, made)
        found: T | None = None if made is None else made.forms.get(form)
        if found is None:
            found = render(change)
            self._keep(change, form, found)
        return found

    def _replaced(self, change: Change, results: _Results) -> _Results | None:
        """Return the results if they are of equal bytes, which were read again; else drop them, as
        they are of a lost change."""
        if results.data == change.entry.data:
            return results
        self.weight -= self._results.pop(change.revision).weight
        return None

    def _keep(self, change: Change, form: Hashable, result: bytes | str) -> None:
        made = self._results.get(change.revision)
        if made is None:
            made = self._results[change.revision] = _Results(change.entry.data)
        weight = len(result) + EACH
        made.forms[form] = result
        made.weight += weight
        self.weight += weight
        while self.weight > self._limit:
            oldest = next(iter(self._results))
            self.weight -= self._results.pop(oldest).weight
