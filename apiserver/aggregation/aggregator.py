"""APIServices become delegates: the table follows every write to an APIService at once.

The controller (`controllers.core.apiservices`) decides whether another server is available, and
calls this module to check it. Follows kube-aggregator/pkg/apiserver/apiserver.go.
"""

import asyncio
import contextlib
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from aiohttp import web

from inkube.apiserver.aggregation.delegates import Local, Remote
from inkube.apiserver.aggregation.upstreams import Upstream
from inkube.apiserver.auth import Identity
from inkube.apiserver.http import sites
from inkube.apiserver.registry import Resources, keys
from inkube.apiserver.serviceaddresses import ServiceAddresses
from inkube.schemas.aggregation import MANAGED, Registration
from inkube.storage import Change, Following, Store

PREFIX = keys.prefix("apiservices")
STOP_SECONDS = 1.5


class Aggregator:
    """Maintains `resources.delegates`.

    `publish` stores the certificate authority that other servers must trust.
    """

    def __init__(
        self,
        store: Store,
        services: ServiceAddresses,
        resources: Resources,
        identity: Callable[[], Identity],
        publish: Callable[[], Awaitable[None]],
    ) -> None:
        self._store = store
        self._services = services
        self._resources = resources
        self._identity = identity
        self._publish = publish
        self._listeners: list[Callable[[str], None]] = []
        self._delegates: dict[str, Local | Remote] = {}
        self._subscription: Following | None = None
        self._stack = contextlib.AsyncExitStack()
        self._sockets: dict[str, str] = {}
        self._closing_tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Start to follow APIServices. Requests are forwarded after this returns."""
        self._subscription = self._store.follow(PREFIX, self._deliver, on_relist=self._read)
        self._read()

    async def close(self) -> None:
        """Close every connection, and stop the applications served in this process."""
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None
        for delegate in self._delegates.values():
            self._retire(delegate)
        self._delegates = {}
        await asyncio.gather(*self._closing_tasks)
        await self._stack.aclose()

    async def check(self, name: str) -> str:
        delegate = self._delegates.get(name)
        if not isinstance(delegate, Remote):
            return ""
        await self._publish()
        return await delegate.check()

    async def refresh(self, name: str) -> bool:
        delegate = self._delegates.get(name)
        if isinstance(delegate, Remote) and await delegate.refresh():
            self._on_changed()
        return not isinstance(delegate, Remote) or delegate.is_current

    def report_unreachable(self, name: str) -> None:
        delegate = self._delegates.get(name)
        if isinstance(delegate, Remote) and delegate.is_stale():
            self._on_changed()

    def on_trouble(self, listener: Callable[[str], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _trouble(self, name: str) -> None:
        for listener in tuple(self._listeners):
            listener(name)

    def _read(self) -> None:
        """Create a delegate for each APIService, and remove the others."""
        living = [entry.value for entry in self._store.list(PREFIX)]
        for name in self._delegates.keys() - {obj["metadata"]["name"] for obj in living}:
            self._drop(name)
        for obj in living:
            self._put(obj)
        self._on_changed()

    def _deliver(self, changes: Sequence[Change]) -> None:
        for change in changes:
            obj = change.entry.value
            if change.type == "DELETED":
                self._drop(obj["metadata"]["name"])
            else:
                self._put(obj)
        self._on_changed()

    def _drop(self, name: str) -> None:
        gone = self._delegates.pop(name, None)
        if gone is not None:
            self._retire(gone)

    def _put(self, obj: dict[str, Any]) -> None:
        registration = Registration.of(obj)
        name, old = registration.name, self._delegates.get(registration.name)
        path = "" if registration.is_remote else self._sockets.get(name, "")
        if not registration.is_remote and not path:
            if old is not None:
                self._retire(old)
            managed = MANAGED in (obj["metadata"].get("labels") or {})
            if managed or not registration.group:
                self._delegates.pop(name, None)
            else:
                self._delegates[name] = Local(registration)
            return
        if isinstance(old, Remote) and _is_unchanged(old.registration, registration):
            old.registration = registration
            return
        if old is not None:
            self._retire(old)
        upstream = Upstream(registration, self._services, self._identity, path)
        trouble = partial(self._trouble, name)
        self._delegates[name] = Remote(registration, upstream, trouble, is_local=bool(path))

    def _on_changed(self) -> None:
        self._resources.delegate(
            {
                (one.registration.group, one.registration.version): one
                for one in self._delegates.values()
            }
        )

    def _retire(self, delegate: Local | Remote) -> None:
        if isinstance(delegate, Remote):
            task = asyncio.ensure_future(delegate.upstream.close())
            self._closing_tasks.add(task)
            task.add_done_callback(self._closing_tasks.discard)

    async def serve(self, handlers: Mapping[str, Any]) -> None:
        """Serve these APIServices with the handlers, before `start`. Raises OSError.

        Each has a Unix socket that only this user can reach.
        """
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="inkube-"))
        made: dict[int, str] = {}
        for number, (name, handler) in enumerate(handlers.items()):
            if id(handler) not in made:  # one handler can serve several versions
                path = str(Path(folder, str(number)))
                runner = _runner(handler)
                await runner.setup()
                self._stack.push_async_callback(runner.cleanup)
                await sites.Site(runner, sites.listen_locally(path)).start()
                made[id(handler)] = path
            self._sockets[name] = made[id(handler)]


def _is_unchanged(left: Registration, right: Registration) -> bool:
    """Return whether both refer to the same server in the same way."""
    return left._replace(available=True) == right._replace(available=True)


def _runner(handler: Any) -> web.BaseRunner:
    """Return a runner for an aiohttp application, or for a coroutine function with aiohttp's
    requests.

    A watch ends with its reader, so that the server can stop.
    """
    if isinstance(handler, web.Application):
        return web.AppRunner(
            handler, access_log=None, handler_cancellation=True, shutdown_timeout=STOP_SECONDS
        )
    server = web.Server(handler, access_log=None, handler_cancellation=True)
    return web.ServerRunner(server, shutdown_timeout=STOP_SECONDS)
