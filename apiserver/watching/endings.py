"""A watch that a Fault ends after a number of events."""

from collections.abc import Iterable, Iterator

from inkube.apiserver.faults import WatchFault


class WatchEnd:
    """Counts the events of one watch. `end_type` is the end after the last one: `Cut`, `Close` or
    `Expired`."""

    def __init__(self, fault: WatchFault) -> None:
        self._remaining_events = fault.events
        self.end_type = fault.end
        self.bookmarks = not fault.without_bookmarks
        """Whether the watch sends bookmarks."""

    @property
    def is_due(self) -> bool:
        """Whether the last event is written."""
        return self._remaining_events == 0

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
