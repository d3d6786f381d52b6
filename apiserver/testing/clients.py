"""The clients of tests: the methods of `server.client`, blocking or awaited, without HTTP.

`controllers.client.Client` describes the methods. A resource is `v1/configmaps`,
`apps/v1/deployments`, or a kind declared in Python. Objects are plain dicts, or objects of kinds
declared in Python. Every call raises `schemas.status.StatusError` where an HTTP response would
contain a Status.
"""

import functools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar

from inkube.apiserver.client import InProcessClient
from inkube.apiserver.testing import arguments
from inkube.apiserver.testing.thread import LoopThread
from inkube.controllers.client import Client, Event, Kind, Selection, selection_of

P = ParamSpec("P")
T = TypeVar("T")
__tracebackhide__ = True  # pytest shows the call in the test, not the frames of this module


class Face:
    """The common part of both clients: calls from outside the server's thread.

    `last` is the result of the latest call. `default_namespace` is the namespace of all calls
    without one, lists included. If `default_namespace` is "", such calls use `default`, and lists
    use all namespaces.
    """

    def __init__(
        self, client: InProcessClient, thread: LoopThread, default_namespace: str = ""
    ) -> None:
        self.calls = client.in_namespace(default_namespace) if default_namespace else client
        self.thread = thread
        self.last: Any = None


def _blocking_method(
    call: Callable[Concatenate[InProcessClient, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Face, P], T]:
    """Return the call as a method that blocks until the server's loop has finished it."""

    @_copy_docstring(call.__name__)
    @functools.wraps(call)
    def method(face: Face, /, *args: P.args, **options: P.kwargs) -> T:
        try:
            work = call(face.calls, *args, **options)
        except TypeError:
            raise _wrong_arguments(call, args, options) from None
        found = face.thread.run(work)
        face.last = found
        return found

    return method


def _async_method(
    call: Callable[Concatenate[InProcessClient, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Face, P], Coroutine[Any, Any, T]]:
    """Return the call as a method that can be awaited in another event loop."""

    @_copy_docstring(call.__name__)
    @functools.wraps(call)
    async def method(face: Face, /, *args: P.args, **options: P.kwargs) -> T:
        try:
            work = call(face.calls, *args, **options)
        except TypeError:
            raise _wrong_arguments(call, args, options) from None
        found = await face.thread.wait(work)
        face.last = found
        return found

    return method


def _wrong_arguments(
    call: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]
) -> TypeError:
    """Return the error of a call whose arguments a method does not take."""
    why = arguments.problem(call, (None, *args), options)
    return TypeError(f"{arguments.written(f'client.{call.__name__}', args, options)}: {why}")


def _copy_docstring(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that gives a method the docstring of `Client`."""

    def document(method: Callable[P, T]) -> Callable[P, T]:
        method.__doc__ = getattr(Client, name).__doc__
        return method

    return document


class BlockingClient(Face):
    """A client for tests that are not coroutines: a call blocks, and the server works in its own
    thread."""

    get = _blocking_method(InProcessClient.get)
    list = _blocking_method(InProcessClient.list)
    revision = _blocking_method(InProcessClient.revision)
    create = _blocking_method(InProcessClient.create)
    update = _blocking_method(InProcessClient.update)
    patch = _blocking_method(InProcessClient.patch)
    delete = _blocking_method(InProcessClient.delete)

    @_copy_docstring("watch")
    def watch(
        self,
        resource: Kind,
        namespace: str | Selection = "",
        *,
        labels: str = "",
        fields: str = "",
        resource_version: str = "",
    ) -> Generator[Event, None, None]:
        """Watch objects, and block until the next event. `Client.watch` describes the arguments."""
        selection = selection_of(namespace, labels, fields)
        events = self.thread.run(_watch(self.calls, resource, selection, resource_version))
        try:
            while (event := self.thread.run(_next(events))) is not None:
                yield event
        finally:
            self.thread.run(events.aclose())


class AsyncClient(Face):
    """A client for coroutines on another event loop: a call blocks only its own coroutine."""

    get = _async_method(InProcessClient.get)
    list = _async_method(InProcessClient.list)
    revision = _async_method(InProcessClient.revision)
    create = _async_method(InProcessClient.create)
    update = _async_method(InProcessClient.update)
    patch = _async_method(InProcessClient.patch)
    delete = _async_method(InProcessClient.delete)

    @_copy_docstring("watch")
    async def watch(
        self,
        resource: Kind,
        namespace: str | Selection = "",
        *,
        labels: str = "",
        fields: str = "",
        resource_version: str = "",
    ) -> AsyncGenerator[Event, None]:
        """Watch objects from another event loop. `Client.watch` describes the arguments."""
        selection = selection_of(namespace, labels, fields)
        events = await self.thread.wait(_watch(self.calls, resource, selection, resource_version))
        try:
            while (event := await self.thread.wait(_next(events))) is not None:
                yield event
        finally:
            await self.thread.wait(events.aclose())


async def _watch(
    calls: InProcessClient, resource: Kind, selection: Selection, resource_version: str
) -> AsyncGenerator[Event, None]:
    """Begin a watch in the server's own event loop, where the first request for a kind of a module
    starts the controllers of this kind."""
    return calls.watch(resource, selection, resource_version=resource_version)


async def _next(events: AsyncIterator[Event]) -> Event | None:
    return await anext(events, None)
