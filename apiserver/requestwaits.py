"""The waits of requests before they are processed (`app.Parts.before_request`); most do not wait.

With a seed, requests wait for the controllers, so that revisions do not depend on timing. If
several servers share a store, requests wait for the writes of others: a client can create a
definition on one server and use it on another. If a module asks for it, a write waits a short
time for the controllers (`app.Parts.before_write`).
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

from inkube.apiserver.registry import keys
from inkube.controllers import core
from inkube.controllers.manager import Manager
from inkube.storage import Change, StorageError, Store

CONTROLLERS_SECONDS = 2.0
CATCH_UP_SECONDS = 0.02  # longest wait of a write for the controllers
INSTALL_SECONDS = 1.0  # longest wait of a request for definitions that another server stored
ADDRESS_SECONDS = 2.0  # longest wait of a request for the addresses of services
DEFINITIONS = keys.prefix("customresourcedefinitions")


async def _with_timeout(seconds: float, work: Awaitable[None]) -> None:
    """Wait for `work` at most `seconds`. The request then continues."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await work


def of_controllers(manager: Manager) -> Callable[[], Awaitable[None]]:
    """Wait until the controllers are idle. A request of a webhook that a controller waits for does
    not wait."""

    async def wait() -> None:
        await _with_timeout(CONTROLLERS_SECONDS, manager.settled())

    return wait


def of_earlier_writes(manager: Manager) -> Callable[[], Awaitable[None]]:
    """Wait some milliseconds for the controllers to process earlier writes.

    On a cluster, a write waits for a disk, which takes longer than the controllers. A client that
    labels a pod and then deletes the ReplicaSet that adopts it therefore finds both deleted, on a
    cluster and here.
    """

    async def wait() -> None:
        if manager.is_working:
            await _with_timeout(CATCH_UP_SECONDS, manager.wait_idle())

    return wait


def of_addresses(manager: Manager) -> Callable[[], Awaitable[None]]:
    """Wait until the addresses of all stored services have IPAddress objects."""

    async def wait() -> None:
        await _with_timeout(ADDRESS_SECONDS, manager.caught_up(core.serviceips.ADDRESSES_NAME))

    return wait


class OtherServers:
    """Applies the authorization rules and serves the definitions that other servers have stored.
    The owner closes it.
    """

    def __init__(self, store: Store, manager: Manager) -> None:
        self._store = store
        self._manager = manager
        self._stored_revision = self._served_revision = 0  # revisions of the newest definition
        self._subscription = store.follow(DEFINITIONS, self._on_changes, on_relist=self._on_reset)

    def close(self) -> None:
        """Stop following the store."""
        self._subscription.close()

    def _on_changes(self, changes: Sequence[Change]) -> None:
        for change in reversed(changes):
            if change.entry.value["status"].get("conditions"):  # others are not served yet
                self._stored_revision = change.revision
                break

    def _on_reset(self) -> None:
        self._stored_revision = self._store.revision

    def caught_up(self) -> Awaitable[None] | None:
        """Return what waits until this server has read all stored changes, and at most
        INSTALL_SECONDS for the installation of definitions; None if it has."""
        if self._store.is_recent and self._stored_revision <= self._served_revision:
            return None
        return self._catch_up()

    async def _catch_up(self) -> None:
        if not self._store.is_recent:
            with contextlib.suppress(StorageError):  # code that needs the newest state raises it
                await self._store.look()
        if self._stored_revision > self._served_revision:
            target = self._stored_revision
            await _with_timeout(
                INSTALL_SECONDS, self._manager.wait_processed(core.crds.NAME, target)
            )
            self._served_revision = max(self._served_revision, target)
