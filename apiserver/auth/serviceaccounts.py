"""Tokens of service accounts: JWTs signed with the server's own key.

Issued by the TokenRequest subresource, checked here: signature, times, audiences, and that the
account (and what the token is bound to) still is the one it was issued for. What signs
is `signing`. Follows pkg/serviceaccount/{jwt,claims}.go.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from inkube.apiserver import auth
from inkube.apiserver.registry import User, keys
from inkube.schemas.golang import quote
from inkube.schemas.lazy import Late
from inkube.schemas.objects import Object
from inkube.storage import BaseStore

ISSUER = "https://kubernetes.default.svc"
PREFIX = "system:serviceaccount:"
_GROUP = "system:serviceaccounts"
CREDENTIAL = "authentication.kubernetes.io/credential-id"
_BOUND = {"pod": "pods", "secret": "secrets"}


class TokenRefused(Exception):
    """It is one of ours by its issuer, but not good."""


class Verified(NamedTuple):
    """Whose token it is, and which of the wanted audiences it is for."""

    user: User
    audiences: tuple[str, ...]


class SigningKeys(NamedTuple):
    """In PEM: the key that signs, and those that tokens are checked with (none: the same)."""

    private: bytes
    public: Sequence[bytes] = ()


class Issuing(NamedTuple):
    """Names of the issuer: new tokens contain the first of `issuers`, and all of them are
    accepted."""

    issuers: Sequence[str] = (ISSUER,)
    audiences: Sequence[str] = ()
    """The default audiences of tokens; if empty, the first issuer."""


class ServiceAccountTokens:
    """Signs and verifies. `load` gives the keys; `now` seconds since 1970."""

    def __init__(
        self,
        store: BaseStore,
        load: Callable[[], SigningKeys],
        now: Callable[[], float],
        issuing: Issuing | None = None,
    ) -> None:
        self._store = store
        self._signer = Late(lambda: auth.signing.Signer(*load()))
        self._now = now
        issuing = issuing or Issuing()
        self._issuers = issuing.issuers
        self.issuer: Final = issuing.issuers[0]
        self.audiences: Final = tuple(issuing.audiences) or (self.issuer,)

    def issue(self, claims: Object) -> str:
        """A signed token with these claims."""
        return self._signer().sign(claims)

    def public_keys(self) -> list[Object]:
        """The keys that others verify with, as JSON Web Keys."""
        return self._signer().public_keys()

    def algorithms(self) -> list[str]:
        """What the keys sign with."""
        return self._signer().algorithms()

    def verify(self, token: str, audiences: Sequence[str]) -> Verified | None:
        """Who holds it; None when it is no token of ours. Raises TokenRefused."""
        claims = auth.signing.read_claims(token)
        if claims is None or claims.get("iss") not in self._issuers:
            return None
        if not self._signer().signed(token):
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


def groups(namespace: str) -> tuple[str, ...]:
    """The groups of every service account of a namespace."""
    return (_GROUP, f"{_GROUP}:{namespace}")


def split(username: str) -> tuple[str, str] | None:
    """Namespace and name of `system:serviceaccount:NS:NAME`; None for other names."""
    namespace, colon, name = username.removeprefix(PREFIX).partition(":")
    if not username.startswith(PREFIX) or not colon or not namespace or not name or ":" in name:
        return None
    return namespace, name


def _list(texts: Sequence[str]) -> str:
    return "[" + " ".join(map(quote, texts)) + "]"
