"""State that is derived from stored objects and kept up to date, also after errors.

A subscription ends if changes cannot be delivered one by one, because another process compacted
changes that this process had not read. The owner of derived state is then notified, reads all
objects, and receives changes again.
"""

import contextlib
import logging
from collections.abc import Callable, Sequence

from inkube.storage.entry import Change
from inkube.storage.errors import Closed, StorageError
from inkube.storage.subscription import Deliver, Subscription

logger = logging.getLogger(__name__)


def _ignore(_: object = None) -> None:
    """Replace the functions of a closed `Following`, so that it no longer refers to their owner."""


class Following:
    """Calls `on_changes` with every new change under a prefix, before the response to its writer.

    `on_relist` is called if changes were missed: after the store was read again, and after
    `on_changes` has failed. If `on_relist` fails too, it replaces `on_changes` until it succeeds.
    Neither function may block.
    """

    def __init__(
        self,
        subscribe: Callable[[str], Subscription],
        prefix: str,
        on_changes: Deliver,
        on_relist: Callable[[], None],
    ) -> None:
        self._subscribe = subscribe
        self._prefix = prefix
        self._on_changes = on_changes
        self._on_relist = on_relist
        self._missed = False
        self._subscription = self._begin()

    @property
    def is_closed(self) -> bool:
        """Whether it receives no more changes, because it or the store was closed."""
        return self._subscription.is_closed

    def close(self) -> None:
        """Stop receiving changes. Can be called twice."""
        self._subscription.close()
        self._on_changes = self._on_relist = _ignore

    def _begin(self) -> Subscription:
        subscription = self._subscribe(self._prefix)
        subscription.attach(self._deliver, self._resubscribe)
        return subscription

    def _resubscribe(self, error: StorageError) -> None:
        logger.debug("changes under %s were missed: %s", self._prefix, error)
        with contextlib.suppress(Closed):  # a store that is being closed needs no new subscription
            self._subscription = self._begin()
            self._look()

    def _deliver(self, changes: Sequence[Change]) -> None:
        if not self._missed:
            try:
                self._on_changes(changes)
            except Exception:
                logger.exception("a follower of %s failed to process changes", self._prefix)
            else:
                return
        self._look()

    def _look(self) -> None:
        self._missed = True
        try:
            self._on_relist()
        except Exception:
            logger.exception("a follower of %s failed to process its relist", self._prefix)
        else:
            self._missed = False
