"""The clients of tests: the same calls, blocking or awaited, both in process and without HTTP.

A resource is `v1/configmaps`, `apps/v1/deployments`, or a kind declared in Python. Objects are
plain dicts, or objects of kinds declared in Python; one without a namespace goes to `default`.
Every call raises `schemas.status.StatusError` where HTTP would answer a Status.
"""

import functools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar

from inkube.apiserver.root import InProcessClient, manifests
from inkube.apiserver.testing.thread import LoopThread
from inkube.controllers.client import Event, Object, PatchType, Selection
from inkube.schemas import models
from inkube.schemas.meta import GVR

Kind = GVR | str | type[models.Resource]
Body = Mapping[str, Any] | models.Resource
NAMESPACE = "default"
P = ParamSpec("P")
T = TypeVar("T")


class Calls:
    """What both clients can do, written once: coroutines for the server's own loop.

    `home` is the namespace of all that name none; "" stands for `default`, and for lists of all.
    """

    def __init__(self, client: InProcessClient, home: str = "") -> None:
        self._client = client
        self._home = home

    async def get(
        self, resource: Kind, name: str, namespace: str = "", *, subresource: str = ""
    ) -> Object:
        """The object as it is now; with `subresource="scale"`, its autoscaling/v1 Scale."""
        where = self._place(namespace)
        return await self._client.get(_gvr(resource), name, where, subresource=subresource)

    async def list(
        self, resource: Kind, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> list[Object]:
        """All objects, or those of a namespace."""
        where = namespace or self._home
        selection = Selection(namespace=where, labels=labels, fields=fields)
        return (await self._client.list(_gvr(resource), selection)).items

    async def create(self, body: Body, *, dry_run: bool = False) -> Object:
        """Create it."""
        return await self._client.create(self._plain(body), dry_run=dry_run)

    async def update(self, body: Body, *, subresource: str = "", dry_run: bool = False) -> Object:
        """Replace it, or its status."""
        plain = self._plain(body)
        return await self._client.update(plain, subresource=subresource, dry_run=dry_run)

    async def patch(
        self,
        resource: Kind,
        name: str,
        namespace: str = "",
        *,
        patch: Any,
        type: PatchType = "merge",
        subresource: str = "",
    ) -> Object:
        """Change it in place; with `subresource="scale"`, its autoscaling/v1 Scale.

        `patch` is the members to change (`type` "merge", a null removes one; "strategic"), a list
        of operations ("json"), or the whole intent ("apply").
        """
        where = self._place(namespace)
        return await self._client.patch(
            _gvr(resource), name, where, patch=patch, type=type, subresource=subresource
        )

    async def delete(self, resource: Kind, name: str, namespace: str = "") -> Object:
        """Delete it."""
        return await self._client.delete(_gvr(resource), name, self._place(namespace))

    def watch(
        self, resource: Kind, namespace: str = "", *, resource_version: str = ""
    ) -> AsyncGenerator[Event, None]:
        """Every change after `resource_version`, bookmarks included."""
        selection = Selection(namespace=namespace or self._home)
        return self._client.watch(_gvr(resource), selection, resource_version=resource_version)

    def _place(self, namespace: str) -> str:
        return namespace or self._home or NAMESPACE

    def _plain(self, body: Body) -> Object:
        if isinstance(body, models.Resource):
            gvk = type(body).gvk
            obj = {"apiVersion": gvk.api_version, "kind": gvk.kind, **models.dump(body)}
        else:
            obj = dict(body)
        return manifests.placed(self._client, obj, self._place(""))


class Face:
    """A client's calls seen from outside the server's thread; `last` is what was last read."""

    def __init__(self, client: InProcessClient, thread: LoopThread, home: str = "") -> None:
        self.calls = Calls(client, home)
        self.thread = thread
        self.last: Any = None


def _blocking(
    call: Callable[Concatenate[Calls, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Face, P], T]:
    """The call as a method that returns when the server's loop has done it."""

    @functools.wraps(call)
    def method(face: Face, /, *args: P.args, **options: P.kwargs) -> T:
        __tracebackhide__ = True
        found = face.thread.run(call(face.calls, *args, **options))
        face.last = found
        return found

    return method


def _awaiting(
    call: Callable[Concatenate[Calls, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Face, P], Coroutine[Any, Any, T]]:
    """The call as a method to be awaited in another loop."""

    @functools.wraps(call)
    async def method(face: Face, /, *args: P.args, **options: P.kwargs) -> T:
        __tracebackhide__ = True
        found = await face.thread.wait(call(face.calls, *args, **options))
        face.last = found
        return found

    return method


class BlockingClient(Face):
    """For tests of any colour: the server works in its own thread meanwhile."""

    get = _blocking(Calls.get)
    list = _blocking(Calls.list)
    create = _blocking(Calls.create)
    update = _blocking(Calls.update)
    patch = _blocking(Calls.patch)
    delete = _blocking(Calls.delete)


class AsyncClient(Face):
    """For coroutines on another event loop: a call blocks only its own coroutine."""

    get = _awaiting(Calls.get)
    list = _awaiting(Calls.list)
    create = _awaiting(Calls.create)
    update = _awaiting(Calls.update)
    patch = _awaiting(Calls.patch)
    delete = _awaiting(Calls.delete)

    async def watch(
        self, resource: Kind, namespace: str = "", *, resource_version: str = ""
    ) -> AsyncIterator[Event]:
        """Every change after `resource_version`, bookmarks included."""
        events = self.calls.watch(resource, namespace, resource_version=resource_version)
        try:
            while (event := await self.thread.wait(_next(events))) is not None:
                yield event
        finally:
            await self.thread.wait(events.aclose())


async def _next(events: AsyncIterator[Event]) -> Event | None:
    return await anext(events, None)


def _gvr(resource: Kind) -> GVR:
    if isinstance(resource, GVR):
        return resource
    return GVR.parse(resource) if isinstance(resource, str) else resource.gvr
