"""Frames of SPDY/3.1, as bytes: what kubectl speaks in port-forward, and older ones in exec.

Pure: no I/O. Follows the SPDY/3.1 specification (section 2.6) as github.com/moby/spdystream has it:
frames of streams, pings and the end of a session; settings and windows are read over, since that
library knows no flow control and relies on the connection's own.
"""

import struct
import zlib
from collections.abc import Mapping
from typing import NamedTuple

VERSION = 3
SYN_STREAM, SYN_REPLY, RST_STREAM, PING, GOAWAY, HEADERS = 1, 2, 3, 6, 7, 8
FIN = 0x01
REFUSED = 3
"""A reason of RST_STREAM."""
HEAD = 8
LARGEST = 1024 * 1024
"""Bytes of one frame."""
LARGEST_HEADERS = 64 * 1024
"""Bytes of the headers of one stream, unpacked."""


class ProtocolError(Exception):
    """The other side does not speak SPDY, or sends more than is taken."""


class Head(NamedTuple):
    """The first 8 bytes of a frame. `kind` 0 is data, `stream` then its stream."""

    kind: int
    stream: int
    flags: int
    length: int

    @property
    def ends(self) -> bool:
        """Whether the sender's side of the stream ends with it."""
        return bool(self.flags & FIN)


class Opened(NamedTuple):
    """A SYN_STREAM."""

    stream: int
    headers: dict[str, str]
    ends: bool


def read_head(data: bytes) -> Head:
    """The head of a frame. Raises ProtocolError."""
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
    """A DATA frame."""
    return struct.pack("!II", stream, (FIN if ends else 0) << 24 | len(payload)) + payload


def ping(number: int) -> bytes:
    """A PING frame."""
    return _control(PING, struct.pack("!I", number))


def reset(stream: int, why: int) -> bytes:
    """An RST_STREAM frame."""
    return _control(RST_STREAM, struct.pack("!II", stream, why))


def number(payload: bytes) -> int:
    """The first number of a payload, without its highest bit. Raises ProtocolError."""
    if len(payload) < 4:
        raise ProtocolError("a frame is too short")
    found: int = struct.unpack_from("!I", payload)[0] & 0x7FFFFFFF
    return found


def _control(kind: int, payload: bytes, flags: int = 0) -> bytes:
    head = struct.pack("!HHI", 0x8000 | VERSION, kind, flags << 24 | len(payload))
    return head + payload


class Headers:
    """Packs and unpacks headers; each direction is one stream of zlib for the whole session."""

    def __init__(self) -> None:
        self._packer = zlib.compressobj(zdict=DICTIONARY)
        self._unpacker = zlib.decompressobj(zdict=DICTIONARY)

    def opened(self, head: Head, payload: bytes) -> Opened:
        """The members of a SYN_STREAM frame. Raises ProtocolError."""
        if len(payload) < 10:
            raise ProtocolError("a SYN_STREAM is too short")
        return Opened(number(payload), self.unpack(payload[10:]), head.ends)

    def unpack(self, block: bytes) -> dict[str, str]:
        """The headers of a block, names in lower case. Raises ProtocolError."""
        try:
            plain = self._unpacker.decompress(block, LARGEST_HEADERS)
        except zlib.error as error:
            raise ProtocolError(f"headers cannot be unpacked: {error}") from error
        if self._unpacker.unconsumed_tail:
            raise ProtocolError(f"headers have more than {LARGEST_HEADERS} bytes")
        return _pairs(plain)

    def reply(self, stream: int, headers: Mapping[str, str] | None = None) -> bytes:
        """A SYN_REPLY frame."""
        return _control(SYN_REPLY, struct.pack("!I", stream) + self._pack(headers or {}))

    def open(self, stream: int, headers: Mapping[str, str]) -> bytes:
        """A SYN_STREAM frame, as a client sends it."""
        return _control(SYN_STREAM, struct.pack("!IIH", stream, 0, 0) + self._pack(headers))

    def _pack(self, headers: Mapping[str, str]) -> bytes:
        plain = struct.pack("!I", len(headers))
        for name, value in headers.items():
            plain += _sized(name.lower()) + _sized(value)
        return self._packer.compress(plain) + self._packer.flush(zlib.Z_SYNC_FLUSH)


def _sized(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("!I", len(encoded)) + encoded


def _pairs(plain: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 4
    for _ in range(number(plain)):
        texts = []
        for _ in range(2):
            size = number(plain[at : at + 4])
            texts.append(plain[at + 4 : at + 4 + size].decode("utf-8", "replace"))
            at += 4 + size
        if at > len(plain):
            raise ProtocolError("headers end too early")
        found[texts[0].lower()] = texts[1]
    return found


def _dictionary() -> bytes:
    """The text both sides of SPDY/3 fill zlib with: section 2.6.10.1 of its specification."""
    sized = (
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
    found = b"".join(_sized(name) for name in sized.split(" "))
    for name in ("200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive"):
        found += _sized(name)
    return found + _sized("origin") + rest.encode()


DICTIONARY = _dictionary()
