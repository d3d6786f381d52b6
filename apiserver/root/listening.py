"""Where requests come in: a port of the server's own, or what the parent of workers hands over.

The port is taken first of all, so that who waits for `/readyz` is told how far the start is.
`lifespan` opens it and hands requests over to the application once there is one.
"""

import contextlib
import ipaddress
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from inkube.apiserver import workers
from inkube.apiserver.auth import Certificate
from inkube.apiserver.configuration import Options
from inkube.apiserver.discovery import Starting
from inkube.apiserver.http import Budget, Origins, webserver
from inkube.apiserver.root import security
from inkube.apiserver.root.progress import Progress

BACKLOG = 128  # as aiohttp's own
STOP_SECONDS = 1.5  # how long requests under way may still take when the server stops


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Door:
    """Where the requests of one server come in. They are told that it starts until `serve`."""

    host: str
    port: int
    certificate: Certificate | None
    """What the server shows; None without TLS."""
    tls: ssl.SSLContext | None
    origins: Origins
    """The web pages that may ask."""
    budget: Budget
    """What waits for clients who do not read, over all connections."""
    server: web.Server
    runner: web.ServerRunner
    starting: Starting
    intake: "workers.Intake | None"
    """Where connections come from, in one of several workers."""

    @property
    def url(self) -> str:
        """The address of the server, without a slash at its end."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{name}:{self.port}"

    def serve(self, app: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> None:
        """From now on the application answers, also on connections that came before."""
        self.server.request_handler = app
        self.starting.hand_over(app)


async def opened(options: Options, progress: Progress, stack: contextlib.AsyncExitStack) -> Door:
    """Take the port, until `stack` is left.

    Raises ValueError for options that would be unsafe, OSError for a port that is taken.
    """
    security.check(options)
    worker = options.worker
    certificate = worker.certificate if worker else security.certificate(options)
    tls = security.context(options, certificate)
    origins, budget = security.origins(options), Budget()
    starting = Starting(lambda: progress.stage)
    server = webserver.make(starting, origins, budget, options.http)
    runner = web.ServerRunner(server, shutdown_timeout=STOP_SECONDS)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    intake = None
    if worker is None:
        await site(runner, options.host, options.port, tls).start()
        host, port = runner.addresses[0][:2]
    else:
        intake = workers.Intake(worker, server, tls)
        intake.start()
        stack.callback(intake.close)
        host, port = worker.address
    return Door(
        host=host,
        port=port,
        certificate=certificate,
        tls=tls,
        origins=origins,
        budget=budget,
        server=server,
        runner=runner,
        starting=starting,
        intake=intake,
    )


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
