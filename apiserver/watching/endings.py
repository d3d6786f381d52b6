"""A watch that a Fault ends after a number of events."""

from collections.abc import Iterable, Iterator

from inkube.apiserver.faults import WatchFault


class Ending:
    """Counts the events of one watch. `how` is the end after the last one: `Cut`, `Close` or
    `Expired`."""

    def __init__(self, ending: WatchFault) -> None:
        self._left = ending.events
        self.how = ending.end
        self.bookmarks = not ending.without_bookmarks
        """Whether the watch sends bookmarks."""

    @property
    def is_due(self) -> bool:
        """Whether the last event is written."""
        return self._left == 0

    def until(self, frames: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the frames up to the last event. Each is one event, and counts when it is taken."""
        if self._left is None:
            yield from frames
            return
        for frame in frames if self._left else ():
            self._left -= 1
            yield frame
            if not self._left:
                return
