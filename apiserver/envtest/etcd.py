"""The etcd that envtest starts: it stores nothing itself, and returns the location of the data.

    GET /health     {"health":"true","reason":""}, as etcd's; /readyz, /livez, /version too
    GET /inkube     {"data": FILE, "durable": true}: which file under --data-dir the objects are in

So a restarted kube-apiserver finds the data of the last one, and removing the data folder removes
everything. It does not implement gRPC: it closes the connections of etcd clients. Follows
server/etcdmain and server/etcdserver/api/etcdhttp of etcd 3.6.
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from inkube.apiserver import process
from inkube.apiserver.envtest.flags import Arguments, Flag, FlagError

VERSION = "3.6.6"
LOCATION_PATH = "/inkube"
DATA = "inkube.db"
MAX_HEAD = 16 * 1024
REQUEST_SECONDS = 10.0
"""Time limit in seconds to receive a request."""
START_SECONDS = 20.0
"""Seconds that a kube-apiserver waits for its etcd."""
_TEXT = Flag("text", "(no meaning here)")

FLAGS: Mapping[str, Flag] = {
    "advertise-client-urls": Flag("list", "Where clients are told to come."),
    "data-dir": Flag("text", "Folder that the data is kept in."),
    "help": Flag("bool", "Show this."),
    "listen-client-urls": Flag("list", "Where to listen."),
    "listen-peer-urls": Flag("list", "(no meaning here: there are no peers)"),
    "unsafe-no-fsync": Flag("bool", "Faster writes that a power cut may lose."),
    "version": Flag("bool", "Show the version of etcd."),
    **dict.fromkeys(
        (
            "auto-compaction-mode", "auto-compaction-retention", "client-cert-auth",
            "heartbeat-interval", "election-timeout", "initial-advertise-peer-urls",
            "initial-cluster", "initial-cluster-state", "initial-cluster-token", "log-level",
            "log-outputs", "logger", "max-request-bytes", "name", "quota-backend-bytes",
            "snapshot-count", "wal-dir",
        ),
        _TEXT,
    ),
}  # fmt: skip


class DataFile(NamedTuple):
    """The data file, and whether a power failure can lose its last writes."""

    data: Path
    durable: bool


class EtcdError(Exception):
    """There is no etcd of inkube at the URL."""


def prepare(arguments: Arguments) -> DataFile:
    """Create the folder of the data if it does not exist. Raises OSError."""
    folder = Path(arguments.last("data-dir", "default.etcd")).absolute()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return DataFile(folder / DATA, durable=not arguments.truth("unsafe-no-fsync"))


async def serve(arguments: Arguments, data_file: DataFile) -> None:
    """Report the location of the data until SIGTERM or SIGINT. Raises FlagError, OSError."""
    stop = process.eventloop.Stop()
    pages = _pages(data_file)

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            async with asyncio.timeout(REQUEST_SECONDS):
                writer.write(await _response(reader, pages))
                await writer.drain()
        writer.close()

    with contextlib.ExitStack() as stack:
        for url in arguments.all("listen-client-urls") or ["http://localhost:2379"]:
            address = urlsplit(url)
            if address.scheme != "http":
                raise FlagError(f"listen-client-urls {url}: only http is served here")
            server = await asyncio.start_server(
                on_connection, address.hostname, address.port or 2379, limit=MAX_HEAD
            )
            stack.callback(server.close)
        print(f"ready to serve client requests; data: {data_file.data}", file=sys.stderr)  # noqa: T201
        await stop.requested.wait()


def _pages(data_file: DataFile) -> Mapping[str, Mapping[str, Any]]:
    return {
        "/health": {"health": "true", "reason": ""},
        "/livez": {},
        "/readyz": {},
        "/version": {"etcdserver": VERSION, "etcdcluster": "3.6.0", "storage": "3.6.0"},
        LOCATION_PATH: {"data": str(data_file.data), "durable": data_file.durable},
    }


async def _response(reader: asyncio.StreamReader, pages: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Return the response, after which the connection is closed. It is empty for requests other
    than HTTP/1."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        return _encode("431 Request Header Fields Too Large", b"")
    method, _, rest = head.decode("latin-1").partition(" ")
    path = urlsplit(rest.partition(" ")[0]).path
    if not head.partition(b"\r\n")[0].endswith((b"HTTP/1.1", b"HTTP/1.0")):
        return b""
    if method not in ("GET", "HEAD"):
        return _encode("405 Method Not Allowed", b"")
    page = pages.get(path)
    if page is None:
        return _encode("404 Not Found", b"404 page not found\n")
    text = json.dumps(page, separators=(",", ":")) if page else "ok\n"
    return _encode("200 OK", text.encode())


def _encode(code: str, body: bytes) -> bytes:
    media = "application/json" if body.startswith(b"{") else "text/plain; charset=utf-8"
    head = f"HTTP/1.1 {code}\r\nContent-Type: {media}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + body


async def locate(servers: Sequence[str], seconds: float = START_SECONDS) -> DataFile:
    """Return the data file of the etcd at these URLs, as soon as one responds. Raises EtcdError."""
    problem = "no URL is given"
    clock = asyncio.get_running_loop().time
    deadline, delay = clock() + seconds, 0.02
    while True:
        for url in servers:
            try:
                return await _fetch(url)
            except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
                problem = f"{url}: {str(error) or type(error).__name__}"
        if clock() + delay > deadline:
            raise EtcdError(f"no etcd answers within {seconds:g} seconds ({problem})")
        await asyncio.sleep(delay)
        delay = min(2 * delay, 1.0)


async def _fetch(url: str) -> DataFile:
    address = urlsplit(url)
    if address.scheme != "http" or not address.hostname:
        raise EtcdError(f"etcd-servers {url}: an etcd of this folder is at http://HOST:PORT")
    async with asyncio.timeout(REQUEST_SECONDS):
        reader, writer = await asyncio.open_connection(address.hostname, address.port or 2379)
        try:
            ends = "Connection: close\r\n\r\n"
            writer.write(
                f"GET {LOCATION_PATH} HTTP/1.1\r\nHost: {address.netloc}\r\n{ends}".encode()
            )
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200 "):
                raise EtcdError(
                    f"{url} is no etcd of `inkube envtest-assets`: objects are kept in a file that "
                    "only that one names"
                )
            document = json.loads(await reader.read(MAX_HEAD))
        finally:
            writer.close()
    return DataFile(Path(document["data"]), bool(document["durable"]))
