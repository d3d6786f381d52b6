"""Where requests come in, of a server that has its port to itself.

`server` calls it; the sockets of workers are their parent's.
"""

import ipaddress
import socket
import ssl

from aiohttp import web

BACKLOG = 128  # as aiohttp's own


def site(
    runner: web.ServerRunner, host: str, port: int, context: ssl.SSLContext | None
) -> web.BaseSite:
    """The site to start, for a name or an address. Raises OSError when the port is taken.

    An address needs nobody to look it up: the loop's lookup starts four threads, loads the tables
    of international names and leaves 0.25 MiB behind.
    """
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:
        return web.TCPSite(runner, host, port, ssl_context=context, backlog=BACKLOG)
    family = socket.AF_INET6 if version == 6 else socket.AF_INET
    made = socket.create_server((host, port), family=family, backlog=BACKLOG)
    return web.SockSite(runner, made, ssl_context=context, backlog=BACKLOG)
