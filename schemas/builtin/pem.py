"""PEM blocks as encoding/pem finds them, in texts that a member holds in base64."""

import base64
import binascii
import re

_PEM = re.compile(
    rb"-----BEGIN ([A-Z0-9 ]*)-----\s*\n(?P<headers>(?:[^\n:]+:[^\n]*\n)*)"
    rb"(?P<data>[A-Za-z0-9+/=\s]*)-----END \1-----[ \t]*(?:\n|$)"
)


def first_block(encoded: str | None) -> tuple[bytes, bytes] | None:
    """Type and bytes of the first PEM block in base64 text."""
    found = next(iter(blocks(encoded)), None)
    return None if found is None else (found[1], base64.b64decode(b"".join(found["data"].split())))


def blocks(encoded: str | None) -> list[re.Match[bytes]]:
    """Every block: its type, `headers` and `data`; none where the base64 is none."""
    try:
        return list(_PEM.finditer(base64.b64decode(encoded or "")))
    except binascii.Error:
        return []
