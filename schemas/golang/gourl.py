"""URLs as Go's net/url parses them, including its errors.

Errors are ValueError with the text of url.Error (`parse ":no url": missing protocol scheme`).
Escapes stay until they are decoded for output. Bytes that are not UTF-8 then become U+FFFD. Follows
net/url/url.go (parse, parseAuthority, parseHost, unescape, shouldEscape).
"""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from inkube.schemas.golang import gotext, netip, urlquery

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):", re.ASCII)
_PORT: Final = re.compile(r"(?::[0-9]*)?", re.ASCII)
_USERINFO: Final = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*", re.ASCII)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPE: Final = re.compile(r"%[0-9a-fA-F]{2}", re.ASCII)
_UNRESERVED: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"
)
_IN_HOST: Final = _UNRESERVED | frozenset(b"!$&'()*+,;=:[]<>\"")
_IN_PATH: Final = _UNRESERVED | frozenset(b"$&+,/:;=@")
_IN_ENCODED_PATH: Final = _IN_PATH | frozenset(b"!'()*[]%")


class _Mode(Enum):
    PATH = 0
    HOST = 1
    ZONE = 2
    USER = 3
    QUERY = 4
    FRAGMENT = 5


@dataclass(frozen=True, slots=True)
class URL:
    """A parsed URL. `path` and `query` contain the original escapes."""

    scheme: str = ""
    opaque: str = ""
    user: str | None = None
    host: str = ""
    path: str = ""
    query: str = ""
    forces_query: bool = False
    fragment: str = ""

    @property
    def hostname(self) -> str:
        """Hostname: the host without port and brackets."""
        return _split_port(self.host)[0]

    @property
    def port(self) -> str:
        """Port, or "" without one."""
        return _split_port(self.host)[1]

    @property
    def escaped_path(self) -> str:
        """EscapedPath: the path as written if its encoding is valid, else escaped again."""
        data = self.path.encode("utf-8", "surrogatepass")
        if self.path == "*" or all(byte in _IN_ENCODED_PATH for byte in data):
            return self.path
        plain = _unescape_bytes(self.path, _Mode.PATH)
        return "".join(chr(byte) if byte in _IN_PATH else f"%{byte:02X}" for byte in plain)

    def values(self) -> dict[str, list[str]]:
        """Query: values by key; pairs with a semicolon or a broken escape are left out."""
        values: dict[str, list[str]] = {}
        for name, text in urlquery.pairs(self.query):
            values.setdefault(name, []).append(text)
        return values


def parse(text: str) -> URL:
    """`url.Parse`: relative references too."""
    before, _, fragment = text.partition("#")
    try:
        url = _parsed(before, via_request=False)
    except ValueError as error:
        raise _failed(before, error) from None
    if not fragment:
        return url
    try:
        _unescape_bytes(fragment, _Mode.FRAGMENT)
    except ValueError as error:
        raise _failed(text, error) from None
    return URL(*_parts(url)[:-1], fragment)


def parse_request_uri(text: str) -> URL:
    """`url.ParseRequestURI`: absolute URLs and absolute paths. `#` does not begin a fragment."""
    try:
        return _parsed(text, via_request=True)
    except ValueError as error:
        raise _failed(text, error) from None


def _parts(url: URL) -> tuple[str, str, str | None, str, str, str, bool, str]:
    return (
        url.scheme, url.opaque, url.user, url.host, url.path, url.query, url.forces_query,
        url.fragment,
    )  # fmt: skip


def _failed(text: str, error: ValueError) -> ValueError:
    return ValueError(f"parse {gotext.quote(text)}: {error}")


def _parsed(text: str, *, via_request: bool) -> URL:
    if _CONTROL.search(text):
        raise ValueError("net/url: invalid control character in URL")
    if not text and via_request:
        raise ValueError("empty url")
    if text == "*":
        return URL(path="*")
    scheme, rest = _scheme(text)
    forces_query = rest.endswith("?") and rest.count("?") == 1
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return URL(scheme=scheme, opaque=rest, query=query, forces_query=forces_query)
        if via_request:
            raise ValueError("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise ValueError("first path segment in URL cannot contain colon")
    user, host = None, ""
    has_authority = scheme or (not via_request and not rest.startswith("///"))
    if has_authority and rest.startswith("//"):
        authority, slash, after = rest[2:].partition("/")
        rest = slash + after
        user, host = _authority(authority)
    _unescape_bytes(rest, _Mode.PATH)
    return URL(scheme, "", user, host, rest, query, forces_query)


def _scheme(text: str) -> tuple[str, str]:
    if text.startswith(":"):
        raise ValueError("missing protocol scheme")
    match = _SCHEME.match(text)
    return (match[1].lower(), text[match.end() :]) if match else ("", text)


def _authority(text: str) -> tuple[str | None, str]:
    userinfo, at, rest = text.rpartition("@")
    host = _host(rest)
    if not at:
        return None, host
    if not _USERINFO.fullmatch(userinfo):
        raise ValueError("net/url: invalid userinfo")
    name, colon, password = userinfo.partition(":")
    return _unescape(name, _Mode.USER) + colon + _unescape(password, _Mode.USER), host


def _host(text: str) -> str:
    bracket = text.rfind("[")
    if bracket > 0:
        raise ValueError("invalid IP-literal")
    if bracket == 0:
        return _literal(text)
    colon = text.find(":")
    if colon >= 0:
        _check_port(text[colon:])
    return _unescape(text, _Mode.HOST)


def _literal(text: str) -> str:
    """`[fe80::1%25en0]:80`: an IPv6 address in brackets, with its port."""
    end = text.rfind("]")
    if end < 0:
        raise ValueError("missing ']' in host")
    _check_port(text[end + 1 :])
    inner = text[1:end]
    zone = inner.find("%25")
    if zone >= 0:
        inner = _unescape(inner[:zone], _Mode.HOST) + _unescape(inner[zone:], _Mode.ZONE)
    else:
        inner = _unescape(inner, _Mode.HOST)
    try:
        addr = netip.parse_addr(inner)
    except ValueError as error:
        raise ValueError(f"invalid host: {error}") from None
    if addr.bits == 32:
        raise ValueError("invalid IP-literal")
    return f"[{inner}]{text[end + 1 :]}"


def _check_port(text: str) -> None:
    if not _PORT.fullmatch(text):
        raise ValueError(f"invalid port {gotext.quote(text)} after host")


def _split_port(host: str) -> tuple[str, str]:
    before, colon, port = host.rpartition(":")
    if not colon or not _PORT.fullmatch(colon + port):
        before, port = host, ""
    if before.startswith("[") and before.endswith("]"):
        before = before[1:-1]
    return before, port


def _unescape(text: str, mode: _Mode) -> str:
    return _unescape_bytes(text, mode).decode("utf-8", "replace")


def _unescape_bytes(text: str, mode: _Mode) -> bytes:
    data = bytearray()
    position = 0
    while position < len(text):
        char = text[position]
        if char == "%":
            escape = text[position : position + 3]
            data.append(_escaped_byte(escape, mode))
            position += 3
            continue
        if mode in (_Mode.HOST, _Mode.ZONE) and char < "\x80" and ord(char) not in _IN_HOST:
            raise ValueError(f"invalid character {gotext.quote(char)} in host name")
        data += b" " if mode is _Mode.QUERY and char == "+" else _encoded(char)
        position += 1
    return bytes(data)


def _encoded(char: str) -> bytes:
    return char.encode("utf-8", "surrogatepass")


def _escaped_byte(escape: str, mode: _Mode) -> int:
    """Return the byte of an escape. Hosts allow only non-ASCII bytes, zones only necessary
    escapes."""
    if not _ESCAPE.fullmatch(escape):
        raise ValueError(f"invalid URL escape {gotext.quote(escape)}")
    byte = int(escape[1:], 16)
    if mode is _Mode.HOST and byte < 0x80 and escape != "%25":
        raise ValueError(f"invalid URL escape {gotext.quote(escape)}")
    if mode is _Mode.ZONE and escape != "%25" and byte != 0x20 and byte not in _IN_HOST:
        raise ValueError(f"invalid URL escape {gotext.quote(escape)}")
    return byte
