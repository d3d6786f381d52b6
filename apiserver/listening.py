"""The source of requests: the server's own port, or connections from the parent of workers.

The port opens first, so that clients that wait for `/readyz` see the progress of the start.
`lifespan` opens it, and passes requests to the application when that is built.
"""

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from aiohttp import web

from inkube import storage
from inkube.apiserver import auth, http, workers
from inkube.apiserver.access import security
from inkube.apiserver.auth import Certificate
from inkube.apiserver.configuration import Options
from inkube.apiserver.discovery import StartupHandler
from inkube.apiserver.http import Budget, Origins, Server, selfcheck, sites, webserver
from inkube.apiserver.serviceaddresses import joined
from inkube.apiserver.sources import Progress


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Listener:
    """The source of a server's requests. Until `serve`, responses report the progress of the
    start."""

    host: str
    port: int
    certificate: Certificate | None
    """The server's certificate; None without TLS."""
    tls: "auth.FollowingContext | None"
    origins: Origins
    """The allowed origins of web pages."""
    budget: Budget
    """Counts unsent bytes for clients that do not read, over all connections."""
    server: Server
    runner: web.ServerRunner
    startup_handler: StartupHandler
    intake: "workers.Intake | None"
    """The source of connections in a worker, else None."""

    @property
    def url(self) -> str:
        """The address of the server, without a slash at its end."""
        return f"{'https' if self.tls else 'http'}://{joined(self.host, self.port)}"

    @property
    def loopback(self) -> str:
        """The `HOST:PORT` at which the server reaches itself."""
        return joined(selfcheck.reached_at(self.host), self.port)

    def serve(self, app: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> None:
        """Let the application handle requests, also on connections that are already open."""
        self.server.request_handler = app
        self.startup_handler.set_app(app)


async def open_listener(
    options: Options, progress: Progress, stack: contextlib.AsyncExitStack
) -> Listener:
    """Open the port until `stack` is closed. Raises ValueError for unsafe options, OSError for a
    port in use."""
    security.check(options)
    worker = options.worker
    certificate = worker.certificate if worker else security.certificate(options)
    tls = security.context(options, certificate)
    origins, budget = security.origins(options), Budget()
    startup_handler = StartupHandler(lambda: progress.stage)
    strict = () if tls is None else options.strict_transport_security_directives
    server = webserver.server(startup_handler, origins, budget, options.http, strict)
    runner = web.ServerRunner(server, shutdown_timeout=http.STOP_SECONDS)
    if tls is not None:
        tls.on_authorities.append(partial(_end_identified, server))
    await runner.setup()
    stack.callback(_release, server, startup_handler)
    stack.push_async_callback(runner.cleanup)
    intake = None
    if worker is None:
        for each in sites.listen(await _addresses(options.host, options.port)):
            # to its end: asyncio would lose a server that listens
            await storage.run_to_end(sites.Site(runner, each, tls).start())
        host, port = runner.addresses[0][:2]
        door = selfcheck.internet(runner.addresses[0], tls=tls is not None)
    else:
        intake = workers.Intake(worker, server, tls)
        intake.start()
        stack.callback(intake.close)
        host, port = worker.address
        name = f"worker {worker.number}"
        door = selfcheck.Door(name, intake.connect, tls is not None, is_private=True)
    if tls is not None:
        tls.serve_at(host)
    await selfcheck.check(server, door)
    return Listener(
        host=host,
        port=port,
        certificate=certificate,
        tls=tls,
        origins=origins,
        budget=budget,
        server=server,
        runner=runner,
        startup_handler=startup_handler,
        intake=intake,
    )


def _end_identified(server: Server) -> None:
    """End the connections of clients with a certificate, after their current requests: other
    authorities are trusted now."""
    for connection in server.connections:
        transport = connection.transport
        if transport is not None and transport.get_extra_info("peercert"):
            connection.finish()


def _release(server: Server, startup_handler: StartupHandler) -> None:
    """Drop the references to the application of a stopped server, which refers to the listener:
    without this cycle, a test's server leaves little to the garbage collector."""
    server.request_handler = startup_handler
    startup_handler.clear_app()


async def _addresses(host: str, port: int) -> Sequence[sites.AddressInfo]:
    """Return the addresses of a host name or an address. Raises OSError.

    An address needs no lookup: the event loop's lookup starts four threads, loads the tables of
    international names and keeps 0.25 MiB.
    """
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:
        lookup = asyncio.get_running_loop().getaddrinfo
        return await lookup(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family = socket.AF_INET6 if version == 6 else socket.AF_INET
    return [(family, socket.SOCK_STREAM, 0, "", (host, port))]
