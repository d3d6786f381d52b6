"""Keys of GitHub Apps and the tokens signed with them (JWT, RS256).

GitHub: "Generating a JSON Web Token for a GitHub App": issuer is the app's ID, issued a minute ago
because clocks differ, valid for less than ten minutes. `cryptography` is imported on first use: it
takes longer than a server may take to start.
"""

import base64
import binascii
import json
from typing import TYPE_CHECKING

from inkube.controllers.provisioning.hosts import KeyRefused

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

_BEHIND = 60
_LIFETIME = 540


def pem_of(value: str) -> str:
    """The PEM inside a secure value, which holds it in base64. Raises ValueError."""
    try:
        return base64.b64decode("".join(value.split()), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ValueError("must be the base64 encoding of a PEM file") from error


def read_key(pem: str) -> "RSAPrivateKey":
    """The private key in a PEM. Raises ValueError."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    try:
        key = serialization.load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ValueError("must be an RSA private key in PEM form, without a password") from error
    if not isinstance(key, RSAPrivateKey):
        raise ValueError("must be an RSA key, as GitHub generates them")  # noqa: TRY004 - its value
    return key


def sign(app_id: str, pem: str, now: float) -> str:
    """A token in the name of the app. Raises KeyRefused when the key cannot be read."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    try:
        key = read_key(pem)
    except ValueError as error:
        raise KeyRefused from error
    claims = {"iat": int(now) - _BEHIND, "exp": int(now) + _LIFETIME, "iss": app_id}
    signed = f"{_encode({'alg': 'RS256', 'typ': 'JWT'})}.{_encode(claims)}"
    signature = key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{signed}.{_base64url(signature)}"


def is_signed_by(token: str, public_pem: str) -> bool:
    """Does the signature belong to that public key? False for anything that is no RSA key."""
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import padding
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    signed, _, signature = token.rpartition(".")
    try:
        key = serialization.load_pem_public_key(public_pem.encode())
        raw = base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
    except (ValueError, UnsupportedAlgorithm):
        return False
    if not isinstance(key, RSAPublicKey):
        return False
    try:
        key.verify(raw, signed.encode(), padding.PKCS1v15(), hashes.SHA256())
    except InvalidSignature:
        return False
    return True


def _encode(part: dict[str, object]) -> str:
    return _base64url(json.dumps(part, separators=(",", ":")).encode())


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
