"""A complete response: status, headers and a body.

A short body and its head are one write, directly to the transport. A long body (bytes, or pieces
that are made while they are sent) passes through aiohttp's writer piece by piece, and waits for the
client between pieces. A response to a client that does not read therefore keeps at most two pieces
in memory, and other requests continue.

aiohttp's own Response also supports other payloads, cookies and its own compression. Preparing for
them costs 5 of the 16 µs of its shortest GET, and `responses` uses none of them.
"""

import asyncio
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from email.utils import formatdate

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import HttpVersion10, HttpVersion11, StreamWriter
from aiohttp.web_response import REASON_PHRASES
from multidict import CIMultiDict

from inkube.apiserver.http import encodings
from inkube.apiserver.http.budget import abort
from inkube.apiserver.http.httprequest import Request
from inkube.apiserver.http.plain import Connection
from inkube.schemas import caches

logger = logging.getLogger(__name__)

# Bytes of a body that is copied to send it in one write with the head. A longer one is sent without
# a copy: a list of 5.8 MB took 6.0 ms of processor time with a copy, and takes 3.5 ms without.
PIECE = 64 * 1024
PIECES_PER_TURN = (
    8  # pieces written in one turn of the event loop, if the client takes them at once
)
TURN = 0.02  # seconds of processor time, for pieces that take long to make
STALL_SECONDS = 60.0  # --request-timeout: seconds in which the client reads nothing

_CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""Characters that a header must not contain: RFC 9110, 5.5."""
_UNSENDABLE = b"500 Internal Server Error: a header of the answer cannot be sent\n"
Piece = bytes | memoryview
Body = bytes | Iterator[Piece]


class Head:
    """Headers that many responses share: as a map, and as the text that is sent."""

    __slots__ = ("headers", "text")

    def __init__(self, headers: Mapping[str, str]) -> None:
        self.headers = CIMultiDict(headers)
        self.text = _lines(self.headers)


class Writer(StreamWriter):
    """aiohttp's writer for one request. It never sends a `Server` header, and adds the headers
    that every response has."""

    add_headers: Callable[["CIMultiDict[str]"], None] | None = None
    """Adds the headers that every response has; None without any."""
    code = 0
    """The code of a stream that has begun; 0 before that."""
    on_begin: Callable[[int], None] | None = None
    """Called with the code of a stream that begins; None if nobody waits for it."""

    async def write_headers(self, status_line: str, headers: "CIMultiDict[str]") -> None:
        """Write the head, without `Server` and with the added headers."""
        self.code = int(status_line.split()[1])
        headers.popall(hdrs.SERVER, None)
        if self.add_headers is not None:
            self.add_headers(headers)
        if self.on_begin is not None:
            self.on_begin(self.code)
        await super().write_headers(status_line, headers)


class BodyResponse(web.StreamResponse):
    """One response with a body. Its length, date and connection headers are added when it is sent.

    An iterator as the body makes chunks while they are sent. An error in it is logged and closes
    the connection, so that the client cannot mistake the part for the whole body.
    """

    compressed = False
    """Whether the body is sent compressed."""
    _head: Head | None = None
    _own_headers: "CIMultiDict[str] | None" = None
    _writer: AbstractStreamWriter | None = None
    _transport: asyncio.Transport | None = None
    _connection: Connection | None = None
    _has_body = True
    _keeps_alive = False
    _whole = b""
    _is_sent = False

    def __init__(self, body: Body, head: "Head | CIMultiDict[str]", code: int = 200) -> None:
        super().__init__(status=code)
        self.body = body
        self.pinned_bytes = len(body) if isinstance(body, bytes) else 0
        """Bytes that stay in memory until the whole response is sent."""
        self.audit_id = ""
        """The request's id in the audit log, sent as the header Audit-Id."""
        # set here, although few responses need it: CPython 3.11 makes a separate dict for an
        # attribute that a class first gets after some thirty instances
        self.added: Head | None = None
        """Headers that responses of one flow share; None without any."""
        if isinstance(head, Head):
            self._head = head
        else:
            self._own_headers = head

    @property
    def headers(self) -> "CIMultiDict[str]":
        """The response's own headers, which the caller can change. They are a copy, made here: most
        responses are sent with the shared headers of their head."""
        if self._own_headers is None:
            assert self._head is not None, "one of both is there"
            self._own_headers = self._head.headers.copy()
        return self._own_headers

    @property
    def prepared(self) -> bool:
        """Whether the headers are sent or given to the writer."""
        return self._is_sent or self._writer is not None

    @property
    def keep_alive(self) -> bool:
        """Whether the connection serves another request afterwards."""
        return self._keeps_alive

    def whole(self, request: Request) -> bytes | None:
        """Return the head and body as sent, if that is one piece, and mark the response as sent.
        Else return None."""
        body = self.body
        if self.compressed or not isinstance(body, bytes) or len(body) > PIECE:
            return None
        if self._own_headers is None and self._head is not None and request.is_usual:
            self._keeps_alive = True
            added = "" if self.added is None else self.added.text
            head = (
                f"{_line(self.status)}{self._head.text}Audit-Id: {self.audit_id}\r\n{added}"
                f"Content-Length: {len(body)}\r\nDate: {_date(int(time.time()))}\r\n\r\n"
            ).encode()
        else:
            try:
                head = self._full_head(request)
            except ValueError:
                logger.exception("an answer holds a header that cannot be sent")
                self.set_status(500)
                self.body, self._own_headers = (
                    _UNSENDABLE,
                    CIMultiDict({hdrs.CONTENT_TYPE: "text/plain"}),
                )
                return self.whole(request)
        self._is_sent = True
        return head + body if self._has_body else head

    def _full_head(self, request: Request) -> bytes:
        """Return the text of the head. Raises ValueError for a header that cannot be sent."""
        line = self._complete_headers(request)
        if request.added_headers is not None:
            request.added_headers.add_to(self.headers, request.headers.get(hdrs.ORIGIN, ""))
        return f"{line}\r\n{_lines(self.headers)}\r\n".encode()

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter:
        """Make the head. It is sent together with the start of the body."""
        if not self.prepared:
            self._transport = request.transport
            if isinstance(request, Request) and not self._waits:
                self._whole = self.whole(request) or b""
            if not self._whole:
                line = self._complete_headers(request)
                self._writer = request.writer
                if isinstance(request.protocol, Connection):
                    self._connection = request.protocol
                await request.writer.write_headers(line, self.headers)
        return request.writer

    def _complete_headers(self, request: web.BaseRequest) -> str:
        """Complete the headers, and return the status line."""
        headers, version, body = self.headers, request.version, self.body
        if self.audit_id:
            headers["Audit-Id"] = self.audit_id
        if self.added is not None:
            headers.update(self.added.headers)
        self._has_body = request.method != hdrs.METH_HEAD
        self._keeps_alive = request.keep_alive
        if isinstance(body, bytes) and not self.compressed:
            headers[hdrs.CONTENT_LENGTH] = str(len(body))
        elif version == HttpVersion11:
            headers[hdrs.TRANSFER_ENCODING] = "chunked"
            if self._has_body:
                request.writer.enable_chunking()
        else:
            self._keeps_alive = False  # the end of the connection is the end of the body
        headers[hdrs.DATE] = _date(int(time.time()))
        if not self._keeps_alive:
            if version == HttpVersion11:
                headers[hdrs.CONNECTION] = "close"
        elif version == HttpVersion10:
            headers[hdrs.CONNECTION] = "keep-alive"
        return f"HTTP/{version.major}.{version.minor} {self.status} {self.reason}"

    async def write_eof(self, data: bytes = b"") -> None:
        """Send the response, waiting while the client reads slowly. Raises ConnectionError."""
        writer, body = self._writer, self.body
        if self._whole:
            self._write_whole()
        if writer is None or self._is_sent:
            return
        if not self._has_body:
            await writer.write_eof()
        elif isinstance(body, bytes) and len(body) <= PIECE and not self._waits:
            await writer.write_eof(body)
        else:
            await self._write_pieces(writer)

    def _write_whole(self) -> None:
        whole, self._whole = self._whole, b""
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError("the client has gone")
        self._transport.write(whole)

    @property
    def _waits(self) -> bool:
        """Whether even a short body must wait: for compression, or for earlier unsent bytes."""
        transport = self._transport
        return self.compressed or (transport is not None and transport.get_write_buffer_size() > 0)

    async def _write_pieces(self, writer: AbstractStreamWriter) -> None:
        pieces = self._pieces()
        self.body = b""  # a later reference to this response must not keep the body
        if self._connection is not None:
            self._connection.pinned_bytes = self.pinned_bytes
        piece: Piece
        try:
            began = time.thread_time()
            for number, piece in enumerate(pieces, 1):
                if piece:
                    async with asyncio.timeout(STALL_SECONDS):
                        await writer.write(piece)
                        await writer.drain()
                if not number % PIECES_PER_TURN or time.thread_time() - began > TURN:
                    await asyncio.sleep(0)
                    began = time.thread_time()
        except TimeoutError as error:
            abort(self._transport)
            raise ConnectionResetError("the reader does not read") from error
        except _BodyError as error:
            abort(self._transport)
            raise ConnectionResetError("the answer cannot be made to its end") from error
        except ConnectionError as error:
            error.__traceback__ = None  # the writer's frames, which hold a piece
            raise
        finally:
            # The error of a disconnected client stays with its traceback in a reference cycle until
            # the next garbage collection. It must not keep the body or the objects of a long list.
            del pieces
            piece = b""
            if self._connection is not None:
                self._connection.pinned_bytes = 0
        await writer.write_eof()

    def _pieces(self) -> Iterator[Piece]:
        """Return the pieces of the body as they are sent, compressed if `compress`."""
        pieces = _split(self.body) if isinstance(self.body, bytes) else self.body
        pieces = _log_errors(pieces)
        return encodings.compression.compress(pieces) if self.compressed else pieces


class _BodyError(Exception):
    """A piece of the body could not be made."""


def _log_errors(pieces: Iterator[Piece]) -> Iterator[Piece]:
    try:
        yield from pieces
    except Exception as error:
        logger.exception("an answer failed while it was sent")
        raise _BodyError from error


def _split(body: bytes) -> Iterator[Piece]:
    """Yield views of the body. Bytes that the socket takes at once are not copied."""
    view = memoryview(body)
    for start in range(0, len(body), PIECE):
        yield view[start : start + PIECE]


@caches.of_values(64)
def _line(code: int) -> str:
    """Return the status line of a response in HTTP/1.1."""
    return f"HTTP/1.1 {code} {REASON_PHRASES.get(code, '')}\r\n"


@caches.of_values(1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)


def _lines(headers: "CIMultiDict[str]") -> str:
    """Return headers as they are sent. Raises ValueError for control characters, with which a
    header could end early."""
    lines = [f"{name}: {value}" for name, value in headers.items()]
    if any(map(_CONTROL_CHARACTER.search, lines)):
        raise ValueError("a header contains a control character")
    return "".join([f"{line}\r\n" for line in lines])
