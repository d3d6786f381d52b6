"""Access control of each request: authentication and impersonation, then authorization.

The two are apart because a request waits for its turn between them (`flows`), as in kube-apiserver
(apiserver/pkg/server/config.go, DefaultBuildHandlerChain).
"""

from dataclasses import dataclass
from typing import Protocol

from aiohttp import hdrs, web

from inkube.apiserver.auth import attributes, impersonation
from inkube.apiserver.auth.authenticators import Authenticator
from inkube.apiserver.auth.authorizer import Authorizer
from inkube.apiserver.http import Request, RequestInfo, httprequest, requests
from inkube.apiserver.registry import ADMIN, User
from inkube.apiserver.samples import Samples
from inkube.schemas import lazy
from inkube.schemas.status import StatusError, internal_in_plain


class Access(Protocol):
    """Access control as the application calls it for each request."""

    def identify(self, request: web.BaseRequest) -> User:
        """Return the authenticated user of a request. Raises StatusError 401."""
        ...

    def user(self, request: web.BaseRequest, info: RequestInfo) -> User:
        """Return the user of a request, possibly an impersonated one. Raises StatusError 400, 401,
        403, or 500 if it could not be decided."""
        ...

    def authorize(self, request: web.BaseRequest, info: RequestInfo, user: User) -> None:
        """Check that the user of a request may send it. Raises StatusError 403, or 500 if it could
        not be decided."""
        ...


@dataclass(frozen=True, slots=True)
class GuardedAccess:
    """Authenticates, impersonates and authorizes."""

    authenticator: Authenticator
    authorizer: Authorizer
    samples: Samples
    last_modes: impersonation.LastModes | None
    """None if permissions of constrained impersonation are not sufficient; see
    `impersonation.become`."""
    plain_text_errors: bool = False
    """Whether impersonation headers without a user name get the response 500 in plain text."""

    def identify(self, request: web.BaseRequest) -> User:
        """Return the authenticated user of a request. Raises StatusError 401."""
        return self.authenticator.identify(request)

    def user(self, request: web.BaseRequest, info: RequestInfo) -> User:
        """Return the user, possibly an impersonated one. Raises StatusError 400, 401, 403, or 500
        if it could not be decided."""
        authenticated = self.authenticator.identify(request)
        if not impersonation.is_requested(request.headers):
            return authenticated
        impersonated = self._impersonated_user(request)
        if impersonated is None:
            return authenticated
        user, verb = self._become(impersonated, attributes.of_request(authenticated, info))
        if isinstance(request, Request):
            request.impersonation = httprequest.Impersonation(authenticated, user, verb)
        return user

    def authorize(self, request: web.BaseRequest, info: RequestInfo, user: User) -> None:
        """Check that the user may send the request. Raises StatusError 403, or 500 if it could not
        be decided."""
        action = attributes.of_request(user, info)
        decision = self.authorizer.decide(action)
        if decision.reason and isinstance(request, Request):
            request.reason = decision.reason
        if not decision.allowed:
            if decision.error:
                if isinstance(request, Request):
                    request.reason = "internal error"
                raise internal_in_plain(requests.raw_target(request), decision.error)
            if isinstance(request, Request):
                request.is_forbidden = True
            raise attributes.refusal(action, decision.reason)

    def _become(self, target: User, action: attributes.Attributes) -> tuple[User, str]:
        last = self.last_modes
        if last is None:
            return impersonation.become(target, action, self.authorizer, last)
        become = lazy.named("inkube.apiserver.auth.impersonationmetrics", "become")
        found: tuple[User, str] = become(target, action, self.authorizer, last, self.samples)
        return found

    def _impersonated_user(self, request: web.BaseRequest) -> User | None:
        try:
            return impersonation.read(request.headers, constrained=self.last_modes is not None)
        except StatusError as error:
            if self.plain_text_errors:
                raise internal_in_plain(requests.raw_target(request), error.message) from None
            raise


@dataclass(frozen=True, slots=True)
class OpenAccess:
    """Every user is the administrator, unless the request impersonates another one. For loopback
    addresses only."""

    guarded: GuardedAccess

    def identify(self, request: web.BaseRequest) -> User:
        """Return the administrator, or the user of a token or certificate. Raises StatusError
        401."""
        return self.guarded.identify(request) if self._names_user(request) else ADMIN

    def user(self, request: web.BaseRequest, info: RequestInfo) -> User:
        """Return the administrator, or the user that the headers or the certificate name. Raises
        StatusError 400, 401, 403, or 500 if it could not be decided."""
        if self._names_user(request) or impersonation.is_requested(request.headers):
            return self.guarded.user(request, info)
        return ADMIN

    def authorize(self, request: web.BaseRequest, info: RequestInfo, user: User) -> None:
        """Check that a user who is not the administrator may send the request. Raises StatusError
        403, or 500 if it could not be decided."""
        if user is not ADMIN:
            self.guarded.authorize(request, info, user)

    def _names_user(self, request: web.BaseRequest) -> bool:
        headers, authenticator = request.headers, self.guarded.authenticator
        return (
            hdrs.AUTHORIZATION in headers
            or hdrs.SEC_WEBSOCKET_PROTOCOL in headers
            or (authenticator.certificates and authenticator.has_certificate(request))
        )
