"""A watch that a Fault ends: its events are counted, and after the last there are none."""

from collections.abc import Callable, Iterable

from inkube.apiserver.faults.trouble import Watching
from inkube.apiserver.http.negotiation import Form
from inkube.apiserver.registry.stamps import Stamps
from inkube.apiserver.watching.framecache import FrameCache
from inkube.apiserver.watching.frames import Framer, SharedFrames, Wire
from inkube.apiserver.watching.watch import Watcher
from inkube.storage.entry import Change, Entry


class Ending(Framer):
    """A framer that tells so many events; `ending` says how to go on once it has told the last."""

    def __init__(
        self,
        watcher: Watcher,
        form: Form,
        stamps: Stamps,
        cache: FrameCache,
        trouble: Watching,
        *,
        wire: Wire,
    ) -> None:
        super().__init__(watcher, form, stamps, cache, wire=wire)
        self._left = trouble.events
        self._end = trouble.end
        self.bookmarks = not trouble.without_bookmarks
        if trouble.events == 0:
            self.ending = trouble.end

    def changes(self, changes: Iterable[Change]) -> bytes:
        """See Framer."""
        return self._until_the_end(changes, self._told)

    def burst(self, changes: list[Change], told: SharedFrames) -> bytes:
        """See Framer; nobody else's bytes end where these do."""
        return self._until_the_end(changes, self._on_wire)

    def added(self, entries: Iterable[Entry]) -> Iterable[bytes]:
        """See Framer."""
        for frame in super().added(entries):
            if self.ending:
                return
            yield frame
            self._count()

    def _until_the_end(
        self, changes: Iterable[Change], frame_of: Callable[[Change], bytes]
    ) -> bytes:
        frames = []
        for change in changes:
            if self.ending:
                break
            frame = frame_of(change)
            if frame:
                frames.append(frame)
                self._count()
        return b"".join(frames)

    def _count(self) -> None:
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                self.ending = self._end
