"""Tokens of service accounts: JWTs signed with the server's own key.

Issued by the TokenRequest subresource, checked here: signature, times, audiences, and that the
account (and what the token is bound to) still is the one it was issued for. PyJWT and
`cryptography` are imported on first use. Follows pkg/serviceaccount/{jwt,claims}.go.
"""

import base64
import hashlib
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
        import jwt

        head = {"kid": self.public_key()["kid"], "typ": None}  # the reference's have no type
        return jwt.encode(claims, self._key, ALGORITHM, headers=head)

    def public_key(self) -> Object:
        """The key that others verify with, as a JSON Web Key.

        Its id is the hash of the key, as pkg/serviceaccount/jwt.go, keyIDFromPublicKey.
        """
        from cryptography.hazmat.primitives import serialization
        from jwt.algorithms import ECAlgorithm

        public = self._key.public_key()
        der = public.public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        kid = base64.urlsafe_b64encode(hashlib.sha256(der).digest()).rstrip(b"=").decode()
        return {
            "use": "sig",
            "kid": kid,
            "alg": ALGORITHM,
            **ECAlgorithm.to_jwk(public, as_dict=True),
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
        import jwt

        try:
            jwt.PyJWS().decode(token, self._key.public_key(), algorithms=[ALGORITHM])
        except jwt.InvalidTokenError:
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
    """What a token says, whoever signed it; None for texts that are no tokens."""
    if token.count(".") != 2 or len(token) > MAX_TOKEN:
        return None
    import jwt

    try:
        return jwt.decode(token, options={"verify_signature": False})
    except (jwt.InvalidTokenError, RecursionError):
        return None


def _list(texts: Sequence[str]) -> str:
    return "[" + " ".join(map(quote, texts)) + "]"
