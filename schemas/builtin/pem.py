"""PEM blocks as encoding/pem finds them, in base64 texts of members."""

import base64
import binascii
import re

_PEM = re.compile(
    rb"-----BEGIN ([A-Z0-9 ]*)-----\s*\n(?P<headers>(?:[^\n:]+:[^\n]*\n)*)"
    rb"(?P<data>[A-Za-z0-9+/=\s]*)-----END \1-----[ \t]*(?:\n|$)"
)


def first_block(encoded: str | None) -> tuple[bytes, bytes] | None:
    """Return the type and bytes of the first PEM block in base64 text, or None."""
    found = next(iter(blocks(encoded)), None)
    return None if found is None else (found[1], base64.b64decode(b"".join(found["data"].split())))


def blocks(encoded: str | None) -> list[re.Match[bytes]]:
    """Return a match with type, `headers` and `data` for every block; empty for invalid base64."""
    try:
        return list(_PEM.finditer(base64.b64decode(encoded or "")))
    except binascii.Error:
        return []
