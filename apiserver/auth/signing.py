"""Signatures of JSON Web Tokens with a P-256 key: made, checked, published.

Loaded with the first token, and PyJWT and `cryptography` with it. What tokens say is
`serviceaccounts`. Follows pkg/serviceaccount/jwt.go.
"""

import base64
import hashlib
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

Object = dict[str, Any]
ALGORITHM = "ES256"
MAX_TOKEN = 16 * 1024


class Signer:
    """Signs and checks with a private key in PEM. Raises TypeError for one that is no EC key."""

    def __init__(self, pem: bytes) -> None:
        key = serialization.load_pem_private_key(pem, password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise TypeError("the signing key of service account tokens must be an EC key")
        self._key = key

    def sign(self, claims: Object) -> str:
        """A token with these claims."""
        head = {"kid": self.public_key()["kid"], "typ": None}  # the reference's have no type
        return jwt.encode(claims, self._key, ALGORITHM, headers=head)

    def signed(self, token: str) -> bool:
        """Whether the token was signed with this key."""
        try:
            jwt.PyJWS().decode(token, self._key.public_key(), algorithms=[ALGORITHM])
        except jwt.InvalidTokenError:
            return False
        return True

    def public_key(self) -> Object:
        """The key that others verify with, as a JSON Web Key.

        Its id is the hash of the key, as pkg/serviceaccount/jwt.go, keyIDFromPublicKey.
        """
        public = self._key.public_key()
        der = public.public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        kid = base64.urlsafe_b64encode(hashlib.sha256(der).digest()).rstrip(b"=").decode()
        shown = ECAlgorithm.to_jwk(public, as_dict=True)
        return {"use": "sig", "kid": kid, "alg": ALGORITHM, **shown}


def new_key() -> bytes:
    """A fresh P-256 key in PEM."""
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def read_claims(token: str) -> Object | None:
    """What a token says, whoever signed it; None for texts that are no tokens."""
    if token.count(".") != 2 or len(token) > MAX_TOKEN:
        return None
    try:
        return jwt.decode(token, options={"verify_signature": False})
    except (jwt.InvalidTokenError, RecursionError):
        return None
