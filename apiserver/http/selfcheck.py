"""A request that a server sends to itself before it is ready.

Whoever waits for a server trusts its word, so the server says that it is ready only after a request
passed through its own socket, TLS, event loop and connection loop. `listening` and
`root.serving` call this for each socket. The application is not built yet, or does not log or count
the request.

A test process starts thousands of servers. What can fail is the same for all servers without TLS
on a loopback address, so only the first one with an event loop and a connection loop is checked.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from inkube.apiserver.http import guards
from inkube.apiserver.http.plain import Server
from inkube.schemas import caches

logger = logging.getLogger(__name__)

SECONDS = 10.0
"""The limit for a response. The server has nothing else to do."""
_REQUEST = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
_ANYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
"""Addresses to listen to, and addresses that reach such a server."""
_ANSWERED: Final[caches.Table[tuple[type, str], bool]] = caches.Table(__name__, "_ANSWERED", 16)
"""The types of event loops and the connection loops of this process that have answered."""

Connect = Callable[[], Awaitable[socket.socket]]


def reached_at(host: str) -> str:
    """Return an address at which this computer reaches a server that listens on `host`."""
    return _ANYWHERE.get(host, host)


@dataclass(frozen=True, slots=True)
class Door:
    """A socket of a server."""

    name: str
    """As in error messages: a URL or a path."""
    connect: Connect
    """Returns a connection to it. Raises OSError."""
    tls: bool = False
    is_private: bool = False
    """Whether it is open to this computer only, so that no address can be wrong."""


def internet(address: tuple[Any, ...], *, tls: bool) -> Door:
    """Return the door at a listening socket's own address, such as `getsockname` returns."""
    host, port, *scope = address
    family = socket.AF_INET6 if ":" in host else socket.AF_INET

    async def connect() -> socket.socket:
        reached = reached_at(host)
        # uvloop loads the tables of international names for a str, and asyncio for bytes
        is_asyncio = isinstance(asyncio.get_running_loop(), asyncio.BaseEventLoop)
        name = reached if is_asyncio else reached.encode()
        return await _connect(socket.socket(family), (name, port, *scope))

    return Door(f"{host}:{port}", connect, tls, guards.is_loopback(host))


def unix(path: str) -> Door:
    """Return the door at a Unix socket."""

    async def connect() -> socket.socket:
        return await _connect(socket.socket(socket.AF_UNIX), path)

    return Door(path, connect, is_private=True)


async def check(server: Server, door: Door) -> None:
    """Return when the server has answered a request through a door of its own.

    If the faster connection loop does not answer, new connections use aiohttp's own loop from now
    on. Raises OSError if that does not answer either, or if the door cannot be reached.
    """
    connection_loop = server.connection_loop
    if door.is_private and not door.tls and (type(server.loop), connection_loop) in _ANSWERED:
        return
    failure = await _failure(door)
    if failure and connection_loop == "fast":
        server.stop_fast_loop(f"the faster one did not answer: {failure}")
        failure = await _failure(door)
    if failure:
        raise OSError(
            f"the server does not answer its own request to {door.name}: {failure}; "
            f"{server.description}"
        )
    _ANSWERED.keep((type(server.loop), server.connection_loop), True)
    logger.debug("%s has answered: %s", door.name, server.description)


async def _failure(door: Door) -> str:
    """Return why a request was not answered, or ""."""
    try:
        async with asyncio.timeout(SECONDS):
            return "" if await _is_answered(door) else "it closed the connection"
    except TimeoutError:
        return f"no response within {SECONDS:g} s"
    except PermissionError as error:  # a sandbox: the process may listen, but not connect
        logger.warning("%s was not checked: %s", door.name, error)
        return ""
    except OSError as error:  # also of TLS
        return str(error) or type(error).__name__


async def _is_answered(door: Door) -> bool:
    context = _client_context() if door.tls else None
    reader, writer = await asyncio.open_connection(
        sock=await door.connect(), ssl=context, server_hostname="localhost" if door.tls else None
    )
    try:
        writer.write(_REQUEST)
        return (await reader.read()).startswith(b"HTTP/1.1 ")
    finally:
        writer.transport.abort()


async def _connect(
    connection: socket.socket, address: tuple[str | bytes | int, ...] | str
) -> socket.socket:
    connection.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(connection, address)
    except BaseException:
        connection.close()
        raise
    return connection


def _client_context() -> ssl.SSLContext:
    """Return settings that trust every certificate: whether clients trust it is not the
    question."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
