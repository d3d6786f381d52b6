"""What a Fault does to one watch: it ends it, keeps it silent, or merges its changes."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence

from inkube.apiserver.faults import WatchFault
from inkube.storage import Change


class WatchEnd:
    """Counts the events of one watch. `end_type` is the end after the last one: `Cut`, `Close`,
    `Expired` or `Silent`."""

    def __init__(self, fault: WatchFault) -> None:
        self._remaining_events = fault.events
        self.end_type = fault.end
        self._bookmarks = not fault.without_bookmarks
        self.merge_seconds = fault.merge_seconds

    @property
    def is_due(self) -> bool:
        """Whether the last event is written."""
        return self._remaining_events == 0

    @property
    def bookmarks(self) -> bool:
        """Whether the watch sends bookmarks now."""
        return self._bookmarks and not self.is_due

    def until(self, frames: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the frames up to the last event. Each is one event, and counts when it is taken."""
        if self._remaining_events is None:
            yield from frames
            return
        for frame in frames if self._remaining_events else ():
            self._remaining_events -= 1
            yield frame
            if not self._remaining_events:
                return


class Merging:
    """Collects the changes of a watch for some seconds, and then writes one for each object."""

    def __init__(self, seconds: float, write: Callable[[Sequence[Change]], None]) -> None:
        self._seconds = seconds
        self._write = write
        self._pending: dict[str, tuple[Change, Change]] = {}
        """Key → the first and the last change of the object."""
        self._timer: asyncio.TimerHandle | None = None

    def add(self, changes: Iterable[Change]) -> None:
        """Collect changes. They are written `seconds` after the first of them."""
        for change in changes:
            first, _ = self._pending.pop(change.entry.key, (change, change))
            self._pending[change.entry.key] = first, change
        if self._pending and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._seconds, self.flush)

    def flush(self) -> None:
        """Write what is collected."""
        pending, self._pending = self._pending, {}
        self.close()
        merged = [change for pair in pending.values() if (change := _merged(*pair)) is not None]
        if merged:
            self._write(merged)

    def close(self) -> None:
        """Write nothing more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _merged(first: Change, last: Change) -> Change | None:
    """Return one change from before the first to after the last; None if there was nothing before
    and is nothing after."""
    if last.type == "DELETED":
        return None if first.previous is None else last
    return Change("ADDED" if first.previous is None else "MODIFIED", last.entry, first.previous)
