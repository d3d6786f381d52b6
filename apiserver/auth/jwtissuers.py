"""JWT issuers: their keys, the checks of their tokens, and claims that other servers have.

The keys of an issuer are fetched with its first token, and again when a token was signed with an
unknown one. Loaded with the first issuer, because it imports PyJWT. Follows
apiserver/plugin/pkg/authenticator/token/oidc and coreos/go-oidc.
"""

import math
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import jwt

from inkube.apiserver.auth import pending
from inkube.apiserver.auth.jwtclaims import Mapper
from inkube.apiserver.auth.outgoing import CallError, Outgoing
from inkube.apiserver.auth.serviceaccounts import TokenRefused, VerifiedToken
from inkube.apiserver.auth.signatures import signing
from inkube.apiserver.samples import Samples
from inkube.schemas.clock import Clock
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
_METRICS = "apiserver_authentication_jwt_authenticator"
_LATENCY = f"{_METRICS}_latency_seconds"
_FETCHED = f"{_METRICS}_jwks_fetch_last_timestamp_seconds"
_KEY_SET = f"{_METRICS}_jwks_fetch_last_key_set_info"
_MAX_OTHERS = 100


@dataclass(frozen=True, slots=True)
class Connection:
    """How an issuer is reached: `context` is that of TLS. `discovery` is the address of its
    configuration."""

    discovery: str
    context: ssl.SSLContext
    client: Outgoing


class NotInitializedError(Exception):
    """The keys of an issuer cannot be fetched."""


class Verifier:
    """Verifies the tokens of one issuer."""

    def __init__(
        self,
        url: str,
        audiences: Sequence[str],
        connection: Connection,
        clock: Clock,
        algorithms: Sequence[str] = ALGORITHMS,
    ) -> None:
        self.url = url
        self._audiences = audiences
        self._connection = connection
        self._clock = clock
        self._algorithms = algorithms
        self._keys: Sequence[jwt.PyJWK] = ()
        self._failure = ""
        self._retry_at = -math.inf
        self.on_keys: Callable[[bytes | None], None] = lambda _: None
        """Called with each set of keys that was fetched, and with None if that failed."""

    def has_issued(self, claims: Object) -> bool:
        """Return whether claims name this issuer."""
        return _GOOGLE.get(claims.get("iss", ""), claims.get("iss")) == self.url

    def check(self, token: str, claims: Object) -> None:
        """Check the claims of a token, and its signature. Raises NotInitializedError without keys,
        TokenRefused, and Pending until the keys are known."""
        self._check_claims(claims)
        if self._is_signed(token):
            return
        # fetched again, because the issuer may have changed its keys
        if pending.answer(("keys", self), self._fetch):
            raise NotInitializedError
        if not self._is_signed(token):
            raise TokenRefused("failed to verify signature: failed to verify id token signature")

    async def initialize(self) -> str:
        """Fetch the keys before the first token. Returns why that failed, or ""."""
        return "" if self._keys else await self._fetch()

    def of(self, url: str) -> "Verifier":
        """Return a verifier for another issuer that is reached in the same way."""
        connection = replace(self._connection, discovery=discovery_url(url))
        return Verifier(url, self._audiences, connection, self._clock, self._algorithms)

    async def claim_token(self, endpoint: Object) -> tuple[str, str]:
        """Fetch a token with claims from an endpoint. Returns it, and why that failed."""
        client, context = self._connection.client, self._connection.context
        given = endpoint.get("access_token") or ""
        try:
            return await client.get_text(endpoint["endpoint"], context, _SECONDS, given), ""
        except CallError as error:
            return "", str(error)

    def _check_claims(self, claims: Object) -> None:
        audiences = claims.get("aud") or []
        audiences = [audiences] if isinstance(audiences, str) else audiences
        if not {*audiences} & {*self._audiences}:
            wanted, got = (
                " ".join(map(quote, each)) for each in (sorted(self._audiences), audiences)
            )
            place = wanted if len(self._audiences) == 1 else f"in [{wanted}]"
            raise TokenRefused(f"oidc: expected audience {place} got [{got}]")
        now, expires = self._clock.now().timestamp(), claims.get("exp")
        if not isinstance(expires, int | float) or expires < now:
            shown = _shown(expires) if isinstance(expires, int | float) else "none"
            raise TokenRefused(f"oidc: token is expired (Token Expiry: {shown})")
        begins = claims.get("nbf")
        if isinstance(begins, int | float) and now + _EARLY < begins:
            raise TokenRefused(
                f"oidc: current time {_shown(now)} before the nbf "
                f"(not before) time: {_shown(begins)}"
            )

    def _is_signed(self, token: str) -> bool:
        """Return whether one of the known keys has signed a token, with an accepted algorithm."""
        head = jwt.get_unverified_header(token)
        if head.get("alg") not in self._algorithms:
            raise TokenRefused(
                "oidc: malformed jwt: unexpected signature algorithm "
                f"{quote(str(head.get('alg')))}; expected {list(self._algorithms)}"
            )
        return any(
            _verifies(token, key, head["alg"])
            for key in self._keys
            if head.get("kid") in (None, "", key.key_id)
        )

    async def _fetch(self) -> str:
        """Fetch the keys. Returns why that failed, or ""."""
        if self._clock.monotonic() < self._retry_at:
            return self._failure
        try:
            self._keys = await self._fetch_keys()
        except (CallError, jwt.PyJWTError, KeyError, TypeError) as error:
            self._failure = str(error) or type(error).__name__
            self._retry_at = self._clock.monotonic() + _RETRY
            return self._failure
        self._failure = ""
        return ""

    async def _fetch_keys(self) -> Sequence[jwt.PyJWK]:
        get, context = self._connection.client.get, self._connection.context
        found: Mapping[str, Any] = await get(self._connection.discovery, context, _SECONDS)
        if found.get("issuer") != self.url:
            raise CallError(
                f"oidc: issuer did not match the issuer returned by provider, expected "
                f"{quote(self.url)} got {quote(str(found.get('issuer')))}"
            )
        fetch = self._connection.client.get_with_body
        try:
            keys, body = await fetch(found["jwks_uri"], context, _SECONDS)
        except CallError:
            self.on_keys(None)
            raise
        self.on_keys(body)
        return list(_usable(keys["keys"][:_MAX_KEYS]))


class Issuer:
    """Finds the users of the tokens of one issuer."""

    def __init__(self, verifier: Verifier, mapper: Mapper, samples: Samples) -> None:
        """`samples` receives the durations of verifications, and what is known of the keys."""
        self._verifier = verifier
        verifier.on_keys = self._record_keys
        self._samples = samples
        self.label = samples.hash_label(verifier.url.encode())
        """The label for the issuer in metrics."""
        self._mapper = mapper
        self._others: dict[str, Verifier] = {}
        """Issuers of distributed claims, by their address."""

    def verify(self, token: str, audiences: Sequence[str]) -> VerifiedToken | None:
        """Return the user of a token, which is for this server; None if it is of another issuer.
        Raises TokenRefused, and Pending until keys and distributed claims are known."""
        claims = signing.read_claims(token)
        if claims is None or not self._verifier.has_issued(claims):
            return None
        begun = time.perf_counter()
        try:
            user = self._user(token, claims)
        except TokenRefused:
            self._samples.observe(time.perf_counter() - begun, _LATENCY, "failure", self.label)
            raise
        self._samples.observe(time.perf_counter() - begun, _LATENCY, "success", self.label)
        return user

    def _record_keys(self, keys: bytes | None) -> None:
        samples, server = self._samples, self._samples.server_label
        result = "failure" if keys is None else "success"
        samples.put(time.time(), _FETCHED, result, self.label, server)
        if keys is not None:
            samples.forget(_KEY_SET, self.label)
            samples.put(1, _KEY_SET, self.label, server, samples.hash_label(keys))

    def forget_keys(self) -> None:
        """Remove what metrics tell about the keys of an issuer that was removed."""
        for series in ((_KEY_SET,), (_FETCHED, "success"), (_FETCHED, "failure")):
            self._samples.forget(*series, self.label)

    def _user(self, token: str, claims: Object) -> VerifiedToken:
        """Verify a token of this issuer."""
        try:
            self._verifier.check(token, claims)
        except NotInitializedError as error:
            raise TokenRefused("oidc: authenticator not initialized") from error
        except TokenRefused as error:
            raise TokenRefused(f"oidc: verify token: {error}") from error
        name = self._mapper.groups_claim
        if name and name not in claims and "_claim_names" in claims:
            try:
                claims = self._expanded(claims, name)
            except TokenRefused as error:
                raise TokenRefused(f"oidc: could not expand distributed claims: {error}") from error
        return VerifiedToken(self._mapper.user(claims), ())

    async def initialize(self) -> str:
        """Fetch the keys before the first token. Returns why that failed, or ""."""
        return await self._verifier.initialize()

    def _expanded(self, claims: Object, name: str) -> Object:
        """Return the claims with one that another server has, if they name its source (OpenID
        Connect Core 1.0, 5.6.2). Raises TokenRefused and Pending."""
        names, sources = claims["_claim_names"], claims.get("_claim_sources")
        if not isinstance(names, dict):
            raise TokenRefused("oidc: error parsing distributed claim names: it is not an object")
        if not isinstance(sources, dict):
            raise TokenRefused("oidc: no claim sources")
        if name not in names:
            return claims
        source = sources.get(names[name])
        if not isinstance(source, dict):
            raise TokenRefused(
                f"id token _claim_names contained a source {names[name]} missing in _claims_sources"
            )
        if not source.get("endpoint"):
            return claims  # an aggregated claim
        key = ("claim", source["endpoint"], source.get("access_token"))
        token, failure = pending.answer(key, partial(self._verifier.claim_token, source))
        if failure:
            raise TokenRefused(f"while getting distributed claim {quote(name)}: {failure}")
        found = self._verified(token, source["endpoint"], name)
        if name not in found:
            raise TokenRefused(
                f"jwt returned by distributed claim endpoint {quote(source['endpoint'])} did not "
                f"contain claim: {name}"
            )
        return {**claims, name: found[name]}

    def _verified(self, token: str, endpoint: str, name: str) -> Object:
        """Return the claims of a token that an endpoint has sent. Raises TokenRefused, Pending."""
        found = signing.read_claims(token)
        issuer = found.get("iss") if found is not None else None
        if found is None or not isinstance(issuer, str):
            raise TokenRefused(
                f"getting untrusted issuer from endpoint {endpoint} failed for claim "
                f"{quote(name)}: malformed token"
            )
        verifier = self._others.get(issuer)
        if verifier is None:
            if len(self._others) >= _MAX_OTHERS:
                del self._others[next(iter(self._others))]
            verifier = self._others[issuer] = self._verifier.of(issuer)
        try:
            verifier.check(token, found)
        except NotInitializedError as error:
            raise TokenRefused(
                f"verifying untrusted issuer {issuer} failed: verifier not initialized for issuer: "
                f"{quote(issuer)}"
            ) from error
        except TokenRefused as error:
            raise TokenRefused(f"verify distributed claim token: {error}") from error
        return found


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
