"""What each request waits for before it is looked at (`app.Parts.calm`); most servers: nothing.

With a seed it is the controllers, so that revisions do not depend on who is faster. Where several
servers share what is stored it is what others have written: a client that made a definition there
may come here next.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

from inkube.apiserver.registry import keys
from inkube.controllers.core import crds
from inkube.controllers.manager import Manager
from inkube.storage.entry import Change
from inkube.storage.errors import StorageError
from inkube.storage.store import Store

CALM_SECONDS = 2.0
INSTALL_SECONDS = 1.0  # how long a request waits for definitions that another server stored
DEFINITIONS = keys.prefix("customresourcedefinitions")


def of_controllers(manager: Manager) -> Callable[[], Awaitable[None]]:
    """Let the controllers finish. A webhook that asks while one of them waits for it is not kept
    waiting."""

    async def wait() -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CALM_SECONDS):
                await manager.settled()

    return wait


class OtherServers:
    """Knows the rights and serves the definitions that other servers have stored; to be closed."""

    def __init__(self, store: Store, manager: Manager) -> None:
        self._store = store
        self._manager = manager
        self._stored = self._served = 0  # revisions of the newest definition
        self._following = store.follow(DEFINITIONS, self._hear, anew=self._miss)

    def close(self) -> None:
        """Follow no longer."""
        self._following.close()

    def _hear(self, changes: Sequence[Change]) -> None:
        self._stored = changes[-1].revision

    def _miss(self) -> None:
        self._stored = self._store.revision

    async def caught_up(self) -> None:
        """Wait until this server has what was stored; for one slow to install, not long."""
        with contextlib.suppress(StorageError):  # who needs the newest state is told
            await self._store.look()
        if self._stored > self._served:
            stored = self._stored
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(INSTALL_SECONDS):
                    await self._manager.done(crds.NAME, stored)
            self._served = max(self._served, stored)
