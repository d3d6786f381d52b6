"""The progress of a server's start, which `/readyz` and the command line show.

`lifespan` and the functions that it calls report their steps. `server` gives access to them.
"""

import contextlib
from collections.abc import Iterator, Mapping

from inkube.apiserver.discovery import DEFINING, LOADING, Stage
from inkube.storage import Store


class Progress:
    """The progress of one start, from its first moment until `finish`."""

    def __init__(self) -> None:
        self._stage: Stage | None = Stage(LOADING, "starting")
        self._store: Store | None = None

    @property
    def stage(self) -> Stage | None:
        """The current step of the start, with its progress; None after the start."""
        read = None if self._store is None else self._store.progress
        if read is None:
            return self._stage
        return Stage(LOADING, "loading", read.revision, read.newest, f"{read.objects:,} objects")

    def failures(self, store: Store) -> Mapping[str, str]:
        """Return the health checks that fail, with the reason: of a store that cannot be read, or
        of the current step of the start."""
        if store.failure:
            return {LOADING: store.failure}
        stage = self.stage
        return {} if stage is None else {stage.check: str(stage)}

    @contextlib.contextmanager
    def report_loading(self, store: Store) -> Iterator[None]:
        """Report during the block that the store reads its data."""
        self._store = store
        try:
            yield
        finally:
            self._store = None

    def report_definitions(self, done: int, total: int) -> None:
        """Report that `done` of `total` definitions from the options are served."""
        text = f"{done} of {total}"
        self._stage = Stage(DEFINING, "importing definitions", done, total, text)

    def finish(self) -> None:
        """Report that the server is ready."""
        self._stage = None
