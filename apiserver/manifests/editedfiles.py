"""Detects changes of files while a server runs.

It reads times and sizes regularly, without system notifications. This works on every system, in
containers and on network drives.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

EVERY = 0.25
"""Seconds between two checks. A change is reported when two checks return the same result, because
an editor can write a file in parts."""

FileTimes = Mapping[Path, tuple[int, int]]
"""Time of the last change (nanoseconds) and size of each file."""


class EditedFiles:
    """The files that `list_files` returns. Another thread reads their times and sizes."""

    def __init__(self, list_files: Callable[[], Iterable[Path]]) -> None:
        self._list_files = list_files
        self.stamps = self._stat()
        """The stamps of the last reported change."""

    async def wait_for_change(self) -> FileTimes:
        """Wait for a change, and return the new stamps. Raises OSError."""
        previous = self.stamps
        while True:
            await asyncio.sleep(EVERY)
            now = await asyncio.to_thread(self._stat)
            if now == previous and now != self.stamps:
                self.stamps = now
                return now
            previous = now

    def _stat(self) -> FileTimes:
        stamps: dict[Path, tuple[int, int]] = {}
        for path in self._list_files():
            try:
                stat = path.stat()
            except FileNotFoundError:  # removed since it was listed
                continue
            stamps[path] = stat.st_mtime_ns, stat.st_size
        return stamps
