"""All watches of a server, and their responses over HTTP. A `stream.Stream` writes each of them.

All streams end at once when the server stops.
"""

import logging
import random
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import HttpVersion11

from inkube.apiserver import streaming
from inkube.apiserver.handlers import Exchange
from inkube.apiserver.http import (
    Form,
    Request,
    deciding,
    negotiation,
    read_list_options,
    responses,
)
from inkube.apiserver.registry import Registry, SystemFields, versions
from inkube.apiserver.samples import Samples
from inkube.apiserver.watching import messages
from inkube.apiserver.watching.bursts import Bursts
from inkube.apiserver.watching.endings import WatchEnd
from inkube.apiserver.watching.framecache import FrameCache
from inkube.apiserver.watching.frames import (
    CHUNKED_EVENTS,
    CHUNKS,
    EVENTS,
    RAW_LINES,
    Framer,
    Wire,
)
from inkube.apiserver.watching.stream import Connection, Sink, Stream
from inkube.apiserver.watching.watch import Watcher, earlier
from inkube.schemas import status

logger = logging.getLogger(__name__)

LAST_EVENT_ID = "Last-Event-ID"


class OpenWatch(NamedTuple):
    """A watch that receives every change from now on; with `name`, those of one object."""

    group: str
    resource: str
    namespace: str
    name: str
    label_selector: str
    field_selector: str
    user: str
    user_agent: str


class _Http:
    """A watch as the body of an HTTP response (`Connection`)."""

    def __init__(self, response: web.StreamResponse, wire: Wire) -> None:
        self.response = response
        self._writer: AbstractStreamWriter
        self.wire = wire
        if wire in (CHUNKS, CHUNKED_EVENTS):
            response.enable_chunked_encoding()

    def sink(self, request: web.BaseRequest) -> Sink | None:
        return request.transport

    async def open(self, request: web.BaseRequest, on_disconnect: Callable[[], None]) -> None:
        await self.response.prepare(request)
        self._writer = request.writer

    async def drain(self) -> None:
        await self._writer.drain()

    async def finish(self) -> None:
        await self.response.write_eof()

    def release(self) -> None:
        pass  # aiohttp releases a response


def _reads_events(request: web.BaseRequest) -> bool:
    return request.headers.get(hdrs.ACCEPT) == negotiation.EVENTS


def _over_http(request: web.BaseRequest, warnings: Collection[str], form: Form) -> _Http:
    chunks = request.version >= HttpVersion11
    if _reads_events(request):
        return _Http(responses.events(warnings), CHUNKED_EVENTS if chunks else EVENTS)
    media = responses.WATCH if form.protobuf else negotiation.JSON
    return _Http(responses.stream(warnings, media), CHUNKS if chunks else RAW_LINES)


_TOLD_IN_STREAM = (410, 504)
"""Errors of the start of a watch that are ERROR events: a version that is too old, or initial
events of a version that does not exist yet."""


class Streams:
    """All open watches of a server."""

    def __init__(
        self,
        registry: Registry,
        system_fields: SystemFields,
        samples: Samples,
        min_seconds: float,
    ) -> None:
        """`samples` receives the sizes of events. A watch without a timeout ends after one to two
        times `min_seconds`; 0 means never."""
        self._registry = registry
        self._samples = samples
        self._min_seconds = min_seconds
        self._system_fields = system_fields
        self._bursts = Bursts()
        self._frames = FrameCache()
        self._open: set[Stream] = set()
        self._closed = False
        self.on_close: list[Callable[[], None]] = []
        """Functions that end the shared connections. `close` calls them."""

    @property
    def count(self) -> int:
        """The number of open watches."""
        return len(self._open)

    def open(self) -> list[OpenWatch]:
        """Return the open watches. Safe in other threads."""
        return [_open_watch(stream) for stream in tuple(self._open)]

    async def serve(self, exchange: Exchange) -> web.StreamResponse:
        """Serve a watch request. Returns at the end of the stream."""
        request, http = exchange.request, exchange.http
        options = read_list_options(
            exchange.query,
            streams_lists=request.resource.wording.streams_lists,
        )
        if not options.timeout:
            options = options._replace(timeout=self._random_timeout())
        told = http.headers.get(LAST_EVENT_ID, "")
        if told.isdecimal() and _reads_events(http):  # an EventSource that connects again
            options = options._replace(resource_version=told, match="", initial_events=None)
        injection = None if exchange.injection is None else exchange.injection.watch_fault
        if injection is not None and injection.repeat:
            options = earlier(self._registry, request, options, injection.repeat)
        watcher = Watcher(self._registry, request, options)
        if exchange.form.media == negotiation.YAML:
            versions.known_version(options.resource_version or "0")
            raise status.not_acceptable(
                f"only the following media types are accepted: {negotiation.STREAM_TYPES}"
            )
        form = exchange.form._replace(pretty=False)  # the client reads lines
        connection: Connection
        if isinstance(http, Request) and http.channel is not None:
            connection = http.channel
            http.channel.warnings = request.warnings
        elif hdrs.UPGRADE in http.headers and streaming.sockets.is_upgrade(http):
            connection = messages.Socket(http, is_text=not form.protobuf)
        else:
            connection = _over_http(http, request.warnings, form)
        merges = injection is not None and injection.merge_seconds > 0
        framer = Framer(
            watcher,
            form,
            self._system_fields,
            FrameCache() if merges else self._frames,  # merged events are not those of others
            wire=connection.wire,
            samples=self._samples,
        )
        ending = None if injection is None else WatchEnd(injection)
        agent = http.headers.get(hdrs.USER_AGENT, "")
        stream = Stream(watcher, framer, connection, self._bursts, ending, agent)
        try:
            with deciding(http, _not_cancelled):
                return await self._run(stream, exchange)
        except ConnectionError:
            return connection.response

    def _random_timeout(self) -> float:
        """Return a random timeout, so that watches that began together do not end together."""
        return random.uniform(self._min_seconds, 2 * self._min_seconds)  # noqa: S311 # no secret

    async def _run(self, stream: Stream, exchange: Exchange) -> web.StreamResponse:
        head = exchange.http.method == "HEAD"
        initial: Iterable[bytes] = ()
        failure: status.StatusError | None = None
        try:
            initial = await stream.start()
        except status.StatusError as error:
            if error.code not in _TOLD_IN_STREAM:
                raise
            failure = error
        self._open.add(stream)
        try:
            await stream.connection.open(exchange.http, stream.stop)
            sink = stream.connection.sink(exchange.http)
            if sink is not None and not head and not self._closed:
                if failure is None:
                    await stream.run(sink, initial)
                else:
                    await stream.refuse(sink, failure)
            if sink is not None and not sink.is_closing():
                await stream.connection.finish()
        finally:
            self._open.discard(stream)
            stream.close()
        return stream.connection.response

    def close(self) -> None:
        """End every stream, also those that begin later."""
        self._closed = True
        for close in self.on_close:
            close()
        for stream in tuple(self._open):
            stream.stop()


def _not_cancelled() -> bool:
    """Return False: a stream notices itself that its client has disconnected, and then ends."""
    return False


def _open_watch(stream: Stream) -> OpenWatch:
    request, options = stream.watcher.request, stream.watcher.options
    return OpenWatch(
        request.resource.group,
        request.resource.plural,
        request.namespace,
        request.name,
        options.labels,
        options.fields,
        request.user.name,
        stream.agent,
    )
