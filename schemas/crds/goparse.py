"""What Go's net/url accepts, as far as CRD validation asks."""

import re

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):(.*)$", re.DOTALL)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def is_absolute_url(text: str) -> bool:
    """Whether url.Parse succeeds and finds both a scheme and a host (apihelpers' isCRDApproved)."""
    match = _SCHEME.match(text)
    if match is None or any(ord(char) < 0x20 or ord(char) == 0x7F for char in text):
        return False
    rest = match[2].partition("#")[0].partition("?")[0]
    if not rest.startswith("//"):
        return False
    host, _, path = rest[2:].partition("/")
    return bool(host) and " " not in host and not _BAD_ESCAPE.search(path)
