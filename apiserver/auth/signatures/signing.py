"""Creates, verifies and publishes signatures of JSON Web Tokens with EC and RSA keys.

Loaded with the first token, because it imports PyJWT and `cryptography`. `serviceaccounts` contains
the claims of tokens. Follows pkg/serviceaccount/jwt.go.
"""

import base64
import hashlib
from collections.abc import Sequence

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from inkube.apiserver.auth.signatures import pemkeys
from inkube.apiserver.auth.signatures.pemkeys import PublicKey
from inkube.schemas.objects import Object

MAX_TOKEN = 16 * 1024


class Signer:
    """Signs with a private key in PEM. Verifies with its public key, or with those in `verifiers`.

    Raises ValueError for keys that are neither EC nor RSA.
    """

    def __init__(self, pem: bytes, verifiers: Sequence[bytes] = ()) -> None:
        key = self._key = pemkeys.private_key(pem)
        self._head = {"kid": key_id(key.public_key()), "typ": None}  # upstream's have no type
        own_key = [key.public_key()]
        self._public = [each for text in verifiers for each in pemkeys.public_keys(text)] or own_key

    def sign(self, claims: Object) -> str:
        """Return a token with these claims."""
        return jwt.encode(
            claims, self._key, pemkeys.algorithm(self._key.public_key()), headers=self._head
        )

    def has_valid_signature(self, token: str) -> bool:
        """Return whether the token was signed with one of the keys."""
        return any(_is_signed(token, key) for key in self._public)

    def public_keys(self) -> list[Object]:
        """Return the public keys as JSON Web Keys, with which others verify tokens."""
        return [_json_web_key(key) for key in self._public]

    def algorithms(self) -> list[str]:
        """Return the algorithms of the keys, sorted and without repetitions."""
        return sorted({pemkeys.algorithm(key) for key in self._public})


def key_id(key: PublicKey) -> str:
    """Return the hash of a key, as pkg/serviceaccount/jwt.go, keyIDFromPublicKey."""
    der = key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return base64.urlsafe_b64encode(hashlib.sha256(der).digest()).rstrip(b"=").decode()


def _is_signed(token: str, key: PublicKey) -> bool:
    try:
        jwt.PyJWS().decode(token, key, algorithms=[pemkeys.algorithm(key)])
    except jwt.InvalidTokenError:
        return False
    return True


def _json_web_key(key: PublicKey) -> Object:
    if isinstance(key, rsa.RSAPublicKey):
        members = RSAAlgorithm.to_jwk(key, as_dict=True)
    else:
        members = ECAlgorithm.to_jwk(key, as_dict=True)
    public = {name: value for name, value in members.items() if name != "key_ops"}
    return {"use": "sig", "kid": key_id(key), "alg": pemkeys.algorithm(key), **public}


def new_key() -> bytes:
    """Return a new P-256 key as PEM."""
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def read_claims(token: str) -> Object | None:
    """Return the claims of a token, without checking its signature; None for texts that are not
    tokens."""
    if token.count(".") != 2 or len(token) > MAX_TOKEN:
        return None
    try:
        return jwt.decode(token, options={"verify_signature": False})
    except (jwt.InvalidTokenError, RecursionError):
        return None
