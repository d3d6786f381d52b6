"""Many watches over one connection: a WebSocket or Server-Sent Events at `/inkube/v1/watch`.

A browser opens at most six connections to a server, so the seventh watch of a page would block all
its requests. On a shared stream the client opens and closes watches by messages, JSON objects:

    client    {"open": ID, "path": "/api/v1/pods?labelSelector=a", "accept": MEDIA_TYPE}
              {"close": ID}
    server    {"stream": NAME}                    once, at the beginning
              {"watch": ID, "opened": {"warnings": [TEXT]}}
              {"watch": ID, "event": EVENT}       EVENT is what a watch over HTTP sends as a line
              {"watch": ID, "closed": STATUS}     refused, over, cut off, or closed by the client
              {"refused": STATUS}                 a message that cannot be understood

Over a WebSocket both sides send text messages. An `EventSource`, or `fetch`, receives the server's
messages as events. Its own messages are bodies of `POST /inkube/v1/watch/NAME`, or `open=ID=PATH`
in the query. The server treats each watch as a separate request: it is authorized, counted, logged
and subject to Faults like any other. kube-apiserver does not have this endpoint.
"""

import asyncio
import contextlib
import os
import secrets
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, NamedTuple, Protocol

import orjson
from aiohttp import hdrs, web
from aiohttp.http import HttpVersion11, WSMsgType
from multidict import CIMultiDict
from yarl import URL

from inkube.apiserver import streaming
from inkube.apiserver.http import (
    STALL_SECONDS,
    Connection,
    Request,
    RequestInfo,
    Writer,
    bodies,
    httprequest,
    negotiation,
    requests,
    responses,
)
from inkube.apiserver.registry import User
from inkube.apiserver.watching.frames import Wire, http_chunk
from inkube.apiserver.watching.watch import SLOW
from inkube.schemas import status
from inkube.schemas.objects import Object

SHARED = "/inkube/v1/watch"
"""The path of connections for many watches."""
MAX_WATCHES = 100
"""Watches of one stream."""
LONGEST_NAME = 64
"""Characters of a watch's name."""
LARGEST = 64 * 1024
"""Bytes of one message of a client."""
CHECK_SECONDS = 2.0
"""Seconds between checks whether the client of a stream of events is still connected."""
BEAT = 15.0
"""Seconds after which the stream sends an empty comment, so that proxies keep it open."""
FAREWELL = 1.0
"""Seconds to wait for the client's closing handshake of a WebSocket."""
_OF_CONNECTION = (
    hdrs.UPGRADE,
    hdrs.CONNECTION,
    hdrs.ACCEPT_ENCODING,
    hdrs.CONTENT_LENGTH,
    hdrs.CONTENT_TYPE,
    hdrs.SEC_WEBSOCKET_PROTOCOL,
    "Last-Event-ID",
)
"""Headers of a stream's request that do not apply to its watches."""

Serve = Callable[[Request], Awaitable[web.StreamResponse]]
OnMessage = Callable[[bytes], None]


class Message(NamedTuple):
    """A message of a client: open a watch, or close it if `path` is empty."""

    watch: str
    path: str = ""
    accept: str = negotiation.JSON


class Carrier(Protocol):
    """The protocol of messages on a connection."""

    name: str

    def pack(self, message: bytes) -> bytes:
        """Return a message in the form that is written to the transport."""
        ...

    async def open(self, request: web.BaseRequest) -> web.StreamResponse:
        """Start the response. Raises StatusError."""
        ...

    async def listen(self, on_message: OnMessage, ended: asyncio.Event) -> None:
        """Pass each message of the client to `on_message`, until it disconnects or `ended` is
        set."""
        ...

    async def close(self) -> None:
        """End the response. Raises ConnectionError."""
        ...


class Events:
    """A Carrier over `text/event-stream`, as in the HTML standard."""

    def __init__(self, request: web.BaseRequest) -> None:
        self._request = request
        self._is_chunked = request.version >= HttpVersion11
        self.name = "events" if self._is_chunked else "unchunked events"
        self._response = responses.events()

    def pack(self, message: bytes) -> bytes:
        event = b"data: %b\n\n" % message
        return http_chunk(event) if self._is_chunked else event

    async def open(self, request: web.BaseRequest) -> web.StreamResponse:
        if self._is_chunked:
            self._response.enable_chunked_encoding()
        await self._response.prepare(request)
        await self._response.write(b": \n\n")  # sends the headers at once
        return self._response

    async def listen(self, on_message: OnMessage, ended: asyncio.Event) -> None:
        """Wait for the end: the client's messages arrive as separate requests."""
        loop = asyncio.get_running_loop()
        beat = loop.time() + BEAT
        while not ended.is_set() and self._is_connected:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CHECK_SECONDS):
                    await ended.wait()
            if loop.time() >= beat and self._is_connected:
                beat = loop.time() + BEAT
                async with asyncio.timeout(STALL_SECONDS):
                    await self._response.write(b": \n\n")

    async def close(self) -> None:
        await self._response.write_eof()

    @property
    def _is_connected(self) -> bool:
        return httprequest.is_connected(self._request)


class Socket:
    """A Carrier over the text messages of a WebSocket."""

    name = "socket"

    def __init__(self) -> None:
        self._socket: web.WebSocketResponse

    def pack(self, message: bytes) -> bytes:
        return streaming.sockets.message(message)

    async def open(self, request: web.BaseRequest) -> web.StreamResponse:
        self._socket = await streaming.sockets.accept(
            request, streaming.sockets.subprotocols(request)[:1], is_optional=True, max_size=LARGEST
        )
        return self._socket

    async def listen(self, on_message: OnMessage, ended: asyncio.Event) -> None:
        tasks = [asyncio.create_task(self._read(on_message)), asyncio.create_task(ended.wait())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL):
                await self._socket.close()

    async def _read(self, on_message: OnMessage) -> None:
        with contextlib.suppress(ConnectionError):
            async for message in self._socket:
                if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                    data = message.data
                    on_message(data.encode() if isinstance(data, str) else data)


class Channel:
    """One watch of a stream; see `stream.Connection` and `stream.Sink`."""

    def __init__(self, stream: "Stream", name: str) -> None:
        self.response: web.StreamResponse = web.StreamResponse()
        self.warnings: Collection[str] = ()
        self.is_open = False
        self._is_leaving = False
        self._is_aborted = False
        self._stream = stream
        self._name = orjson.dumps(name)
        self._stop: Callable[[], None] | None = None
        self._task: asyncio.Task[Object | None] | None = None
        self._head = b'{"watch":%b,"event":' % self._name
        self.wire = Wire(f"{stream.carrier.name} {name}", self._as_message)

    def start(self, request: Request, serve: Serve, on_end: Callable[[], None]) -> None:
        """Start to serve the watch. `on_end` is called when it ends."""

        def finish(task: asyncio.Task[Object | None]) -> None:
            refusal = None if task.cancelled() else task.result()  # cancelled before it began
            if not self._stream.is_closing():
                self._send_member("closed", refusal or self._end())
            on_end()

        self._task = asyncio.create_task(self._run(request, serve))
        self._task.add_done_callback(finish)

    def leave(self) -> None:
        """End the watch at the client's request."""
        self._is_leaving = True
        if self._stop is not None:
            self._stop()
        elif self._task is not None:
            self._task.cancel()

    async def wait_ended(self) -> None:
        """End the watch, and wait for its end."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def sink(self, request: web.BaseRequest) -> "Channel":
        return self

    async def open(self, request: web.BaseRequest, on_disconnect: Callable[[], None]) -> None:
        self._stop = on_disconnect
        self.is_open = True
        self._send_member("opened", {"warnings": list(self.warnings)})

    def write(self, data: bytes) -> None:
        self._stream.write(data)

    async def drain(self) -> None:
        await self._stream.drain()

    def is_closing(self) -> bool:
        return self._is_aborted or self._is_leaving or self._stream.is_closing()

    def get_write_buffer_size(self) -> int:
        return self._stream.unsent

    def abort(self) -> None:
        """Disconnect this watch only."""
        self._is_aborted = True
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()

    def close(self) -> None:
        self._is_aborted = True

    async def finish(self) -> None:
        """Do nothing, because `closed` is sent when the request ends."""

    def release(self) -> None:
        """Do nothing, because `wait_ended` releases the channel."""

    async def _run(self, request: Request, serve: Serve) -> Object | None:
        """Serve the watch. Returns the Status with which it is refused, or None."""
        with contextlib.suppress(asyncio.CancelledError, ConnectionError):
            answer = await serve(request)
            if not self.is_open:
                return _status_of(answer)
        return None

    def _end(self) -> Object:
        if self._is_aborted:
            return status.too_many_requests(SLOW).body()
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}

    def _send_member(self, member: str, value: Object) -> None:
        self._stream.write(
            self._stream.carrier.pack(
                b'{"watch":%b,"%b":%b}' % (self._name, member.encode(), orjson.dumps(value))
            )
        )

    def _as_message(self, frame: bytes) -> bytes:
        return self._stream.carrier.pack(b"%b%b}" % (self._head, frame.rstrip(b"\n")))


class Stream:
    """One connection and its watches."""

    def __init__(self, request: Request, user: User, carrier: Carrier, serve: Serve) -> None:
        self.carrier = carrier
        self.user = user.name
        self.name = f"{os.getpid()}-{secrets.token_urlsafe(16)}"
        """A random name, after the name of the process, which other workers need."""
        self._request = request
        self._serve = serve
        self._channels: dict[str, Channel] = {}
        self._drain_task: asyncio.Task[None] | None = None
        self.ended = asyncio.Event()
        """Set when the server stops."""

    async def run(self, first: Sequence[Message]) -> web.StreamResponse:
        """Serve until the client disconnects or the server stops. Raises StatusError if the
        response cannot start."""
        response = await self.carrier.open(self._request)
        try:
            self.send({"stream": self.name})
            for message in first:
                self._obey_or_tell(message)
            await self.carrier.listen(self._receive, self.ended)
        except (ConnectionError, TimeoutError):
            pass  # the client has disconnected
        finally:
            await asyncio.gather(*(channel.wait_ended() for channel in self._channels.values()))
        if not self.is_closing():
            with contextlib.suppress(ConnectionError):
                await self.carrier.close()
        return response

    def obey(self, message: Message) -> None:
        """Open or close a watch. Raises StatusError 400, 404, 406, 409 or 429."""
        if message.path:
            self._open(message)
        elif message.watch in self._channels:
            self._channels[message.watch].leave()
        else:
            raise status.StatusError(
                404, status.Reason.NOT_FOUND, f"no watch {message.watch!r} is open on this stream"
            )

    def send(self, message: Object) -> None:
        """Send a message."""
        self.write(self.carrier.pack(orjson.dumps(message)))

    def write(self, data: bytes) -> None:
        """Send packed bytes. Does nothing if the client has disconnected."""
        transport, protocol = self._request.transport, self._request.protocol
        if transport is not None and not transport.is_closing():
            transport.write(data)
            if isinstance(protocol, Connection):
                protocol.recount()

    async def drain(self) -> None:
        """Wait while the transport is full. A cancelled wait does not end other waits. Raises
        ConnectionError."""
        if self._drain_task is None or self._drain_task.done():
            self._drain_task = asyncio.create_task(self._request.writer.drain())
        await asyncio.shield(self._drain_task)

    def is_closing(self) -> bool:
        """Return whether the client has disconnected."""
        return not httprequest.is_connected(self._request)

    @property
    def unsent(self) -> int:
        """Unsent bytes in the transport."""
        transport = self._request.transport
        return 0 if transport is None else transport.get_write_buffer_size()

    def _receive(self, data: bytes) -> None:
        try:
            message = read(data)
        except status.StatusError as error:
            self.send({"refused": error.body()})
        else:
            self._obey_or_tell(message)

    def _obey_or_tell(self, message: Message) -> None:
        """Obey a message of a stream that has begun. A refusal is part of the stream."""
        try:
            self.obey(message)
        except status.StatusError as error:
            self.send({"refused": error.body()})

    def _open(self, message: Message) -> None:
        if message.watch in self._channels:
            raise status.StatusError(
                409, status.Reason.CONFLICT, f"a watch {message.watch!r} is open on this stream"
            )
        if len(self._channels) >= MAX_WATCHES:
            raise status.too_many_requests(f"a stream has at most {MAX_WATCHES} watches")
        request = self._request_of(message)
        channel = request.channel = Channel(self, message.watch)
        self._channels[message.watch] = channel
        channel.start(request, self._serve, lambda: self._remove(message.watch))

    def _remove(self, name: str) -> None:
        del self._channels[name]

    def _request_of(self, message: Message) -> Request:
        """Return the request for one watch. Raises StatusError 400 or 406."""
        path, _, query = message.path.partition("?")
        if requests.parse("GET", path, query).verb == "list":
            query = f"{query}&watch=true" if query else "watch=true"
        if requests.parse("GET", path, query).verb not in requests.WATCHES:
            raise status.bad_request(
                f"{path} cannot be watched: the path of a watch is that of a list, "
                "/api/v1/namespaces/default/pods"
            )
        if negotiation.negotiate(message.accept).media != negotiation.JSON:
            raise status.not_acceptable(
                f"a shared stream tells JSON: {negotiation.JSON}, also as Table and "
                "PartialObjectMetadata"
            )
        headers = CIMultiDict(self._request.headers)
        for name in _OF_CONNECTION:
            headers.popall(name, None)
        token = streaming.sockets.token(self._request)  # a browser's, among the subprotocols
        if token:
            headers[hdrs.AUTHORIZATION] = f"Bearer {token}"
        headers[hdrs.ACCEPT] = message.accept
        writer = RefusingWriter(self._request.protocol, asyncio.get_running_loop())
        return self._request.sub_request(writer, URL(f"{path}?{query}", encoded=True), headers)


class RefusingWriter(Writer):
    """The writer of a watch's request. It refuses responses, because only the channel of the watch
    may write to the connection."""

    async def write_headers(self, status_line: str, headers: "CIMultiDict[str]") -> None:
        """Refuse every response. Raises StatusError 501."""
        raise status.StatusError(
            501,
            status.Reason.NOT_IMPLEMENTED,
            "another process answers this watch: it takes a connection of its own",
        )


class SharedStreams:
    """All shared streams of a server; an endpoint of `app`. `serve` handles a request."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._streams: dict[str, Stream] = {}

    async def __call__(
        self, request: web.BaseRequest, info: RequestInfo, user: User
    ) -> web.StreamResponse:
        """Open a stream, or receive a message for one. Raises StatusError 400, 404, 405, 413, and
        those of `Stream.obey`."""
        assert isinstance(request, Request), "as webserver makes them"
        name = info.path.rstrip("/").removeprefix(SHARED).removeprefix("/")
        if info.method == "GET" and not name:
            return await self._open(request, info, user)
        if info.method == "POST" and name:
            return await self._serve_message(request, name, user)
        raise status.method_not_allowed()

    def close(self) -> None:
        """End every stream."""
        for stream in self._streams.values():
            stream.ended.set()

    async def _open(self, request: Request, info: RequestInfo, user: User) -> web.StreamResponse:
        first = [_of_query(text) for text in info.query.getall("open", ())]
        is_socket = hdrs.UPGRADE in request.headers and streaming.sockets.is_upgrade(request)
        carrier = Socket() if is_socket else Events(request)
        stream = Stream(request, user, carrier, self._serve)
        self._streams[stream.name] = stream
        try:
            return await stream.run(first)
        finally:
            del self._streams[stream.name]

    async def _serve_message(self, request: Request, name: str, user: User) -> web.StreamResponse:
        stream = self._streams.get(name)
        if stream is None or stream.user != user.name:
            raise status.StatusError(
                404, status.Reason.NOT_FOUND, f"stream {name!r} is not open, or is not yours"
            )
        body = await bodies.read(request)
        if len(body) > LARGEST:
            raise status.too_large(f"a message has at most {LARGEST} bytes")
        stream.obey(read(body))
        return responses.render({"status": "Success"}, negotiation.COMPACT_JSON)


def read(data: bytes) -> Message:
    """Decode a message of a client. Raises StatusError 400."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise status.bad_request(f"a message is a JSON object: {error}") from error
    if isinstance(value, dict):
        match value:
            case {"open": str(watch), "path": str(path), **rest} if path:
                accept = rest.get("accept", negotiation.JSON)
                if isinstance(accept, str):
                    return _check_message(Message(watch, path, accept))
            case {"close": str(watch)}:
                return _check_message(Message(watch))
    raise status.bad_request(
        'a message is {"open": ID, "path": PATH} or {"close": ID}, each a text'
    )


def _of_query(text: str) -> Message:
    """Parse a watch in the query of the address. Raises StatusError 400."""
    watch, mark, path = text.partition("=")
    if not mark or not path:
        raise status.bad_request(f"open={text}: write open=ID=PATH, such as open=pods=/api/v1/pods")
    return _check_message(Message(watch, path))


def _check_message(message: Message) -> Message:
    if not 0 < len(message.watch) <= LONGEST_NAME:
        raise status.bad_request(f"the ID of a watch has 1 to {LONGEST_NAME} characters")
    if message.path and not message.path.startswith("/"):
        raise status.bad_request(f"{message.path}: a path begins with /")
    return message


def _status_of(response: web.StreamResponse) -> Object:
    """Return a response that is not a stream as a Status."""
    body: Any = getattr(response, "body", None)
    text = body if isinstance(body, bytes) else b""
    with contextlib.suppress(orjson.JSONDecodeError):
        found = orjson.loads(text)
        if isinstance(found, dict):
            return found
    return status.unknown(text.decode(errors="replace").strip(), response.status).body()
