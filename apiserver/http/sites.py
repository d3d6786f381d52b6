"""Listening sockets, and sites of aiohttp whose accepted connections all begin before they stop."""

import asyncio
import contextlib
import errno
import ipaddress
import socket
import ssl
from collections.abc import Iterable, Iterator
from typing import Any

from aiohttp import web

BACKLOG = 128  # as aiohttp's own

_MISSING = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})

AddressInfo = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]
"""What `socket.getaddrinfo` returns for each address."""


class Site(web.SockSite):
    """A site that loses no connection when it stops.

    asyncio accepts a connection in one turn of its loop and begins it in the next. One that is
    accepted in the turn in which the server closes never begins, and only the garbage collector
    closes it: https://github.com/python/cpython/issues/109564.
    """

    def __init__(
        self,
        runner: web.BaseRunner,
        listening: socket.socket,
        context: ssl.SSLContext | None = None,
        *,
        backlog: int = BACKLOG,
    ) -> None:
        super().__init__(runner, listening, ssl_context=context, backlog=backlog)
        self._listening = listening

    async def stop(self) -> None:
        """Accept no more connections, begin those that were accepted, and close the socket."""
        with contextlib.suppress(NotImplementedError):  # the loop of Windows; uvloop's does nothing
            asyncio.get_running_loop().remove_reader(self._listening)
        await asyncio.sleep(0)
        await super().stop()


def listen(addresses: Iterable[AddressInfo], *, backlog: int = BACKLOG) -> Iterator[socket.socket]:
    """Yield a listening socket for each address that `socket.getaddrinfo` returned and this machine
    has, all with the same port. As in Go, the unspecified address of IPv6 is that of both families.
    Raises OSError if a port is in use, or if the machine has none of the addresses."""
    port, is_open, missing = 0, False, None
    for family, _, _, _, address in dict.fromkeys(addresses):
        host, port = address[0], port or address[1]
        both = family == socket.AF_INET6 and ipaddress.ip_address(host).is_unspecified
        try:
            listening = socket.create_server(
                (host, port, *address[2:]),
                family=family,
                backlog=backlog,
                dualstack_ipv6=both and socket.has_dualstack_ipv6(),
            )
        except OSError as error:
            if error.errno not in _MISSING:
                raise
            missing = error
            continue
        listening.setblocking(False)
        port = listening.getsockname()[1]
        is_open = True
        yield listening
    if missing is not None and not is_open:
        raise missing


def listen_locally(path: str) -> socket.socket:
    """Return a listening Unix socket. Raises OSError."""
    listening = socket.socket(socket.AF_UNIX)
    try:
        listening.bind(path)
    except BaseException:
        listening.close()
        raise
    listening.setblocking(False)
    return listening
