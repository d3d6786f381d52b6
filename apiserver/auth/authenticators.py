"""Authentication: client certificates, bearer tokens of a file, tokens of service accounts.

Follows apiserver/pkg/authentication: request/x509, request/bearertoken, group.
"""

import hashlib
import ssl
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from aiohttp import hdrs, web

from inkube.apiserver import http, streaming
from inkube.apiserver.auth.attributes import AUTHENTICATED, UNAUTHENTICATED
from inkube.apiserver.auth.serviceaccounts import (
    CREDENTIAL,
    ServiceAccountTokens,
    TokenRefused,
    VerifiedToken,
)
from inkube.apiserver.registry import User
from inkube.schemas import status

Tokens = Mapping[str, User]
INVALID = "invalid bearer token"
EXTRA_SPACE = (
    "the provided Authorization header contains extra space before the bearer token, and is ignored"
)


class ProxiedUsers(Protocol):
    """Reads the users that trusted proxies name (`requestheaders.FrontProxy`)."""

    def user(self, request: web.BaseRequest) -> User | None:
        """Return the user in the headers; None if no trusted proxy has sent them."""
        ...

    def is_client(self, request: web.BaseRequest) -> bool:
        """Return whether the certificate of a request is that of a user."""
        ...


class TokenSource(Protocol):
    """Verifies the tokens of one issuer."""

    def verify(self, token: str, audiences: Sequence[str]) -> VerifiedToken | None:
        """Return the user of a token; None if it is of another issuer. Without audiences in the
        result, the token is for this server. Raises TokenRefused, and Pending if it must ask."""
        ...


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Finds the user of a certificate or token. `fallback` is the user of requests with neither;
    None: they are rejected with 401, as invalid tokens are. `advice` is added to the message for an
    invalid token."""

    accounts: ServiceAccountTokens
    fallback: User | None = None
    tokens: Tokens = field(default_factory=dict)
    certificates: bool = False
    anonymous_paths: Collection[str] | None = None
    """The only paths on which there is a fallback; None for all paths."""
    advice: str = ""
    stored_tokens: Callable[[str], User | None] | None = None
    """Returns the user of a token that is a stored object (a bootstrap token); None without."""
    sources: Sequence[TokenSource] = ()
    """Verify tokens that this server has not issued: JWT issuers and a webhook, in this order."""
    front_proxy: ProxiedUsers | None = None
    """Reads the headers of an authenticating proxy; None without."""

    def identify(self, request: web.BaseRequest) -> User:
        """Return the user of a request. Raises StatusError 401."""
        if self.certificates:
            user = self._of_connection(request)
            if user is not None:
                return with_authenticated(user)
        header = request.headers.get(hdrs.AUTHORIZATION, "")
        token = bearer(header)
        if not token and header:
            _warn_of_space(request, header)
        token = token or _of_protocols(request)
        if token:
            try:
                verified = self.verify(token)
            except TokenRefused as error:
                raise status.unauthorized(self.advice) from error
            if verified.stale and isinstance(request, http.Request):
                request.stale_token = verified.stale
            return verified.user
        paths = self.anonymous_paths
        if self.fallback is None or (paths is not None and request.path not in paths):
            raise status.unauthorized()
        return self.fallback

    def _of_connection(self, request: web.BaseRequest) -> User | None:
        """Return the user whom a front proxy or the client's certificate names."""
        if self.front_proxy is None:
            return _of_certificate(request)
        user = self.front_proxy.user(request)
        if user is None and self.front_proxy.is_client(request):
            user = _of_certificate(request)
        return user

    def has_certificate(self, request: web.BaseRequest) -> bool:
        """Return whether the client of a request has shown a certificate."""
        return self.certificates and bool(request.get_extra_info("peercert"))

    def review(self, text: str, audiences: Sequence[str]) -> VerifiedToken:
        """Return the user of a request whose token is this text, as `verify`: the fallback for
        spaces (registry/authentication/tokenreview)."""
        token = bearer(f"Bearer {text}")
        if not token and self.fallback is not None and self.anonymous_paths is None:
            return VerifiedToken(self.fallback, tuple(audiences or self.accounts.audiences))
        return self.verify(token, audiences)

    def verify(self, token: str, audiences: Sequence[str] = ()) -> VerifiedToken:
        """Return the user of a token for one of the audiences (none: the server's own).

        Raises TokenRefused with the error text of a TokenReview, and Pending.
        """
        audiences = audiences or self.accounts.audiences
        user = self.tokens.get(token)
        if user is None and self.stored_tokens is not None:
            user = self.stored_tokens(token)
        if user is not None:
            shared = tuple(each for each in self.accounts.audiences if each in audiences)
            if shared:
                return VerifiedToken(with_authenticated(user), shared)
            raise TokenRefused(INVALID)
        refusals: list[str] = []
        for source in (self.accounts, *self.sources):
            try:
                verified = source.verify(token, audiences)
            except TokenRefused as error:
                refusals.append(str(error))
                continue
            if verified is not None:
                own = self.accounts.audiences
                shared = verified.audiences or tuple(each for each in own if each in audiences)
                if shared:
                    user = with_authenticated(verified.user)
                    return VerifiedToken(user, shared, verified.stale)
        raise TokenRefused(f"[{', '.join((INVALID, *refusals))}]" if refusals else INVALID)


def bearer(header: str) -> str:
    """Return the token of an Authorization header, or "" without one."""
    parts = header.strip().split(" ")
    return parts[1] if len(parts) > 1 and parts[0].lower() == "bearer" else ""


def _warn_of_space(request: web.BaseRequest, header: str) -> None:
    scheme, _, rest = header.strip().partition(" ")
    if rest and scheme.lower() == "bearer" and isinstance(request, http.Request):
        request.warn(EXTRA_SPACE)


def _of_protocols(request: web.BaseRequest) -> str:
    """Return the token in the subprotocols of a WebSocket. Raises StatusError 401."""
    if hdrs.SEC_WEBSOCKET_PROTOCOL not in request.headers:
        return ""
    if not streaming.sockets.is_upgrade(request):
        return ""
    try:
        return streaming.sockets.token(request)
    except ValueError as error:
        raise status.unauthorized() from error


def with_authenticated(user: User) -> User:
    """Return the same user with the group of all authenticated users."""
    if AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
        return user
    return user._replace(groups=(*user.groups, AUTHENTICATED))


def _of_certificate(request: web.BaseRequest) -> User | None:
    """Return a user with the common name and the organizations of the client's certificate, which
    TLS has verified."""
    certificate: Mapping[str, Any] | None = request.get_extra_info("peercert")
    if not certificate:
        return None
    names, groups = [], []
    for attribute in (pair for part in certificate.get("subject", ()) for pair in part):
        if attribute[0] == "commonName":
            names.append(attribute[1])
        elif attribute[0] == "organizationName":
            groups.append(attribute[1])
    if not names or not names[-1]:
        return None
    return User(names[-1], groups=tuple(groups), extra=_fingerprint(request))


def _fingerprint(request: web.BaseRequest) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the fingerprint of the certificate, as an extra of the user."""
    connection: ssl.SSLObject | None = request.get_extra_info("ssl_object")
    raw = connection.getpeercert(binary_form=True) if connection is not None else None
    if raw is None:
        return ()
    return ((CREDENTIAL, (f"X509SHA256={hashlib.sha256(raw).hexdigest()}",)),)
