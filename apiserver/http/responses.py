"""Answers: bytes, media types and warnings; the only place that turns a StatusError into HTTP.

An `Answer` goes through aiohttp's writer as a whole. aiohttp's own Response also takes payloads of
other sorts, cookies, chunks and its own compression. Preparing for them costs 5 of the 16 µs that
its shortest GET takes, and nobody here uses them.
"""

import asyncio
import time
import zlib
from collections.abc import Collection
from email.utils import formatdate
from typing import Any

import orjson
from aiohttp import HttpVersion10, HttpVersion11, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import SERVER_SOFTWARE
from multidict import CIMultiDict

from inkube.apiserver.http.negotiation import JSON, Form
from inkube.schemas import caches, status, warningtexts
from inkube.schemas.status import StatusError

Object = dict[str, Any]
GZIP_FROM = (
    128 * 1024
)  # apiserver/pkg/endpoints/handlers/responsewriters: defaultGzipThresholdBytes
THREAD_FROM = 1024 * 1024  # what takes longer than a few milliseconds holds up nobody else
_JSON_HEADERS = CIMultiDict({"Content-Type": JSON, "Cache-Control": "no-cache, private"})
# Bytes of a body that the writer may copy, to send it in one piece with the head. A longer one goes
# by itself: a list of 5.8 MB took 6.0 ms of processor time copied and takes 3.5 so.
COPIED = 64 * 1024


class Answer(web.StreamResponse):
    """One answer with a body; its length, date and connection are told when it is sent."""

    def __init__(self, body: bytes, headers: CIMultiDict[str], code: int = 200) -> None:
        super().__init__(status=code, headers=headers)
        self.body = body
        self._writer: AbstractStreamWriter | None = None
        self._shown = True
        self._stays = False

    @property
    def prepared(self) -> bool:
        """Whether the headers are on their way."""
        return self._writer is not None

    @property
    def keep_alive(self) -> bool:
        """Whether the connection serves another request afterwards."""
        return self._stays

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter:
        """Tell status and headers; the writer keeps them until there is a body to go with."""
        headers, version = self.headers, request.version
        headers[hdrs.CONTENT_LENGTH] = str(len(self.body))
        headers[hdrs.DATE] = _date(int(time.time()))
        headers[hdrs.SERVER] = SERVER_SOFTWARE
        self._stays = request.keep_alive
        if not self._stays:
            if version == HttpVersion11:
                headers[hdrs.CONNECTION] = "close"
        elif version == HttpVersion10:
            headers[hdrs.CONNECTION] = "keep-alive"
        self._shown = request.method != hdrs.METH_HEAD
        self._writer = writer = request.writer
        await request._prepare_hook(self)  # noqa: SLF001 # what aiohttp's own responses do here
        line = f"HTTP/{version.major}.{version.minor} {self.status} {self.reason}"
        await writer.write_headers(line, headers)
        if len(self.body) > COPIED:
            await writer.write(b"")  # the head alone
        return writer

    async def write_eof(self, data: bytes = b"") -> None:
        """Send all of it, and wait for a reader who does not keep up."""
        if self._writer is not None:
            await self._writer.write_eof(self.body if self._shown else b"")


@caches.of_values(1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)


def data(body: bytes, *, code: int = 200, warnings: Collection[str] = ()) -> Answer:
    """JSON bytes as they are."""
    return Answer(body, _headers(warnings), code)


def stream(warnings: Collection[str] = ()) -> web.StreamResponse:
    """The start of a stream of JSON documents."""
    return web.StreamResponse(headers=_headers(warnings))


def _headers(warnings: Collection[str]) -> CIMultiDict[str]:
    if not warnings:
        return _JSON_HEADERS  # copied by every response
    headers = _JSON_HEADERS.copy()
    for warning in warningtexts.limited(warnings):
        headers.add("Warning", f"299 - {_quoted(warning)}")
    return headers


def render(value: Any, form: Form, *, code: int = 200, warnings: Collection[str] = ()) -> Answer:
    """A JSON value in the form the client asked for."""
    if form.media == JSON:
        return data(encode(value, pretty=form.pretty), code=code, warnings=warnings)
    from inkube.apiserver.http import yamls

    response = data(yamls.write(value), code=code, warnings=warnings)
    response.headers["Content-Type"] = form.media
    return response


def encode(value: Any, *, pretty: bool = False) -> bytes:
    """Compact JSON, ending with a line feed as Go's encoder does, or indented, without one."""
    option = orjson.OPT_INDENT_2 if pretty else orjson.OPT_APPEND_NEWLINE
    try:
        return orjson.dumps(value, option=option)
    except TypeError:  # bytes of a header that are no UTF-8 stand as lone surrogates in its text
        return orjson.dumps(_readable(value), option=option)


def _readable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_readable(key): _readable(member) for key, member in value.items()}
    return [_readable(item) for item in value] if isinstance(value, list) else value


def error(failure: StatusError, form: Form, warnings: Collection[str] = ()) -> Answer:
    """A StatusError as a Status body."""
    response = render(failure.body(), form, code=failure.code, warnings=warnings)
    response.headers.update(failure.headers)
    return response


def plain_not_found() -> web.Response:
    """What the reference's outer mux answers to a path nobody knows."""
    return web.Response(
        text="404 page not found\n",
        status=404,
        headers={"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"},
    )


def unknown_path(*, plain: bool) -> web.Response:
    """A path nobody serves, in plain text. Raises StatusError 404 where it is told by a Status."""
    if not plain:
        raise status.resource_not_found()
    return plain_not_found()


async def compress(response: Answer | web.Response, accept_encoding: str) -> None:
    """gzip a large body for who can read it; a very large one beside the event loop."""
    body = response.body
    if not isinstance(body, bytes) or len(body) < GZIP_FROM or "gzip" not in accept_encoding:
        return
    packed = _gzip(body) if len(body) < THREAD_FROM else await asyncio.to_thread(_gzip, body)
    response.body = packed
    response.headers["Content-Encoding"] = "gzip"
    response.headers["Vary"] = "Accept-Encoding"


def _gzip(body: bytes) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return packer.compress(body) + packer.flush()


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
