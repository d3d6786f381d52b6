"""A watch that a Fault ends: its events are counted, and after the last there is nothing."""

from collections.abc import Iterable, Iterator

from inkube.apiserver.faults import Watching


class Ending:
    """Counts the events of one watch; `how` it ends once the last one is told: `Cut`, `Close` or
    `Expired`."""

    def __init__(self, trouble: Watching) -> None:
        self._left = trouble.events
        self.how = trouble.end
        self.bookmarks = not trouble.without_bookmarks
        """Whether the watch says how far it is."""

    @property
    def is_due(self) -> bool:
        """Whether the last event is told."""
        return self._left == 0

    def until(self, frames: Iterable[bytes]) -> Iterator[bytes]:
        """The frames up to the last; each is one event, and counts when it is taken."""
        if self._left is None:
            yield from frames
            return
        for frame in frames if self._left else ():
            self._left -= 1
            yield frame
            if not self._left:
                return
