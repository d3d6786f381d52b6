"""The address of an aggregated API server, its certificate authorities, and connections to it.

`serviceaddresses` finds the address of a service. Follows
kube-aggregator/pkg/apiserver/handler_proxy.go.
"""

import ssl
from collections.abc import Callable
from functools import partial
from typing import Any

import aiohttp
from yarl import URL

from inkube.apiserver import http
from inkube.apiserver.auth import Identity
from inkube.apiserver.serviceaddresses import ServiceAddresses, UnresolvedError
from inkube.apiserver.streaming import UnreachableError, session
from inkube.schemas.aggregation import Registration
from inkube.schemas.lazyproperty import cached_property

IN_PROCESS = "http://in-process"


class Neighbour:
    """Another process of the same server, which listens on a Unix socket."""

    def __init__(self, path: str) -> None:
        self._session = session(aiohttp.UnixConnector(path, limit=0))

    def base(self) -> str:
        """Return a fixed URL, because the socket determines the process."""
        return IN_PROCESS

    def request(self, method: str, base: str, target: str, **options: Any) -> Any:
        """Send a request over the socket, without redirects."""
        url = URL(base + target, encoded=True)
        return self._session.request(method, url, allow_redirects=False, **options)

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()


class Upstream:
    """The server of one Registration. With `path`, it is a Unix socket of this process."""

    def __init__(
        self,
        registration: Registration,
        services: ServiceAddresses,
        identity: Callable[[], Identity],
        path: str = "",
    ) -> None:
        self._registration = registration
        self._services = services
        self._identity = identity
        self._path = path
        self._connections = http.dialing.Connections(partial(_session, path))

    async def close(self) -> None:
        """Close every connection. Later requests are refused, such as those of a check that still
        runs."""
        await self._connections.close()

    def base(self) -> str:
        """Return scheme, host and port of an address of the server. Raises UnreachableError."""
        if self._connections.is_closed:
            raise UnreachableError("the APIService has changed or is deleted")
        if self._path:
            return IN_PROCESS
        if self._registration.url:
            return self._registration.url.rstrip("/")
        service = self._registration.service
        assert service is not None, "remote ones have a service or a URL"
        try:
            found = self._services.find(service.namespace, service.name, service.port)
        except UnresolvedError as error:
            raise UnreachableError(str(error)) from error
        return f"https://{found}"

    def request(
        self, method: str, base: str, target: str, *, check: bool = False, **options: Any
    ) -> Any:
        """Send a request; an `async with` over the response. `target` is an encoded path and query.

        With `check`, every certificate is accepted, as in kube-apiserver's availability check.
        Raises ssl.SSLError and ValueError for unreadable authorities, and on entering the
        exceptions of aiohttp.
        """
        if base.startswith("https:"):
            options["ssl"] = self._lenient if check else self._context
            if self._registration.service is not None and not self._registration.url:
                options["server_hostname"] = self._registration.service.host
        url = URL(base + target, encoded=True)
        return self._connections.session.request(method, url, allow_redirects=False, **options)

    @cached_property
    def _context(self) -> ssl.SSLContext:
        if self._registration.insecure:
            return self._lenient
        made = http.dialing.client_context(self._registration.bundle)
        self._identity().configure(made)
        return made

    @cached_property
    def _lenient(self) -> ssl.SSLContext:
        made = ssl.create_default_context()
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
        self._identity().configure(made)
        return made


def _session(path: str) -> aiohttp.ClientSession:
    """Return what sends requests to a server, over the Unix socket at `path` if it is not empty."""
    if path:
        return session(aiohttp.UnixConnector(path, limit=0))
    return session(aiohttp.TCPConnector(limit=0))  # each client of this server can have a watch
