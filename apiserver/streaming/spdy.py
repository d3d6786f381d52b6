"""Frames of SPDY/3.1, which kubectl uses for port-forward, and older versions also for exec. No
I/O.

Follows the SPDY/3.1 specification (section 2.6) as implemented in github.com/moby/spdystream:
frames of streams, pings and the end of a session. Settings and window updates are ignored, because
that library has no flow control and relies on that of the connection.
"""

import struct
import zlib
from collections.abc import Mapping
from typing import NamedTuple

VERSION = 3
SYN_STREAM, SYN_REPLY, RST_STREAM, PING, GOAWAY, HEADERS = 1, 2, 3, 6, 7, 8
FIN = 0x01
REFUSED_STREAM = 3
"""A reason in RST_STREAM: the stream was refused."""
HEAD = 8
LARGEST = 1024 * 1024
"""The largest frame, in bytes."""
LARGEST_HEADERS = 64 * 1024
"""The largest headers of one stream, in decompressed bytes."""


class ProtocolError(Exception):
    """The other side violates SPDY, or exceeds a limit."""


class Head(NamedTuple):
    """The first 8 bytes of a frame. `kind` 0 is data; `stream` is then its stream."""

    kind: int
    stream: int
    flags: int
    length: int

    @property
    def ends(self) -> bool:
        """Whether the sender's side of the stream ends with this frame."""
        return bool(self.flags & FIN)


class SynStream(NamedTuple):
    """A decoded SYN_STREAM."""

    stream: int
    headers: dict[str, str]
    ends: bool


def read_head(data: bytes) -> Head:
    """Return the head of a frame. Raises ProtocolError."""
    first, second = struct.unpack("!II", data)
    flags, length = second >> 24, second & 0xFFFFFF
    if length > LARGEST:
        raise ProtocolError(f"a frame of {length} bytes; at most {LARGEST} are taken")
    if not first & 0x80000000:
        return Head(0, first, flags, length)
    version, kind = (first >> 16) & 0x7FFF, first & 0xFFFF
    if version != VERSION:
        raise ProtocolError(f"version {version} of SPDY is not spoken here")
    return Head(kind, 0, flags, length)


def data(stream: int, payload: bytes, *, ends: bool = False) -> bytes:
    """Return a DATA frame."""
    return struct.pack("!II", stream, (FIN if ends else 0) << 24 | len(payload)) + payload


def ping(number: int) -> bytes:
    """Return a PING frame."""
    return _control(PING, struct.pack("!I", number))


def reset(stream: int, status: int) -> bytes:
    """Return an RST_STREAM frame."""
    return _control(RST_STREAM, struct.pack("!II", stream, status))


def number(payload: bytes) -> int:
    """Return the first number of a payload, without its highest bit. Raises ProtocolError."""
    if len(payload) < 4:
        raise ProtocolError("a frame is too short")
    value: int = struct.unpack_from("!I", payload)[0] & 0x7FFFFFFF
    return value


def _control(kind: int, payload: bytes, flags: int = 0) -> bytes:
    head = struct.pack("!HHI", 0x8000 | VERSION, kind, flags << 24 | len(payload))
    return head + payload


class Headers:
    """Compresses and decompresses headers. Each direction is one zlib stream for the whole
    session."""

    def __init__(self) -> None:
        self._packer = zlib.compressobj(zdict=DICTIONARY)
        self._unpacker = zlib.decompressobj(zdict=DICTIONARY)

    def syn_stream(self, head: Head, payload: bytes) -> SynStream:
        """Return the members of a SYN_STREAM frame. Raises ProtocolError."""
        if len(payload) < 10:
            raise ProtocolError("a SYN_STREAM is too short")
        return SynStream(number(payload), self.unpack(payload[10:]), head.ends)

    def unpack(self, block: bytes) -> dict[str, str]:
        """Return the headers of a block, with names in lower case. Raises ProtocolError."""
        try:
            data = self._unpacker.decompress(block, LARGEST_HEADERS)
        except zlib.error as error:
            raise ProtocolError(f"headers cannot be unpacked: {error}") from error
        if self._unpacker.unconsumed_tail:
            raise ProtocolError(f"headers have more than {LARGEST_HEADERS} bytes")
        return _pairs(data)

    def syn_reply(self, stream: int, headers: Mapping[str, str] | None = None) -> bytes:
        """Return a SYN_REPLY frame."""
        return _control(SYN_REPLY, struct.pack("!I", stream) + self._pack(headers or {}))

    def open(self, stream: int, headers: Mapping[str, str]) -> bytes:
        """Return a SYN_STREAM frame of a client."""
        return _control(SYN_STREAM, struct.pack("!IIH", stream, 0, 0) + self._pack(headers))

    def _pack(self, headers: Mapping[str, str]) -> bytes:
        data = struct.pack("!I", len(headers))
        for name, value in headers.items():
            data += _length_prefixed(name.lower()) + _length_prefixed(value)
        return self._packer.compress(data) + self._packer.flush(zlib.Z_SYNC_FLUSH)


def _length_prefixed(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("!I", len(encoded)) + encoded


def _pairs(data: bytes) -> dict[str, str]:
    pairs: dict[str, str] = {}
    at = 4
    for _ in range(number(data)):
        texts = []
        for _ in range(2):
            size = number(data[at : at + 4])
            texts.append(data[at + 4 : at + 4 + size].decode("utf-8", "replace"))
            at += 4 + size
        if at > len(data):
            raise ProtocolError("headers end too early")
        pairs[texts[0].lower()] = texts[1]
    return pairs


def _dictionary() -> bytes:
    """Return the zlib dictionary of SPDY/3, which section 2.6.10.1 of its specification
    contains."""
    names = (
        "options head post put delete trace accept accept-charset accept-encoding accept-language "
        "accept-ranges age allow authorization cache-control connection content-base "
        "content-encoding content-language content-length content-location content-md5 "
        "content-range content-type date etag expect expires from host if-match "
        "if-modified-since if-none-match if-range if-unmodified-since last-modified location "
        "max-forwards pragma proxy-authenticate proxy-authorization range referer retry-after "
        "server te trailer transfer-encoding upgrade user-agent vary via warning "
        "www-authenticate method get status"
    )
    rest = (
        "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
        "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request"
        "401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented"
        "503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, "
        "Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,"
        "application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age="
        "gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
    )
    dictionary = b"".join(_length_prefixed(name) for name in names.split(" "))
    for name in ("200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive"):
        dictionary += _length_prefixed(name)
    return dictionary + _length_prefixed("origin") + rest.encode()


DICTIONARY = _dictionary()
