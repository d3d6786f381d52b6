"""JWT issuers: their keys, and the checks of their tokens.

The keys of an issuer are fetched with its first token, and again when a token was signed with an
unknown one. Loaded with the first issuer, because it imports PyJWT. Follows
apiserver/plugin/pkg/authenticator/token/oidc and coreos/go-oidc.
"""

import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jwt

from inkube.apiserver.auth import pending
from inkube.apiserver.auth.jwtclaims import Mapper
from inkube.apiserver.auth.outgoing import CallError, Outgoing
from inkube.apiserver.auth.serviceaccounts import TokenRefused, VerifiedToken
from inkube.apiserver.auth.signatures import signing
from inkube.schemas.golang import quote, rfc3339
from inkube.schemas.objects import Object

ALGORITHMS: Final = (
    "ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512",
)  # fmt: skip
_WELL_KNOWN = "/.well-known/openid-configuration"
_GOOGLE = {"accounts.google.com": "https://accounts.google.com"}
_EARLY = 5 * 60  # seconds that a token may be early (go-oidc, verify.go)
_RETRY = 10.0  # seconds after which a failed discovery is repeated
_SECONDS = 30.0
_MAX_KEYS = 1000


@dataclass(frozen=True, slots=True)
class Connection:
    """How an issuer is reached: `context` is that of TLS. `discovery` is the address of its
    configuration."""

    discovery: str
    context: ssl.SSLContext
    client: Outgoing


class Issuer:
    """Finds the users of the tokens of one issuer. `now` returns seconds since 1970."""

    def __init__(
        self,
        url: str,
        audiences: Sequence[str],
        mapper: Mapper,
        connection: Connection,
        now: Callable[[], float],
        algorithms: Sequence[str] = ALGORITHMS,
    ) -> None:
        self._url = url
        self._audiences = audiences
        self._mapper = mapper
        self._connection = connection
        self._now = now
        self._algorithms = algorithms
        self._keys: Sequence[jwt.PyJWK] = ()
        self._failure = ""
        self._retry_at = 0.0

    def verify(self, token: str, audiences: Sequence[str]) -> VerifiedToken | None:
        """Return the user of a token, which is for this server; None if it is of another issuer.
        Raises TokenRefused, and Pending until the keys are known."""
        claims = signing.read_claims(token)
        if claims is None or _GOOGLE.get(claims.get("iss", ""), claims.get("iss")) != self._url:
            return None
        self._check_claims(claims)
        if not self._is_signed(token):
            # fetched again, because the issuer may have changed its keys
            failure = pending.answer(("keys", self._url), self._fetch)
            if failure:
                raise TokenRefused("oidc: authenticator not initialized")
            if not self._is_signed(token):
                raise TokenRefused(
                    "oidc: verify token: failed to verify signature: failed to verify id token "
                    "signature"
                )
        return VerifiedToken(self._mapper.user(claims), ())

    async def initialize(self) -> str:
        """Fetch the keys before the first token. Returns why that failed, or ""."""
        return "" if self._keys else await self._fetch()

    def _check_claims(self, claims: Object) -> None:
        audiences = claims.get("aud") or []
        audiences = [audiences] if isinstance(audiences, str) else audiences
        if not {*audiences} & {*self._audiences}:
            wanted, got = (
                " ".join(map(quote, each)) for each in (sorted(self._audiences), audiences)
            )
            place = wanted if len(self._audiences) == 1 else f"in [{wanted}]"
            raise TokenRefused(f"oidc: verify token: oidc: expected audience {place} got [{got}]")
        now, expires = self._now(), claims.get("exp")
        if not isinstance(expires, int | float) or expires < now:
            shown = _shown(expires) if isinstance(expires, int | float) else "none"
            raise TokenRefused(
                f"oidc: verify token: oidc: token is expired (Token Expiry: {shown})"
            )
        begins = claims.get("nbf")
        if isinstance(begins, int | float) and now + _EARLY < begins:
            raise TokenRefused(
                f"oidc: verify token: oidc: current time {_shown(now)} before the nbf "
                f"(not before) time: {_shown(begins)}"
            )

    def _is_signed(self, token: str) -> bool:
        """Return whether one of the known keys has signed a token, with an accepted algorithm."""
        head = jwt.get_unverified_header(token)
        if head.get("alg") not in self._algorithms:
            raise TokenRefused(
                "oidc: verify token: oidc: malformed jwt: unexpected signature algorithm "
                f"{quote(str(head.get('alg')))}; expected {list(self._algorithms)}"
            )
        return any(
            _verifies(token, key, head["alg"])
            for key in self._keys
            if head.get("kid") in (None, "", key.key_id)
        )

    async def _fetch(self) -> str:
        """Fetch the keys. Returns why that failed, or ""."""
        if self._now() < self._retry_at:
            return self._failure
        try:
            self._keys = await self._fetch_keys()
        except (CallError, jwt.PyJWTError, KeyError, TypeError) as error:
            self._failure = str(error) or type(error).__name__
            self._retry_at = self._now() + _RETRY
            return self._failure
        self._failure = ""
        return ""

    async def _fetch_keys(self) -> Sequence[jwt.PyJWK]:
        get, context = self._connection.client.get, self._connection.context
        found: Mapping[str, Any] = await get(self._connection.discovery, context, _SECONDS)
        if found.get("issuer") != self._url:
            raise CallError(
                f"oidc: issuer did not match the issuer returned by provider, expected "
                f"{quote(self._url)} got {quote(str(found.get('issuer')))}"
            )
        keys = (await get(found["jwks_uri"], context, _SECONDS))["keys"]
        return list(_usable(keys[:_MAX_KEYS]))


def _usable(keys: Sequence[Object]) -> "Sequence[jwt.PyJWK]":
    """Return the keys of a set that verify signatures, and that this library knows."""
    found = []
    for key in keys:
        try:
            if key.get("use", "sig") == "sig" and key.get("kty") in ("EC", "RSA"):
                found.append(jwt.PyJWK(key))
        except jwt.PyJWTError:
            continue  # as go-jose: other keys of the set can be used
    return found


def _verifies(token: str, key: jwt.PyJWK, algorithm: str) -> bool:
    try:
        jwt.PyJWS().decode(token, key.key, algorithms=[algorithm])
    except (jwt.InvalidTokenError, TypeError, ValueError):
        return False
    return True


def _shown(seconds: float) -> str:
    return rfc3339.write(int(seconds) * 1_000_000_000)


def discovery_url(url: str, other: str = "") -> str:
    """Return the address of the configuration of an issuer."""
    return other or url.rstrip("/") + _WELL_KNOWN
