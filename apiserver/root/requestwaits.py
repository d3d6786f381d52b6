"""What each request waits for before it is looked at (`app.Parts.before_request`); most wait for
nothing.

With a seed it is the controllers, so that revisions do not depend on who is faster. Where several
servers share what is stored it is what others have written: a client that made a definition there
may come here next. With workloads a write waits for the controllers, if not for long
(`app.Parts.before_write`).
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

from inkube.apiserver.registry import keys
from inkube.controllers.core import crds
from inkube.controllers.manager import Manager
from inkube.storage import Change, StorageError, Store

CONTROLLERS_SECONDS = 2.0
CATCH_UP_SECONDS = 0.02  # how long a write waits for what writes before it set going
INSTALL_SECONDS = 1.0  # how long a request waits for definitions that another server stored
DEFINITIONS = keys.prefix("customresourcedefinitions")


async def _at_most(seconds: float, work: Awaitable[None]) -> None:
    """Wait for something, but no longer: who asks is then served all the same."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await work


def of_controllers(manager: Manager) -> Callable[[], Awaitable[bool]]:
    """Let the controllers finish. A webhook that asks while one of them waits for it is not kept
    waiting."""

    async def wait() -> bool:
        await _at_most(CONTROLLERS_SECONDS, manager.settled())
        return False  # of the store it has not asked

    return wait


def of_workloads(manager: Manager) -> Callable[[], Awaitable[None]]:
    """Let the controllers do what earlier writes gave them to do, as far as that is a matter of
    milliseconds.

    On a cluster a write waits for a disk and takes longer than they do. So who labels a pod and
    deletes the ReplicaSet that now takes it finds both gone there, and here.
    """

    async def wait() -> None:
        if manager.is_working:
            await _at_most(CATCH_UP_SECONDS, manager.worked_off())

    return wait


class OtherServers:
    """Knows the rights and serves the definitions that other servers have stored; to be closed.

    Requests that begin in one turn of the loop came before it (`http.webserver`), so what the
    first of them finds to be the newest was the newest after all of them were sent: the others need
    not ask. Alone to ask takes a shared file 5 µs, a tenth of a GET.
    """

    def __init__(self, store: Store, manager: Manager) -> None:
        self._store = store
        self._manager = manager
        self._stored = self._served = 0  # revisions of the newest definition
        self._following = store.follow(DEFINITIONS, self._hear, anew=self._miss)
        self._has_looked = False  # in this turn
        self._is_current = False  # as the first of this turn found it

    def close(self) -> None:
        """Follow no longer."""
        self._following.close()

    def _hear(self, changes: Sequence[Change]) -> None:
        for change in reversed(changes):
            if change.entry.value["status"].get("conditions"):  # others are not served yet
                self._stored = change.revision
                break

    def _miss(self) -> None:
        self._stored = self._store.revision

    async def caught_up(self) -> bool:
        """Wait until this server has what was stored; for one slow to install, not long. Whether
        its store has come to the newest."""
        is_current = self._has_looked and self._is_current
        if not is_current:
            if not self._has_looked:
                self._has_looked = True
                asyncio.get_running_loop().call_soon(self._end_turn)
            is_current = await self._look()
        if self._stored > self._served:
            stored = self._stored
            await _at_most(INSTALL_SECONDS, self._manager.done(crds.NAME, stored))
            self._served = max(self._served, stored)
        return is_current

    def _end_turn(self) -> None:
        self._has_looked = False

    async def _look(self) -> bool:
        self._is_current = False
        revision = self._store.revision
        try:
            found = await self._store.look()
        except StorageError:  # who needs the newest state is told
            return False
        self._is_current = found and revision == self._store.revision  # nothing was waited for
        return found
