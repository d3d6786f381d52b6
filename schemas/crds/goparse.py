"""URLs as Go's net/url reads them, as far as CRDs hold any."""

import re
from typing import NamedTuple

from inkube.schemas.golang import gotext

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})(.{0,2})", re.DOTALL)
_PORT = re.compile(r"(?::\d*)?")
_HOST_FORBIDDEN = re.compile(r"[ \"<>\\^`{|}]")


class InvalidURL(ValueError):
    """What url.Parse says of a text that is no URL."""


class URL(NamedTuple):
    """The parts that are asked for; `user` is None without user information."""

    scheme: str
    host: str
    user: str | None
    query: str
    fragment: str


def url(text: str) -> URL:
    """Parse the text. Raises InvalidURL."""

    def refuse(why: str) -> InvalidURL:
        return InvalidURL(f"parse {gotext.quote(text)}: {why}")

    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in text):
        raise refuse("net/url: invalid control character in URL")
    rest, _, fragment = text.partition("#")
    match = _SCHEME.fullmatch(rest)
    if rest.startswith(":"):
        raise refuse("missing protocol scheme")
    scheme, rest = (match[1].lower(), match[2]) if match else ("", rest)
    rest, _, query = rest.partition("?")
    host, user = "", None
    if not rest.startswith("/") and not scheme and ":" in rest.partition("/")[0]:
        raise refuse("first path segment in URL cannot contain colon")
    if rest.startswith("//"):
        authority, _, path = rest[2:].partition("/")
        given, at, host = authority.rpartition("@")
        user = given if at else None
        if why := _bad_host(host):
            raise refuse(why)
        rest = path
    if bad := _BAD_ESCAPE.search(rest):
        raise refuse(f"invalid URL escape {gotext.quote(bad[0])}")
    return URL(scheme, host, user, query, fragment)


def is_absolute_url(text: str) -> bool:
    """Whether the text is a URL with both a scheme and a host."""
    try:
        found = url(text)
    except InvalidURL:
        return False
    return bool(found.scheme and found.host)


def _bad_host(host: str) -> str:
    if host.startswith("["):
        address, closing, port = host.rpartition("]")
        if not closing:
            return "missing ']' in host"
    else:
        address, colon, port = host.rpartition(":")
        address, port = (address, colon + port) if colon else (host, "")
    if not _PORT.fullmatch(port):
        return f"invalid port {gotext.quote(port)} after host"
    if bad := _HOST_FORBIDDEN.search(address):
        return f"invalid character {gotext.quote(bad[0])} in host name"
    return ""
