"""Who is it, and may they: authenticators and authorizers.

An open server knows one user, `system:admin`, who may do everything.
"""

from typing import Protocol

from aiohttp import web

from inkube.apiserver.calls import ADMIN, User
from inkube.apiserver.requests import RequestInfo


class Authenticator(Protocol):
    """Finds out who asks."""

    async def identify(self, request: web.BaseRequest) -> User:
        """The user of a request. Raises StatusError 401."""
        ...


class Authorizer(Protocol):
    """Decides what they may do."""

    async def check(self, user: User, info: RequestInfo) -> None:
        """Return when it is allowed. Raises StatusError 403."""
        ...


class Open:
    """No credentials: everybody is the administrator. Only for loopback."""

    async def identify(self, request: web.BaseRequest) -> User:
        """Always the administrator."""
        return ADMIN


class AlwaysAllow:
    """Everybody may do everything."""

    async def check(self, user: User, info: RequestInfo) -> None:
        """Always allowed."""
