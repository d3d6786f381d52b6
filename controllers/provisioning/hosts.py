"""What checks ask of a place that holds repositories, whoever answers: world, git or GitHub.

NotAuthorized          the credentials were refused, or are needed
RepositoryNotFound     no such repository, for these credentials
checks.OutsideError    no answer (unreachable, 429, 5xx, too late)
"""

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Protocol

from inkube.controllers.checks import Unavailable

GITHUB = "github.com"
NEEDED = {"contents": "write", "metadata": "read", "pull_requests": "write", "webhooks": "write"}
"""Permissions of an app without which repositories cannot be synced."""


class NotAuthorized(Exception):
    """The credentials were refused, or there were none and some are needed."""


class RepositoryNotFound(Exception):
    """No such repository, as far as these credentials can see."""


class AppNotFound(Exception):
    """No such GitHub App."""


class KeyRefused(Exception):
    """The app exists and its key is another one, or the key cannot be read."""


class InstallationNotFound(Exception):
    """The app has no such installation."""


@dataclass(frozen=True, slots=True)
class App:
    """A GitHub App's installation; `private_key` is a PEM."""

    app_id: str
    installation_id: str
    private_key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Credentials:
    """A token with its user name, or an app, or neither."""

    token: str = field(default="", repr=False)
    user: str = ""
    app: App | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A repository of some type at a URL, and who asks."""

    type: str
    url: str
    credentials: Credentials = Credentials()


class Session(Protocol):
    """One conversation about one repository; what was answered once is not asked again."""

    async def default_branch(self) -> str:
        """Its default branch; "" when it has none yet. Raises as the module says."""
        ...

    async def head(self, branch: str) -> str | None:
        """The commit a branch points to; None when there is no such branch."""
        ...

    async def may_write(self) -> bool:
        """May these credentials push?"""
        ...


class AppSession(Protocol):
    """One conversation about one app. `permissions` maps names to `read` or `write`."""

    async def permissions(self) -> dict[str, str]:
        """Those of the app. Raises AppNotFound, KeyRefused, OutsideError."""
        ...

    async def installation_permissions(self) -> dict[str, str]:
        """Those of the installation. Raises InstallationNotFound, OutsideError."""
        ...

    async def repositories(self) -> list[str]:
        """What the installation reaches, as `owner/name`. Raises as the others, NotAuthorized."""
        ...


def refusal(host: str, code: int) -> Exception:
    """What an HTTP code of a git host or API means."""
    if code == HTTPStatus.TOO_MANY_REQUESTS:
        return Unavailable(host, "has reached its rate limit (429 Too Many Requests)")
    if code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return NotAuthorized()
    if code in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        return RepositoryNotFound()
    try:
        phrase = f" {HTTPStatus(code).phrase}"
    except ValueError:
        phrase = ""
    return Unavailable(host, f"answered {code}{phrase}")
