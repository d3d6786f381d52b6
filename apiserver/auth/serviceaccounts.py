"""Tokens of service accounts: JWTs signed with the server's own key.

Issued by the TokenRequest subresource, checked here: signature, times, audiences, and that the
account (and what the token is bound to) still is the one it was issued for. `cryptography` is
imported on first use. Follows pkg/serviceaccount/{jwt,claims}.go.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from inkube.apiserver.registry import keys
from inkube.apiserver.registry.calls import User
from inkube.schemas.golang.gotext import quote
from inkube.storage.store import BaseStore

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

Object = dict[str, Any]
ISSUER = "https://kubernetes.default.svc.cluster.local"
AUDIENCES = (ISSUER,)
ALGORITHM = "ES256"
PREFIX = "system:serviceaccount:"
_GROUP = "system:serviceaccounts"
CREDENTIAL = "authentication.kubernetes.io/credential-id"
_SIZE = 32  # bytes of each half of a P-256 signature
_BOUND = {"pod": "pods", "secret": "secrets"}
MAX_TOKEN = 16 * 1024


class TokenRefused(Exception):
    """It is one of ours by its issuer, but not good."""


class Verified(NamedTuple):
    """Whose token it is, and which of the wanted audiences it is for."""

    user: User
    audiences: tuple[str, ...]


class ServiceAccountTokens:
    """Signs and verifies. `load` gives the private key in PEM; `now` seconds since 1970."""

    def __init__(
        self, store: BaseStore, load: Callable[[], bytes], now: Callable[[], float]
    ) -> None:
        self._store = store
        self._load = load
        self._now = now

    def issue(self, claims: Object) -> str:
        """A signed token with these claims."""
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, utils

        head = {"alg": ALGORITHM, "kid": self.public_key()["kid"]}
        signed = f"{_encode(head)}.{_encode(claims)}"
        signature = self._key.sign(signed.encode(), ec.ECDSA(hashes.SHA256()))
        r, s = utils.decode_dss_signature(signature)
        return f"{signed}.{_base64url(r.to_bytes(_SIZE) + s.to_bytes(_SIZE))}"

    def public_key(self) -> Object:
        """The key that others verify with, as a JSON Web Key."""
        numbers = self._key.public_key().public_numbers()
        point = numbers.x.to_bytes(_SIZE), numbers.y.to_bytes(_SIZE)
        return {
            "use": "sig",
            "kty": "EC",
            "kid": _base64url(hashlib.sha256(b"".join(point)).digest()),
            "crv": "P-256",
            "alg": ALGORITHM,
            "x": _base64url(point[0]),
            "y": _base64url(point[1]),
        }

    def verify(self, token: str, audiences: Sequence[str] = AUDIENCES) -> Verified | None:
        """Who holds it; None when it is no token of ours. Raises TokenRefused."""
        claims = _read_claims(token)
        if claims is None or claims.get("iss") != ISSUER:
            return None
        if not self._is_signed(token):
            raise TokenRefused("invalid signature")
        now = self._now()
        if now >= claims["exp"] or now < claims["nbf"]:
            raise TokenRefused("service account token has expired")
        shared = tuple(each for each in claims["aud"] if each in audiences)
        if not shared:
            raise TokenRefused(
                f"token audiences {_list(claims['aud'])} is invalid for the target audiences "
                f"{_list(audiences)}"
            )
        return Verified(self._user(claims), shared)

    def _user(self, claims: Object) -> User:
        private = claims["kubernetes.io"]
        namespace, account = private["namespace"], private["serviceaccount"]
        self._check_alive(namespace, "serviceaccounts", account)
        extra = [(CREDENTIAL, (f"JTI={claims['jti']}",))]
        for kind, plural in _BOUND.items():
            if kind in private:
                self._check_alive(namespace, plural, private[kind])
        if "pod" in private:
            pod = private["pod"]
            extra.append(("authentication.kubernetes.io/pod-name", (pod["name"],)))
            extra.append(("authentication.kubernetes.io/pod-uid", (pod["uid"],)))
        name = f"{PREFIX}{namespace}:{account['name']}"
        return User(name, account["uid"], groups(namespace), tuple(extra))

    def _check_alive(self, namespace: str, plural: str, named: Object) -> None:
        entry = self._store.get(keys.key(plural, namespace, named["name"]))
        if entry is None or entry.value["metadata"]["uid"] != named["uid"]:
            raise TokenRefused(f"{plural} {quote(named['name'])} is not the one it was issued for")

    def _is_signed(self, token: str) -> bool:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, utils

        signed, _, signature = token.rpartition(".")
        raw = _bytes(signature)
        if len(raw) != 2 * _SIZE:
            return False
        halves = (int.from_bytes(raw[:_SIZE]), int.from_bytes(raw[_SIZE:]))
        try:
            self._key.public_key().verify(
                utils.encode_dss_signature(*halves), signed.encode(), ec.ECDSA(hashes.SHA256())
            )
        except InvalidSignature:
            return False
        return True

    @cached_property
    def _key(self) -> "EllipticCurvePrivateKey":
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

        key = serialization.load_pem_private_key(self._load(), password=None)
        if not isinstance(key, EllipticCurvePrivateKey):
            raise TypeError("the signing key of service account tokens must be an EC key")
        return key


def new_key() -> bytes:
    """A fresh P-256 key in PEM."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def groups(namespace: str) -> tuple[str, ...]:
    """The groups of every service account of a namespace."""
    return (_GROUP, f"{_GROUP}:{namespace}")


def split(username: str) -> tuple[str, str] | None:
    """Namespace and name of `system:serviceaccount:NS:NAME`; None for other names."""
    namespace, colon, name = username.removeprefix(PREFIX).partition(":")
    if not username.startswith(PREFIX) or not colon or not namespace or not name or ":" in name:
        return None
    return namespace, name


def _read_claims(token: str) -> Object | None:
    parts = token.split(".")
    if len(parts) != 3 or len(token) > MAX_TOKEN:
        return None
    try:
        claims = json.loads(_bytes(parts[1]))
    except (ValueError, RecursionError):
        return None
    return claims if isinstance(claims, dict) else None


def _bytes(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return b""


def _encode(part: Object) -> str:
    return _base64url(json.dumps(part, separators=(",", ":")).encode())


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _list(texts: Sequence[str]) -> str:
    return "[" + " ".join(map(quote, texts)) + "]"
