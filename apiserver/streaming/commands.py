"""exec and attach: the streams of a process, over WebSocket channels or SPDY.

`serve` handles a request: it negotiates a protocol, passes a `Process` to the function that runs
the command, and reports the result in a Status. Follows apimachinery/pkg/util/remotecommand and
kubelet/pkg/cri/streaming/remotecommand.

    v5.channel.k8s.io  WebSocket; like v4, and a client may end its stdin by itself
    v4.channel.k8s.io  WebSocket or SPDY; the error stream carries a Status
    [v4.]base64.channel.k8s.io  WebSocket for browsers: text, channels as digits
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

import orjson
from aiohttp import web
from aiohttp.http import WSMsgType

from inkube.apiserver.streaming import sockets
from inkube.apiserver.streaming.connections import Connection, Stream
from inkube.apiserver.streaming.takeover import Takeover
from inkube.schemas import status
from inkube.schemas.objects import Object
from inkube.schemas.status import StatusError

V5, V4, OLDEST = "v5.channel.k8s.io", "v4.channel.k8s.io", "channel.k8s.io"
BASE64, V4_BASE64 = "base64.channel.k8s.io", "v4.base64.channel.k8s.io"
WEBSOCKET = (V5, V4, V4_BASE64, OLDEST, BASE64)
SPDY = (V4,)
SPDY_UPGRADE = "SPDY/3.1"
STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)
CLOSE = 255
"""The channel of v5 on which one byte names a stream that ends."""
COMMAND_SECONDS = 4 * 3600.0
"""The time limit of one command in seconds (`--streaming-connection-idle-timeout` of a kubelet)."""
STDIN_QUEUE_SIZE = 16
"""The limit of stdin messages that are not read yet."""
PING_SECONDS = 1.0
"""Seconds in which a client of v5 must answer a ping; without an answer, it is assumed to be
ready."""
SETTLE_SECONDS = 0.01
"""Seconds after the answer until the client's streams exist."""
STREAM_CREATION_SECONDS = 30.0
"""Seconds for an SPDY client to open its streams (`StreamCreationTimeout`)."""


class StreamOptions(NamedTuple):
    """The streams that a request selects."""

    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False


class Process(Protocol):
    """The streams of a command, for the function that runs it."""

    options: StreamOptions

    async def read(self) -> bytes:
        """Return the next bytes of stdin. Returns b"" at its end, or at once without a stdin."""
        ...

    async def write(self, data: bytes, *, is_error: bool = False) -> None:
        """Send output. Does nothing if the client did not request the stream."""
        ...

    async def next_size(self) -> tuple[int, int]:
        """Wait for the next size of the terminal: columns and rows."""
        ...


Run = Callable[[Process], Awaitable[int]]
"""Runs the command and returns its exit code. A StatusError is sent to the client unchanged."""


async def serve(request: web.BaseRequest, options: StreamOptions, run: Run) -> web.StreamResponse:
    """Upgrade the connection and run the command on it. Raises StatusError before the upgrade."""
    if sockets.is_upgrade(request):
        return await _serve_socket(request, options, run)
    if request.headers.get("Upgrade", "").strip().lower() == SPDY_UPGRADE.lower():
        return await _serve_spdy(request, options, run)
    raise status.bad_request("Upgrade request required")


class _Base:
    """The common part of both protocols: a bounded queue for stdin, and the latest size of the
    terminal."""

    def __init__(self, options: StreamOptions) -> None:
        self.options = options
        self._input: asyncio.Queue[bytes] = asyncio.Queue(STDIN_QUEUE_SIZE)
        self._input_ended = not options.stdin
        self._sizes: asyncio.Queue[tuple[int, int]] = asyncio.Queue(1)

    async def read(self) -> bytes:
        if self._input_ended:
            return b""
        data = await self._input.get()
        self._input_ended = not data
        return data

    async def next_size(self) -> tuple[int, int]:
        return await self._sizes.get()

    def note_size(self, data: bytes) -> None:
        """Read a message about the size of the terminal; invalid messages are ignored."""
        try:
            size = orjson.loads(data)
            width_and_height = int(size["Width"]), int(size["Height"])
        except (ValueError, KeyError, TypeError):
            return
        with contextlib.suppress(asyncio.QueueEmpty):
            self._sizes.get_nowait()
        self._sizes.put_nowait(width_and_height)


async def _finish(run: Run, process: Process, disconnected: Awaitable[None]) -> Object:
    """Return the Status at the end of the command. Raises ConnectionError if the client disconnects
    first."""
    command = asyncio.ensure_future(_run_to_status(run, process))
    disconnect = asyncio.ensure_future(disconnected)
    try:
        done, _ = await asyncio.wait(
            {command, disconnect}, timeout=COMMAND_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        if command in done:
            return command.result()
        if disconnect in done:
            raise ConnectionResetError("the client has gone")
        return _failure(status.unknown(f"the command took more than {COMMAND_SECONDS:g} s", 504))
    finally:
        for task in (command, disconnect):
            task.cancel()
        await asyncio.gather(command, disconnect, return_exceptions=True)


async def _run_to_status(run: Run, process: Process) -> Object:
    try:
        code = await run(process)
    except StatusError as error:
        return _failure(error)
    if not code:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def _failure(error: StatusError) -> Object:
    return error.body()


class _SocketProcess(_Base):
    """A process over the channels of a WebSocket."""

    def __init__(self, socket: web.WebSocketResponse, options: StreamOptions) -> None:
        super().__init__(options)
        self._socket = socket
        self._channels = sockets.Channels(socket)
        protocol = socket.ws_protocol or OLDEST
        self.sends_status = protocol in (V5, V4, V4_BASE64)
        self._is_v5 = protocol == V5
        self._reads = asyncio.Event()

    async def write(self, data: bytes, *, is_error: bool = False) -> None:
        channel = STDERR if is_error else STDOUT
        if self.options.stderr if is_error else self.options.stdout:
            await self._channels.write(channel, data)

    async def send(self, channel: int, data: bytes) -> None:
        """Send one message. Raises ConnectionError."""
        await self._channels.send(channel, data)

    async def send_first_message(self) -> None:
        """Send an empty message on the lowest open output. Upstream sends it too."""
        options = self.options
        await self.send(STDOUT if options.stdout else STDERR if options.stderr else ERROR, b"")

    async def ready(self) -> None:
        """Wait a limited time until the client is able to receive output.

        client-go 1.29 to 1.33 starts to read before its streams exist, and drops messages for
        missing streams, including the exit code (kubernetes/kubernetes#131189). On a cluster,
        commands take longer than that. A client that answers a ping has started to read.
        """
        if not self._is_v5:
            return
        await self._socket.ping()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PING_SECONDS):
                await self._reads.wait()
        await asyncio.sleep(SETTLE_SECONDS)

    async def listen(self) -> None:
        """Receive messages until the client disconnects."""
        async for message in self._socket:
            if message.type is WSMsgType.PING:
                await self._socket.pong(message.data)
            elif message.type is WSMsgType.PONG:
                self._reads.set()
            elif (received := self._channels.read(message)) is not None:
                await self._receive(*received)

    async def _receive(self, channel: int, data: bytes) -> None:
        if channel == STDIN and data and self.options.stdin:
            await self._input.put(data)
        elif channel == RESIZE:
            self.note_size(data)
        elif (
            channel == CLOSE and self._is_v5 and data[:1] == bytes((STDIN,)) and self.options.stdin
        ):
            await self._input.put(b"")


async def _serve_socket(
    request: web.BaseRequest, options: StreamOptions, run: Run
) -> web.StreamResponse:
    socket = await sockets.accept(request, WEBSOCKET, is_optional=True, answers_pings=False)
    process = _SocketProcess(socket, options)

    async def run_once_ready(_: Process) -> int:
        await process.ready()
        return await run(process)

    try:
        await process.send_first_message()
        outcome = await _finish(run_once_ready, process, process.listen())
        if process.sends_status:
            await process.send(ERROR, orjson.dumps(outcome))
        elif outcome["status"] != "Success":
            await process.send(ERROR, outcome["message"].encode())
        await socket.close()
    except ConnectionError:
        pass  # the client has disconnected
    return socket


class _SpdyProcess(_Base):
    """A process over the streams of an SPDY session, which are identified by the header
    `streamType`."""

    def __init__(self, streams: dict[str, Stream], options: StreamOptions) -> None:
        super().__init__(options)
        self._streams = streams

    async def write(self, data: bytes, *, is_error: bool = False) -> None:
        stream = self._streams.get("stderr" if is_error else "stdout")
        if data and stream is not None:
            await stream.write(data)

    async def read(self) -> bytes:
        stream = self._streams.get("stdin")
        return await stream.read() if stream is not None else b""

    async def follow_size(self) -> None:
        """Receive sizes of the terminal while the client sends them."""
        stream = self._streams.get("resize")
        while stream is not None and (data := await stream.read()):
            self.note_size(data)


async def _serve_spdy(
    request: web.BaseRequest, options: StreamOptions, run: Run
) -> web.StreamResponse:
    offered = [
        part.strip()
        for header in request.headers.getall("X-Stream-Protocol-Version", ())
        for part in header.split(",")
    ]
    if V4 not in offered:
        text = f"client supports [{' '.join(offered)}], server accepts [{' '.join(SPDY)}]"
        raise StatusError(
            403,
            status.Reason.FORBIDDEN,
            f"unable to upgrade: unable to negotiate protocol: {text}; kubectl 1.10 and later can",
        )
    pipe = Takeover(SPDY_UPGRADE, {"X-Stream-Protocol-Version": V4})
    try:
        await pipe.open(request)
        async with Connection(pipe) as connection:
            await _run_on_connection(connection, options, run)
    except (ConnectionError, TimeoutError):
        pass  # the client has disconnected, or never opened its streams
    return pipe


async def _run_on_connection(connection: Connection, options: StreamOptions, run: Run) -> None:
    async with asyncio.timeout(STREAM_CREATION_SECONDS):
        streams = await _streams(connection, options)
    process = _SpdyProcess(streams, options)
    sizes = asyncio.create_task(process.follow_size())
    try:
        outcome = await _finish(run, process, connection.closed())
    finally:
        sizes.cancel()
        await asyncio.gather(sizes, return_exceptions=True)
    await streams["error"].write(orjson.dumps(outcome))
    for stream in streams.values():
        await stream.end()
    with contextlib.suppress(TimeoutError):  # the client closes after the last byte
        async with asyncio.timeout(1.0):
            await connection.closed()


async def _streams(connection: Connection, options: StreamOptions) -> dict[str, Stream]:
    """Return all requested streams. Raises ConnectionError."""
    names = {"error"}
    names |= {name for name in ("stdin", "stdout", "stderr") if getattr(options, name)}
    if options.tty:
        names.add("resize")
    streams: dict[str, Stream] = {}
    while names - streams.keys():
        stream = await connection.accept()
        if stream is None:
            raise ConnectionResetError("the client has gone")
        streams[stream.headers.get("streamtype", "")] = stream
    return streams
