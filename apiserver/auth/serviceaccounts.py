"""Tokens of service accounts: JWTs that are signed with the server's own key.

The TokenRequest subresource issues them. This module verifies the signature, the times and the
audiences, and that the account and the object of the token still exist with the same uid. Tokens
that kube-controller-manager signed with the same key are valid while their Secret contains them.
`signing` contains the signatures. Follows pkg/serviceaccount/{jwt,claims,legacy}.go.
"""

import base64
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from inkube.apiserver.auth import signatures
from inkube.apiserver.registry import User, keys
from inkube.schemas import golang
from inkube.schemas.golang import quote
from inkube.schemas.lazy import Lazy
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object
from inkube.storage import BaseStore

LEGACY_ISSUER = "kubernetes/serviceaccount"
"""The issuer of the tokens in Secrets that kube-controller-manager fills."""
_LEGACY = "kubernetes.io/serviceaccount/"
_INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"
ISSUER = "https://kubernetes.default.svc"
PREFIX = "system:serviceaccount:"
_GROUP = "system:serviceaccounts"
CREDENTIAL = "authentication.kubernetes.io/credential-id"
LEEWAY_SECONDS = 60.0
"""How much the clocks of servers may differ: tokens are valid that long before and after their
time (jwt.DefaultLeeway), and that long after the deletion of their objects has begun."""
_BOUND_OBJECTS = {"node": "nodes", "pod": "pods", "secret": "secrets"}
_INVALIDATED = "service account token has been invalidated"


class TokenRefused(Exception):
    """An invalid token whose issuer is this server."""


class VerifiedToken(NamedTuple):
    """The user of a token, and the requested audiences for which it is valid."""

    user: User
    audiences: tuple[str, ...]
    stale: str = ""
    """How long ago its pod should have read a new one; "" if it need not yet."""


class SigningKeys(NamedTuple):
    """Keys as PEM: the key that signs, and those that verify (if empty, the same key)."""

    private: bytes
    public: Sequence[bytes] = ()


class Issuers(NamedTuple):
    """Names of the issuer: new tokens contain the first of `issuers`, and all of them are
    accepted."""

    issuers: Sequence[str] = (ISSUER,)
    audiences: Sequence[str] = ()
    """The default audiences of tokens; if empty, the first issuer."""


class ServiceAccountTokens:
    """Issues and verifies tokens. `load` returns the keys; `now` returns seconds since 1970."""

    def __init__(
        self,
        store: BaseStore,
        load: Callable[[], SigningKeys],
        now: Callable[[], float],
        issuers: Issuers | None = None,
    ) -> None:
        self._store = store
        self._signer = Lazy(lambda: signatures.signing.Signer(*load()))
        self._now = now
        issuers = issuers or Issuers()
        self._issuers = issuers.issuers
        self.issuer: Final = issuers.issuers[0]
        self.audiences: Final = tuple(issuers.audiences) or (self.issuer,)

    def issue(self, claims: Object) -> str:
        """Return a signed token with these claims."""
        return self._signer().sign(claims)

    def public_keys(self) -> list[Object]:
        """Return the public keys as JSON Web Keys, with which others verify tokens."""
        return self._signer().public_keys()

    def algorithms(self) -> list[str]:
        """Return the algorithms of the keys."""
        return self._signer().algorithms()

    def verify(self, token: str, audiences: Sequence[str]) -> VerifiedToken | None:
        """Return the user of a token, or None if this server did not issue it. Raises
        TokenRefused."""
        claims = signatures.signing.read_claims(token)
        issuer = None if claims is None else claims.get("iss")
        if claims is None or issuer not in (LEGACY_ISSUER, *self._issuers):
            return None
        if not self._signer().has_valid_signature(token):
            raise TokenRefused("invalid signature")
        if issuer == LEGACY_ISSUER:
            return VerifiedToken(self._legacy_user(token, claims), ())
        shared = tuple(each for each in claims["aud"] if each in audiences)
        if not shared:
            raise TokenRefused(
                f"token audiences {_list(claims['aud'])} is invalid for the target audiences "
                f"{_list(audiences)}"
            )
        now = self._now()
        _check_times(claims, now)
        return VerifiedToken(self._user(claims, now), shared, _stale(claims, now))

    def _user(self, claims: Object, now: float) -> User:
        private = claims["kubernetes.io"]
        namespace, account = private["namespace"], private["serviceaccount"]
        self._check_account(namespace, account, now)
        extra = [(CREDENTIAL, (f"JTI={claims['jti']}",))]
        for kind in ("secret", "pod"):
            if kind in private:
                self._check_bound(kind, namespace, private[kind], now)
        if "node" in private and "pod" not in private:
            self._check_bound("node", "", private["node"], now)
        for kind in ("node", "pod"):
            for member, value in private.get(kind, {}).items():
                extra.append((f"authentication.kubernetes.io/{kind}-{member}", (value,)))
        name = f"{PREFIX}{namespace}:{account['name']}"
        return User(name, account["uid"], groups(namespace), tuple(extra))

    def _legacy_user(self, token: str, claims: Object) -> User:
        """Return the user of a token without expiry, which its Secret must contain."""
        namespace, secret, account, uid = (
            str(claims.get(f"{_LEGACY}{member}") or "")
            for member in (
                "namespace", "secret.name", "service-account.name", "service-account.uid"
            )
        )  # fmt: skip
        name = f"{PREFIX}{namespace}:{account}"
        if claims.get("sub") != name:
            raise TokenRefused("sub claim is invalid")
        kept = self._living(namespace, "secrets", secret)
        if kept is None:
            raise TokenRefused("Token has been invalidated")
        data = (kept.get("data") or {}).get("token", "")
        if data != base64.b64encode(token.encode()).decode():
            raise TokenRefused("Token does not match server's copy")
        found = self._living(namespace, "serviceaccounts", account)
        if found is None:
            raise TokenRefused(f"ServiceAccount {namespace}/{account} has been deleted")
        if found["metadata"]["uid"] != uid:
            now = found["metadata"]["uid"]
            raise TokenRefused(f"ServiceAccount UID ({now}) does not match claim ({uid})")
        if (kept["metadata"].get("labels") or {}).get(_INVALID_SINCE):
            raise TokenRefused(
                f"the token in secret {namespace}/{secret} for service account {namespace}/"
                f"{account} has been marked invalid. Use tokens from the TokenRequest API or"
                f" manually created secret-based tokens, or remove the '{_INVALID_SINCE}' label"
                " from the secret to temporarily allow use of this token"
            )
        return User(name, uid, groups(namespace))

    def _living(self, namespace: str, plural: str, name: str) -> Object | None:
        """Return an object, or None if there is none or if it is being deleted."""
        entry = self._store.get(keys.key(plural, namespace, name))
        if entry is None or "deletionTimestamp" in entry.value["metadata"]:
            return None
        return entry.value

    def _check_account(self, namespace: str, reference: Object, now: float) -> None:
        """Raise TokenRefused if the account of a token has ended."""
        name, expected = reference["name"], reference["uid"]
        entry = self._store.get(keys.key("serviceaccounts", namespace, name))
        if entry is None:
            raise TokenRefused(f"serviceaccounts {quote(name)} not found")
        uid = entry.value["metadata"]["uid"]
        if uid != expected:
            raise TokenRefused(f"service account UID ({uid}) does not match claim ({expected})")
        if _has_ended(entry.value, now):
            raise TokenRefused(f"service account {namespace}/{name} has been deleted")

    def _check_bound(self, kind: str, namespace: str, reference: Object, now: float) -> None:
        """Raise TokenRefused if an object to which a token is bound has ended."""
        entry = self._store.get(keys.key(_BOUND_OBJECTS[kind], namespace, reference["name"]))
        if entry is None:
            raise TokenRefused(_INVALIDATED)
        uid, expected = entry.value["metadata"]["uid"], reference["uid"]
        if uid != expected:
            raise TokenRefused(
                f"{kind} UID ({uid}) does not match service account {kind} ref claim ({expected})"
            )
        if _has_ended(entry.value, now):
            raise TokenRefused(_INVALIDATED)


def _has_ended(obj: Object, now: float) -> bool:
    """Return whether the deletion of an object began more than LEEWAY_SECONDS ago."""
    deleted = obj["metadata"].get("deletionTimestamp")
    return deleted is not None and (
        golang.rfc3339.parse(deleted).timestamp() < now - LEEWAY_SECONDS
    )


def _check_times(claims: Object, now: float) -> None:
    """Raise TokenRefused at the wrong time for a token."""
    if now + LEEWAY_SECONDS < claims["nbf"]:
        raise TokenRefused("service account token is not valid yet")
    if now - LEEWAY_SECONDS > claims["exp"]:
        raise TokenRefused("service account token has expired")
    if now + LEEWAY_SECONDS < claims.get("iat", 0):
        raise TokenRefused("service account token is issued in the future")


def _stale(claims: Object, now: float) -> str:
    """Return the text about an extended token after the time for which it was requested
    (pkg/serviceaccount/claims.go, Validate)."""
    threshold = claims["kubernetes.io"].get("warnafter")
    if threshold is None or now <= threshold:
        return ""
    late = int(now) - threshold
    return f"subject: {claims['sub']}, seconds after warning threshold: {late}"


def groups(namespace: str) -> tuple[str, ...]:
    """Return the groups of every service account in a namespace."""
    return (_GROUP, f"{_GROUP}:{namespace}")


def split_username(username: str) -> tuple[str, str] | None:
    """Return namespace and name of `system:serviceaccount:NS:NAME`, or None for other names, and
    for those that no account can have."""
    namespace, _, name = username.removeprefix(PREFIX).partition(":")
    if not username.startswith(PREFIX) or names.label(namespace) or names.subdomain(name):
        return None
    return namespace, name


def _list(texts: Sequence[str]) -> str:
    return "[" + " ".join(map(quote, texts)) + "]"
