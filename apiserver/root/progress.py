"""How far the start of a server is: what `/readyz` and the command line tell until it is over.

`lifespan` and what it calls say what they are busy with; `server` hands it to who waits.
"""

import contextlib
from collections.abc import Iterator

from inkube.apiserver.discovery import IMPORTING, LOADING, Stage
from inkube.storage import Store


class Progress:
    """The progress of one start, from its first moment until `finish`."""

    def __init__(self) -> None:
        self._stage: Stage | None = Stage(LOADING, "starting")
        self._store: Store | None = None

    @property
    def stage(self) -> Stage | None:
        """What the start is busy with, and how far that is; None once it is over."""
        read = None if self._store is None else self._store.progress
        if read is None:
            return self._stage
        return Stage(LOADING, "loading", read.revision, read.newest, f"{read.objects:,} objects")

    @contextlib.contextmanager
    def reading(self, store: Store) -> Iterator[None]:
        """While the block lasts, the store reads what is there."""
        self._store = store
        try:
            yield
        finally:
            self._store = None

    def importing(self, done: int, total: int) -> None:
        """So many of the definitions that the options name are served."""
        told = f"{done} of {total}"
        self._stage = Stage(IMPORTING, "importing definitions", done, total, told)

    def finish(self) -> None:
        """The server is ready."""
        self._stage = None
