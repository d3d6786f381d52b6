"""Hearing of changes for good: also after the store was read anew, and after a mistake.

A subscription ends where what happened cannot be told change by change: others compacted what this
process had not read. Whoever keeps something that follows from what is stored is told so, looks at
all there is, and goes on hearing.
"""

import contextlib
import logging
from collections.abc import Callable, Sequence

from inkube.storage.entry import Change
from inkube.storage.errors import Closed, StorageError
from inkube.storage.subscription import Deliver, Subscription

logger = logging.getLogger(__name__)


class Following:
    """Calls `hear` with every change under a prefix from now on, before its writer is answered.

    `anew` is called where changes were missed: once the store was read anew, and when `hear` has
    failed. Where `anew` fails, too, it is called in place of `hear` until it does not. Neither may
    block.
    """

    def __init__(
        self,
        subscribe: Callable[[str], Subscription],
        prefix: str,
        hear: Deliver,
        anew: Callable[[], None],
    ) -> None:
        self._subscribe = subscribe
        self._prefix = prefix
        self._hear = hear
        self._anew = anew
        self._missed = False
        self._subscription = self._begin()

    @property
    def over(self) -> bool:
        """Whether it hears no more: closed, or the store was."""
        return self._subscription.over

    def close(self) -> None:
        """Hear no more; may be called twice."""
        self._subscription.close()

    def _begin(self) -> Subscription:
        subscription = self._subscribe(self._prefix)
        subscription.attach(self._deliver, self._again)
        return subscription

    def _again(self, error: StorageError) -> None:
        logger.debug("what happened under %s was missed: %s", self._prefix, error)
        with contextlib.suppress(Closed):  # what is about to end need not begin again
            self._subscription = self._begin()
            self._look()

    def _deliver(self, changes: Sequence[Change]) -> None:
        if not self._missed:
            try:
                self._hear(changes)
            except Exception:
                logger.exception("who follows %s failed at a change", self._prefix)
            else:
                return
        self._look()

    def _look(self) -> None:
        self._missed = True
        try:
            self._anew()
        except Exception:
            logger.exception("who follows %s failed at all there is", self._prefix)
        else:
            self._missed = False
