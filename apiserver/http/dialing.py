"""TLS contexts for outgoing connections, bounded bodies, and Go's texts for their failures.

Used for calls of webhooks and aggregated API servers.
"""

import base64
import ssl
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Self

import aiohttp

from inkube.schemas import caches

_UNKNOWN_AUTHORITY = (18, 19, 20, 21)  # X509_V_ERR_…: self-signed, no issuer found


@caches.of_texts(64)
def context(bundle: str) -> ssl.SSLContext:
    """Return a cached TLS context that trusts a base64 bundle of PEM certificates, or the system's
    certificates if the bundle is empty. Raises as `client_context`."""
    return client_context(bundle)


def client_context(bundle: str) -> ssl.SSLContext:
    """Return a new TLS context like `context`. Raises ssl.SSLError or ValueError if `bundle` is
    invalid."""
    if bundle:
        made = ssl.create_default_context(cadata=base64.b64decode(bundle).decode("ascii"))
    else:
        made = _SystemContext(ssl.PROTOCOL_TLS_CLIENT)
    verify_as_go(made)
    return made


class _SystemContext(ssl.SSLContext):
    """Trusts the system's certificates, which it reads at the first handshake: that takes some 20
    milliseconds. Otherwise like `ssl.create_default_context`."""

    _has_read = False

    def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
        """Load the certificates of the system before the first handshake, which begins here."""
        if not self._has_read:
            self.load_default_certs(ssl.Purpose.SERVER_AUTH)
            self._has_read = True
        return super().wrap_bio(*args, **options)


def verify_as_go(context: ssl.SSLContext) -> None:
    """Verify certificates as Go does: each certificate of the bundle is trusted, also an
    intermediate or the server's own, and the additional checks of RFC 5280 are off."""
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT


class Connections:
    """The connections of a client of other servers, opened by its first call and closed once.
    `make` returns what sends the requests."""

    def __init__(self, make: Callable[[], aiohttp.ClientSession]) -> None:
        self._make = make
        self._session: aiohttp.ClientSession | None = None
        self.is_closed = False

    @classmethod
    def with_headers(cls, headers: Mapping[str, str]) -> Self:
        """Return the connections of a client that sends these headers, without a time limit."""
        unlimited = aiohttp.ClientTimeout()
        return cls(partial(aiohttp.ClientSession, headers=headers, timeout=unlimited))

    @property
    def session(self) -> aiohttp.ClientSession:
        """What sends the requests. Raises ConnectionError after `close`: nobody would close
        connections that are opened then."""
        if self.is_closed:
            raise ConnectionError("the server has stopped")
        if self._session is None:
            self._session = self._make()
        return self._session

    async def close(self) -> None:
        """Close all connections."""
        self.is_closed = True
        if self._session is not None:
            await self._session.close()


async def read_body(response: aiohttp.ClientResponse, largest: int) -> bytes:
    """Return the body of a response, or the first `largest` bytes of a larger one."""
    body = await response.content.read(largest)
    while body and not response.content.at_eof() and len(body) < largest:
        body += await response.content.read(largest - len(body))
    return body


def dial_error(error: Exception) -> str:
    """Return Go's text for a failed connection."""
    cause = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    if isinstance(cause, ssl.SSLCertVerificationError):
        why = cause.verify_message
        if cause.verify_code in _UNKNOWN_AUTHORITY:
            why = "certificate signed by unknown authority"
        return f"tls: failed to verify certificate: x509: {why}"
    if isinstance(error, aiohttp.ClientConnectorError):
        where = f"{error.host}:{error.port}"
        if isinstance(cause, ConnectionRefusedError):
            return f"dial tcp {where}: connect: connection refused"
        if isinstance(error, aiohttp.ClientConnectorDNSError):
            return f"dial tcp: lookup {error.host}: no such host"
        return f"dial tcp {where}: {cause}"
    if isinstance(error, aiohttp.ServerDisconnectedError | ConnectionResetError):
        return "EOF"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "unexpected EOF"
    if isinstance(error, TimeoutError):
        return "i/o timeout"
    return str(error)
