"""Requests whose method the parser of aiohttp does not know, such as `PURGE`.

Go's net/http passes every method to the handler, so kube-apiserver authenticates and authorizes
such requests before it refuses them. aiohttp's parser stops at the method, and aiohttp asks for the
response to its error in a function that cannot wait. `Deferred` is this response: the application
makes the real one when it is sent. Only a head that arrives in one piece is read here; other ones
get aiohttp's response 400.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import HttpVersion
from aiohttp.http_exceptions import BadHttpMethod
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

KNOWN = (b"GET ", b"POST ", b"PUT ", b"PATCH ", b"DELETE ", b"HEAD ", b"OPTIONS ")
"""The beginnings of usual requests, the most frequent first."""
MAX_METHOD = 64  # characters
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]"
_FIELD = _TOKEN + rb"+:[^\x00\r\n]*\r\n"
_HEAD = re.compile(
    rb"(%s{1,%d}) (/[!-~]*) HTTP/1\.([01])\r\n((?:%s)*)\r\n" % (_TOKEN, MAX_METHOD, _FIELD)
)


def head(data: bytes) -> re.Match[bytes] | None:
    """Return the whole head of a request with which bytes begin, whatever its method, or None."""
    return None if data.startswith(KNOWN) else _HEAD.match(data)


def message(head: "re.Match[bytes] | None", error: BaseException | None) -> Any:
    """Return the RawRequestMessage of a head if its method is what the parser refused, else None.

    The error must be about its line, and there must be one such line: the same bytes can be in the
    body of an earlier request. The connection ends after it, because its body is not read.
    """
    if head is None or not isinstance(error, BadHttpMethod):
        return None
    method, target, minor, fields = head.groups()
    line = head[0].partition(b"\r\n")[0]
    if repr(line) not in error.message or head.string.count(line) > 1:
        return None
    pairs = [each.split(b":", 1) for each in fields.split(b"\r\n")[:-1]]
    raw_headers = tuple((name, value.strip(b" \t")) for name, value in pairs)
    texts = (
        (name.decode(), value.decode("utf-8", "surrogateescape")) for name, value in raw_headers
    )
    headers = CIMultiDictProxy(CIMultiDict(texts))
    path = target.decode("ascii")
    return RawRequestMessage(
        method.decode("ascii"), path, HttpVersion(1, int(minor)), headers, raw_headers,
        should_close=True, compression=None, upgrade=False, chunked=False,
        url=URL(path, encoded=True),
    )  # fmt: skip


class Deferred(web.StreamResponse):
    """The response that the handler makes when this one is sent."""

    def __init__(
        self, request: web.BaseRequest, handler: Callable[[Any], Awaitable[web.StreamResponse]]
    ) -> None:
        super().__init__()
        self.force_close()
        self._request = request
        self._handler = handler
        self._response: web.StreamResponse | None = None

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Make the response and send its head. `request` is aiohttp's for bytes without a
        request."""
        self._response = await self._handler(self._request)
        return await self._response.prepare(self._request)

    async def write_eof(self, data: bytes = b"") -> None:
        """Send the end of the response."""
        if self._response is not None:
            await self._response.write_eof(data)


def deferred(
    parsed: RawRequestMessage, connection: web.RequestHandler, server: web.Server, task: Any
) -> Deferred:
    """Return the response of a server to a request that its parser refused."""
    factory: Any = server.request_factory
    request = factory(parsed, EMPTY_PAYLOAD, connection, None, task)
    return Deferred(request, server.request_handler)
