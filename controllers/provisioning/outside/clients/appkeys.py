"""Keys of GitHub Apps and the tokens signed with them (JWT, RS256).

GitHub, "Generating a JSON Web Token for a GitHub App": the issuer is the ID of the app. The token
is issued one minute in the past, because clocks differ, and is valid for less than ten minutes.
This module is loaded with the first key, together with PyJWT and `cryptography`.
"""

import base64
import binascii

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

from inkube.controllers.provisioning.outside.hosts import KeyUnreadable

ALGORITHM = "RS256"
_SKEW_SECONDS = 60
LIFETIME = 540
"""The time in seconds for which a token is valid."""


def pem_of(value: str) -> str:
    """Return the PEM inside a secure value, which is encoded in base64. Raises ValueError."""
    try:
        return base64.b64decode("".join(value.split()), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ValueError("must be the base64 encoding of a PEM file") from error


def read_key(pem: str) -> RSAPrivateKey:
    """Return the private key in a PEM. Raises ValueError."""
    try:
        key = serialization.load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ValueError("must be an RSA private key in PEM form, without a password") from error
    if not isinstance(key, RSAPrivateKey):
        raise ValueError("must be an RSA key, as GitHub generates them")  # noqa: TRY004 - its value
    return key


def sign(app_id: str, pem: str, now: float) -> str:
    """Sign a token for the app. Raises KeyUnreadable."""
    try:
        key = read_key(pem)
    except ValueError as error:
        raise KeyUnreadable from error
    claims = {"iat": int(now) - _SKEW_SECONDS, "exp": int(now) + LIFETIME, "iss": app_id}
    return jwt.encode(claims, key, ALGORITHM)


def is_signed_by(token: str, public_pem: str) -> bool:
    """Return whether the token is signed with that key. False if the key is not an RSA key."""
    try:
        key = serialization.load_pem_public_key(public_pem.encode())
    except (ValueError, UnsupportedAlgorithm):
        return False
    if not isinstance(key, RSAPublicKey):
        return False
    try:
        jwt.PyJWS().decode(token, key, algorithms=[ALGORITHM])
    except jwt.InvalidTokenError:
        return False
    return True
