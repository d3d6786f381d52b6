"""What Go's url.ParseRequestURI accepts: an absolute path or a URI with a scheme."""

import re

_PLAIN = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]+)?(?:/[!$&-~]*)?\Z")
"""The usual sort; no escapes, nothing that needs a second look."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ESCAPES = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*\Z")
_BAD_HOST = re.compile(r"[\x00-\x20\x7f\"#%/<>?@\\^`{|}]")
_HOST_ALLOWED = frozenset('<>"')
_PORT = re.compile(r"(?::[0-9]*)?\Z")


def is_request_uri(text: str) -> bool:
    """Whether url.ParseRequestURI(text) succeeds."""
    if _PLAIN.match(text):
        return True
    if not text or _CONTROLS.search(text):
        return False
    if text == "*":
        return True
    if text.startswith(":"):
        return False
    scheme = _SCHEME.match(text)
    rest = text[scheme.end() :] if scheme else text
    rest = rest.partition("?")[0]
    if not rest.startswith("/"):
        return scheme is not None
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        return _is_authority(authority) and not _ESCAPES.search(slash + path)
    return not _ESCAPES.search(rest)


def _is_authority(authority: str) -> bool:
    user, at, host = authority.rpartition("@")
    if at and (not _USER.match(user) or _ESCAPES.search(user)):
        return False
    return _is_host(host)


def _is_host(host: str) -> bool:
    if host.startswith("["):
        end = host.rfind("]")
        if end < 0 or not _PORT.match(host[end + 1 :]):
            return False
        host = host[: end + 1].split("%25", 1)[0]
    elif ":" in host and not _PORT.match(host[host.rindex(":") :]):
        return False
    return not any(char not in _HOST_ALLOWED for char in _BAD_HOST.findall(_decoded(host)))


def _decoded(host: str) -> str:
    """Without the escapes of bytes beyond ASCII, the only ones a host may have."""
    return re.sub(r"%[89A-Fa-f][0-9A-Fa-f]", "", host)
