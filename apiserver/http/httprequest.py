"""aiohttp's request with additions: `Expect: 100-continue`, larger bodies, shared connections.

If a client waits for `100 Continue`, the server sends it only when the body is read. A request that
is refused before that never transfers its body.
"""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, NamedTuple

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import HttpVersion, HttpVersion11
from aiohttp.http_parser import RawRequestMessage
from aiohttp.web_request import BaseRequest
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from inkube.apiserver.http.cors import AddedHeaders, Origins
from inkube.apiserver.registry import Lifetime, User

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""The methods for which kube-apiserver registers routes."""


class Impersonation(NamedTuple):
    """A user that acts as another one, with the verb of the permission for it."""

    user: User
    impersonated: User
    verb: str


class Request(BaseRequest):
    """One request. The code that creates it sets `head`."""

    head: RawRequestMessage
    """The request line and headers, as they were read."""
    added_headers: AddedHeaders | None = None
    """The headers that the server adds to the response; None without any."""
    largest = 0
    """The limit of the body in bytes; 0 for the server's general limit."""
    impersonation: "Impersonation | None" = None
    """The authenticated and the impersonated user; None if the user acts as itself."""
    reason = ""
    """Why its user may do it, or not; "" without a reason."""
    stale_token = ""
    """How long its token should have been replaced (`auth.VerifiedToken`); "" if not."""
    is_forbidden = False
    """Whether an authorizer decided that its user may not do it."""
    flow: Any = None
    """Its `auth.Flow`; None until it is found."""
    lifetime: Lifetime | None = None
    """What can end it before its commit; None for reads and streams."""
    audit: Any = None
    """Its `audit.RequestContext`; None if nothing listens to finished requests."""
    faults: tuple[str, ...] = ()
    """The names of the faults injected into it."""
    user = ""
    """The name of the user; "" until authentication."""
    channel: Any = None
    """The part of a connection that receives the events of a watch (`watching.shared`). The request
    shares the connection with others, so only this part may write its response."""
    received_body = b""
    """The body; b"" until it is read."""
    _has_continued = False
    _body: bytes | None = None

    @property
    def version(self) -> HttpVersion:
        """The HTTP version of the response: 1.1 if the client's version is not supported."""
        requested = self.head.version
        return requested if requested.major == 1 else HttpVersion11

    @property
    def keep_alive(self) -> bool:
        """Whether the connection can serve another request: False while a client still waits for
        `100 Continue`."""
        head = self.head
        return not head.should_close and (self._has_continued or hdrs.EXPECT not in head.headers)

    @property
    def has_response(self) -> bool:
        """Whether the start of a response was sent. Nothing else can then be the response."""
        if self.channel is not None:
            return bool(self.channel.is_open)
        return self.writer.output_size > 0

    @property
    def begun_code(self) -> int:
        """The code of a stream that has begun; 0 before that, and for other responses."""
        return getattr(self.writer, "code", 0)

    def close_afterwards(self) -> None:
        """Let the connection end after the response, which says so."""
        self.head = self.head._replace(should_close=True)

    def warn(self, text: str) -> None:
        """Add a `Warning` about the credentials to the response. The text has no quotes."""
        added = self.added_headers or AddedHeaders(Origins((), protects=False))
        self.added_headers = added = added.with_warning(f'299 - "{text}"')
        add = partial(added.add_to, origin=self.headers.get(hdrs.ORIGIN, ""))
        setattr(self.writer, "add_headers", add)  # noqa: B010 # of http.Writer

    def abort(self) -> None:
        """Disconnect the client at once, so that the part of a response that was sent does not look
        complete. A watch on a shared connection ends alone."""
        connection = self.channel or self.transport
        if connection is not None:
            connection.abort()

    @property
    def is_usual(self) -> bool:
        """Whether the response has the usual form: HTTP/1.1, with a body, without added
        headers, on a connection that stays open."""
        head = self.head
        return (
            head.version == HttpVersion11
            and head.method != hdrs.METH_HEAD
            and not head.should_close
            and hdrs.EXPECT not in head.headers
            and self.added_headers is None
        )

    async def read(self) -> bytes:
        """Return the body. Raises ConnectionError, and the errors of aiohttp."""
        if not self._has_continued and hdrs.EXPECT in self.headers:
            self._send_continue()
        if self._body is None:
            self._body = await self._read_all()
        self.received_body = self._body
        return self._body

    async def _read_all(self) -> bytes:
        try:
            return await (self._read_large() if self.largest else super().read())
        except RuntimeError as error:  # aiohttp's error for a client that has disconnected
            if self.transport is not None:
                raise
            raise ConnectionResetError("the client has gone") from error

    async def _read_large(self) -> bytes:
        """Read a body of at most `largest` bytes. Raises HTTPRequestEntityTooLarge."""
        read = bytearray()
        async for chunk in self.content.iter_any():
            read += chunk
            if len(read) > self.largest:
                raise web.HTTPRequestEntityTooLarge(self.largest, len(read))
        return bytes(read)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the pieces of the body as they arrive, so that it can be forwarded without being
        kept in memory."""
        if not self._has_continued and hdrs.EXPECT in self.headers:
            self._send_continue()
        async for chunk in self.content.iter_any():
            yield chunk

    def _send_continue(self) -> None:
        self._has_continued = True
        transport = self.transport
        if self.version >= HttpVersion11 and not self.content.is_eof() and transport is not None:
            transport.write(_CONTINUE)

    def sub_request(
        self, writer: AbstractStreamWriter, url: URL, headers: "CIMultiDict[str]"
    ) -> "Request":
        """Return a separate GET request of the same client on the same connection. Only `writer`
        may write its response."""
        head = self.head._replace(
            method="GET", path=str(url), url=url, headers=CIMultiDictProxy(headers), raw_headers=()
        )
        loop = asyncio.get_running_loop()
        limit = self.client_max_size
        parts = (self.content, self.protocol, writer, self.task, loop)
        request = type(self)(head, *parts, client_max_size=limit)
        request.head = head
        return request


def is_connected(request: web.BaseRequest) -> bool:
    """Return whether the client is still connected."""
    return request.transport is not None and not request.transport.is_closing()


def allow(request: web.BaseRequest, largest: int) -> None:
    """Allow a body of up to `largest` bytes."""
    if isinstance(request, Request):
        request.largest = largest


def refusal(request: Request) -> web.Response | None:
    """Return 417 for an unknown `Expect`, 505 for an unsupported HTTP version, else None. The
    connection ends after them, and after each method that is not in METHODS: after `CONNECT`, the
    client could send anything.

    The texts of 417 and 505 are those of Go's net/http: server.go (`expectationFailed`,
    `http1ServerSupportsRequest`).
    """
    expected = request.headers.get(hdrs.EXPECT)
    if expected is not None and expected.lower() not in ("", "100-continue"):
        return _closing_response(417, "")
    if request.head.version.major != 1:
        return _closing_response(
            505, "505 HTTP Version Not Supported: unsupported protocol version"
        )
    if request.method not in METHODS:
        request.close_afterwards()
    return None


def _closing_response(code: int, text: str) -> web.Response:
    response = web.Response(status=code, text=text)
    response.force_close()
    return response
