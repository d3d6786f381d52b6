"""Checks of CA bundles, as ValidateCABundle in apiserver/pkg/util/webhook."""

import base64
import binascii
import re
from collections.abc import Iterator

from inkube.schemas.fielderrors import FieldError, invalid

_BLOCK = re.compile(
    rb"-----BEGIN CERTIFICATE-----\r?\n([A-Za-z0-9+/=\s]*?)-----END CERTIFICATE-----"
)
_NOTHING = "data does not contain any valid RSA or ECDSA certificates"


def validate(bundle: str, path: str) -> Iterator[FieldError]:
    """Yield the errors of a base64 bundle. Only the outer structure of certificates is checked."""
    problem = _problem(base64.b64decode(bundle))
    if problem:
        yield invalid(path, bundle, f"unable to load root certificates: {problem}")


def is_valid(bundle: str) -> bool:
    """Return whether the base64 bundle contains certificates."""
    return not _problem(base64.b64decode(bundle))


def _problem(pem: bytes) -> str:
    blocks = _BLOCK.findall(pem)
    if not blocks:
        return _NOTHING
    for block in blocks:
        try:
            der = base64.b64decode(block)
        except binascii.Error:
            return _NOTHING
        if der[:1] != b"\x30":
            return "x509: malformed certificate"
    return ""
