"""Reads EC and RSA keys in PEM, without the code that signs with them.

The keys of a server are checked at its start, where loading PyJWT would take a tenth of the time.
"""

import re
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
_CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_BLOCK = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----.+?-----END \1-----", re.DOTALL)


def private_key(pem: bytes) -> PrivateKey:
    """Return the key that signs tokens. Raises ValueError for keys that are neither EC nor RSA."""
    key = serialization.load_pem_private_key(pem, password=None)
    if not isinstance(key, PrivateKey):
        raise ValueError("the signing key of service account tokens must be an EC or RSA key")  # noqa: TRY004 - a file's fault
    algorithm(key.public_key())
    return key


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


def algorithm(key: PublicKey) -> str:
    """Return the algorithm, as pkg/serviceaccount/jwt.go, signerFromRSAPrivateKey and
    signerFromECDSAPrivateKey. Raises ValueError for an unknown curve."""
    if isinstance(key, rsa.RSAPublicKey):
        return "RS256"
    if key.curve.name not in _CURVES:
        raise ValueError(f"unknown private key curve {key.curve.name}, must be 256, 384, or 521")
    return _CURVES[key.curve.name]
