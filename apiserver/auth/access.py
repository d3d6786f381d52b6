"""Access control, in one call for each request: authentication, impersonation, authorization."""

from dataclasses import dataclass
from typing import Protocol

from aiohttp import hdrs, web

from inkube.apiserver.auth import attributes, impersonation
from inkube.apiserver.auth.authenticators import Authenticator
from inkube.apiserver.auth.authorizer import Authorizer, require
from inkube.apiserver.http import RequestInfo, requests
from inkube.apiserver.registry import ADMIN, User
from inkube.schemas.status import StatusError, internal_in_plain


class Access(Protocol):
    """Access control as the application calls it for each request."""

    def admit(self, request: web.BaseRequest, info: RequestInfo) -> User:
        """The authorized user of a request. Raises StatusError 400, 401 or 403."""
        ...

    def identify(self, request: web.BaseRequest) -> User:
        """The user of a request, without authorization. Raises StatusError 401."""
        ...


@dataclass(frozen=True, slots=True)
class Guarded:
    """Authenticates, impersonates and authorizes."""

    authenticator: Authenticator
    authorizer: Authorizer
    constrained: bool = True
    """Whether permissions of constrained impersonation are sufficient; see
    `impersonation.become`."""
    answers_plainly: bool = False
    """Whether impersonation headers without a user name get the response 500 in plain text."""

    def identify(self, request: web.BaseRequest) -> User:
        """See `Access`."""
        return self.authenticator.identify(request)

    def admit(self, request: web.BaseRequest, info: RequestInfo) -> User:
        """See `Access`."""
        user = self.authenticator.identify(request)
        wanted = attributes.of_request(user, info)
        if impersonation.is_wanted(request.headers):
            other = self._impersonated(request)
            if other is not None:
                user = impersonation.become(
                    other, wanted, self.authorizer, constrained=self.constrained
                )
                wanted = attributes.of_request(user, info)
        require(self.authorizer, wanted)
        return user

    def _impersonated(self, request: web.BaseRequest) -> User | None:
        try:
            return impersonation.read(request.headers, constrained=self.constrained)
        except StatusError as error:
            if self.answers_plainly:
                raise internal_in_plain(requests.as_sent(request), error.message) from None
            raise


@dataclass(frozen=True, slots=True)
class Open:
    """Every user is the administrator, unless the request impersonates another one. For loopback
    addresses only."""

    guarded: Guarded

    def identify(self, request: web.BaseRequest) -> User:
        """See `Access`."""
        headers = request.headers
        says = hdrs.AUTHORIZATION in headers or hdrs.SEC_WEBSOCKET_PROTOCOL in headers
        return self.guarded.identify(request) if says else ADMIN

    def admit(self, request: web.BaseRequest, info: RequestInfo) -> User:
        """See `Access`; the common case costs three look-ups."""
        headers = request.headers
        if (
            hdrs.AUTHORIZATION in headers
            or impersonation.USER in headers
            or hdrs.SEC_WEBSOCKET_PROTOCOL in headers
        ):
            return self.guarded.admit(request, info)
        return ADMIN
