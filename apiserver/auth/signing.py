"""Creates, verifies and publishes signatures of JSON Web Tokens with EC and RSA keys.

Loaded with the first token, because it imports PyJWT and `cryptography`. `serviceaccounts` contains
the claims of tokens. Follows pkg/serviceaccount/jwt.go.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from typing import Any

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from inkube.schemas.objects import Object

PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey
MAX_TOKEN = 16 * 1024
_CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_BLOCK = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----.+?-----END \1-----", re.DOTALL)


class Signer:
    """Signs with a private key in PEM. Verifies with its public key, or with those in `verifiers`.

    Raises ValueError for keys that are neither EC nor RSA.
    """

    def __init__(self, pem: bytes, verifiers: Sequence[bytes] = ()) -> None:
        key = serialization.load_pem_private_key(pem, password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
            raise ValueError("the signing key of service account tokens must be an EC or RSA key")  # noqa: TRY004 - a file's fault
        self._key = key
        self._head = {"kid": key_id(key.public_key()), "typ": None}  # upstream's have no type
        own_key = [key.public_key()]
        self._public = [each for text in verifiers for each in public_keys(text)] or own_key

    def sign(self, claims: Object) -> str:
        """Return a token with these claims."""
        return jwt.encode(claims, self._key, _algorithm(self._key.public_key()), headers=self._head)

    def has_valid_signature(self, token: str) -> bool:
        """Whether the token was signed with one of the keys."""
        return any(_is_signed(token, key) for key in self._public)

    def public_keys(self) -> list[Object]:
        """Return the public keys as JSON Web Keys, with which others verify tokens."""
        return [_json_web_key(key) for key in self._public]

    def algorithms(self) -> list[str]:
        """Return the algorithms of the keys, sorted and without repetitions."""
        return sorted({_algorithm(key) for key in self._public})


def public_keys(pem: bytes) -> list[PublicKey]:
    """Return the keys of a PEM file: public keys, private keys or certificates.

    Follows client-go/util/keyutil, parsePublicKeys. Raises ValueError if there are none.
    """
    candidates = [_public_key(block[1], block[0]) for block in _BLOCK.finditer(pem)]
    keys = [key for key in candidates if isinstance(key, PublicKey)]
    if not keys:
        raise ValueError("data does not contain any valid RSA or ECDSA public keys")
    return keys


def _public_key(name: bytes, block: bytes) -> Any:
    if name == b"CERTIFICATE":
        return x509.load_pem_x509_certificate(block).public_key()
    if name.endswith(b"PRIVATE KEY"):
        return serialization.load_pem_private_key(block, password=None).public_key()
    if name.endswith(b"PUBLIC KEY"):
        return serialization.load_pem_public_key(block)
    return None


def key_id(key: PublicKey) -> str:
    """Return the hash of a key, as pkg/serviceaccount/jwt.go, keyIDFromPublicKey."""
    der = key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return base64.urlsafe_b64encode(hashlib.sha256(der).digest()).rstrip(b"=").decode()


def _algorithm(key: PublicKey) -> str:
    """Return the algorithm, as pkg/serviceaccount/jwt.go, signerFromRSAPrivateKey and
    signerFromECDSAPrivateKey."""
    if isinstance(key, rsa.RSAPublicKey):
        return "RS256"
    if key.curve.name not in _CURVES:
        raise ValueError(f"unknown private key curve {key.curve.name}, must be 256, 384, or 521")
    return _CURVES[key.curve.name]


def _is_signed(token: str, key: PublicKey) -> bool:
    try:
        jwt.PyJWS().decode(token, key, algorithms=[_algorithm(key)])
    except jwt.InvalidTokenError:
        return False
    return True


def _json_web_key(key: PublicKey) -> Object:
    if isinstance(key, rsa.RSAPublicKey):
        members = RSAAlgorithm.to_jwk(key, as_dict=True)
    else:
        members = ECAlgorithm.to_jwk(key, as_dict=True)
    public = {name: value for name, value in members.items() if name != "key_ops"}
    return {"use": "sig", "kid": key_id(key), "alg": _algorithm(key), **public}


def new_key() -> bytes:
    """Return a new P-256 key as PEM."""
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def read_claims(token: str) -> Object | None:
    """The claims of a token, without checking its signature; None for texts that are not tokens."""
    if token.count(".") != 2 or len(token) > MAX_TOKEN:
        return None
    try:
        return jwt.decode(token, options={"verify_signature": False})
    except (jwt.InvalidTokenError, RecursionError):
        return None
