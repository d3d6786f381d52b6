"""What a request does besides aiohttp's: it says what is expected of its sender.

A body that its sender holds back (`Expect: 100-continue`) is asked for when somebody reads it, so
what is refused before costs nobody a body.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import HttpVersion, HttpVersion11
from aiohttp.http_parser import RawRequestMessage
from aiohttp.web_request import BaseRequest
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from inkube.apiserver.http.cors import Origins

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
SHORT = 16 * 1024  # bytes: far from where aiohttp holds back what comes


class Request(BaseRequest):
    """One request; who makes one sets its `head`."""

    head: RawRequestMessage
    """Its first line and headers, as they were read."""
    origins: Origins | None = None
    """The web pages that may read its answer; None where there are none."""
    largest = 0
    """Bytes of a body that is read; 0: as the server has it for all."""
    flow: tuple[str, str] | None = None
    """The uids of its flow schema and priority level, once somebody knows them."""
    faults: tuple[str, ...] = ()
    """The names of those it met."""
    user = ""
    """Who asks, once that is known."""
    is_current = False
    """Whether the store has come to what was newest when this came."""
    channel: Any = None
    """The part of a connection that a watch is written to (`watching.shared`): this request shares
    the connection with others, and nothing else may answer on it."""
    sent = b""
    """The body, once it is read."""
    _asked = False
    _body: bytes | None = None

    @property
    def spoken(self) -> HttpVersion:
        """The version the client speaks."""
        return self.head.version

    @property
    def version(self) -> HttpVersion:
        """The version to answer in: 1.1 to who speaks one that is not served."""
        spoken = self.head.version
        return spoken if spoken.major == 1 else HttpVersion11

    @property
    def keep_alive(self) -> bool:
        """Whether the connection serves another request: not when its body was not asked for."""
        head = self.head
        return not head.should_close and (self._asked or hdrs.EXPECT not in head.headers)

    @property
    def is_usual(self) -> bool:
        """Whether it is answered as most are: in HTTP/1.1, with a body, to no other web page, and
        another request may follow."""
        head = self.head
        return (
            head.version == HttpVersion11
            and head.method != hdrs.METH_HEAD
            and self.keep_alive
            and self.origins is None
        )

    async def read(self) -> bytes:
        """The body. Raises ConnectionError, and what else aiohttp raises."""
        if not self._asked and hdrs.EXPECT in self.headers:
            self._ask()
        if self._body is None:
            self._body = self.content.read_nowait() if self._is_there else await self._read_all()
        self.sent = self._body
        return self._body

    @property
    def _is_there(self) -> bool:
        """Whether the body came with its head, as short ones do: to take it takes a twentieth of
        what it takes to wait for pieces until there are no more. Of a longer one aiohttp's parser
        may hold something back."""
        content = self.content
        if not content.is_eof() or not self.body_exists:  # aiohttp's reader of nothing has no size
            return content.is_eof()
        return content.total_bytes <= SHORT and content.exception() is None

    async def _read_all(self) -> bytes:
        try:
            return await (self._read_large() if self.largest else self._read())
        except RuntimeError as error:  # all that aiohttp says of a client that has gone
            if self.transport is not None:
                raise
            raise ConnectionResetError("the client has gone") from error

    async def _read(self) -> bytes:
        """A body as aiohttp reads it."""
        content = self.content
        if not content.is_eof():
            return await super().read()
        whole = content.read_nowait()
        if len(whole) > self.client_max_size:
            raise web.HTTPRequestEntityTooLarge(self.client_max_size, len(whole))
        return whole

    async def _read_large(self) -> bytes:
        """A body of more than aiohttp was told to read."""
        read = bytearray()
        async for chunk in self.content.iter_any():
            read += chunk
            if len(read) > self.largest:
                raise web.HTTPRequestEntityTooLarge(self.largest, len(read))
        return bytes(read)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body piece by piece, as it comes: whoever passes it on keeps none of it."""
        if not self._asked and hdrs.EXPECT in self.headers:
            self._ask()
        async for chunk in self.content.iter_any():
            yield chunk

    def _ask(self) -> None:
        self._asked = True
        transport = self.transport
        if self.version >= HttpVersion11 and not self.content.is_eof() and transport is not None:
            transport.write(_CONTINUE)

    def shared(
        self, writer: AbstractStreamWriter, url: URL, headers: "CIMultiDict[str]"
    ) -> "Request":
        """A GET of its own by the same client, on the same connection; nothing but `writer` may
        answer it there."""
        head = self.head._replace(
            method="GET", path=str(url), url=url, headers=CIMultiDictProxy(headers), raw_headers=()
        )
        loop = asyncio.get_running_loop()
        most = self.client_max_size
        parts = (self.content, self.protocol, writer, self.task, loop)
        made = type(self)(head, *parts, client_max_size=most)
        made.head = head
        return made


def allow(request: web.BaseRequest, largest: int) -> None:
    """Let the request have a body of so many bytes."""
    if isinstance(request, Request):
        request.largest = largest


def refuse(request: Request) -> web.Response | None:
    """417 to who expects what nobody does, 505 to who speaks another HTTP; None to all others.

    In the words of Go's net/http: server.go (`expectationFailed`, `http1ServerSupportsRequest`).
    """
    expected = request.headers.get(hdrs.EXPECT)
    if expected is not None and expected.lower() not in ("", "100-continue"):
        return _hang_up(417, "")
    if request.spoken.major != 1:
        return _hang_up(505, "505 HTTP Version Not Supported: unsupported protocol version")
    return None


def _hang_up(code: int, text: str) -> web.Response:
    response = web.Response(status=code, text=text)
    response.force_close()
    return response
