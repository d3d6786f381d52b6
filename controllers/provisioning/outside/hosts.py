"""What checks ask of a place that holds repositories, whoever answers: world, git or GitHub.

NotAuthorized          the credentials were refused, or are needed
RepositoryNotFound     no such repository, for these credentials
checks.OutsideError    no answer (unreachable, 429, 5xx, too late)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Protocol, runtime_checkable

from inkube.controllers.checks import Unavailable
from inkube.controllers.provisioning.outside import urls
from inkube.controllers.provisioning.outside.contents import Commit

GITHUB = "github.com"
NEEDED = {"contents": "write", "metadata": "read", "pull_requests": "write", "webhooks": "write"}
"""Permissions of an app without which repositories cannot be synced."""


class NotAuthorized(Exception):
    """The credentials were refused (401), or may not do this (403).

    `is_missing`: the host says all the same that there is no such repository.
    """

    def __init__(self, code: int = HTTPStatus.UNAUTHORIZED, *, is_missing: bool = False) -> None:
        super().__init__("not authorized")
        self.is_denied = code == HTTPStatus.FORBIDDEN
        self.is_missing = is_missing


class RepositoryNotFound(Exception):
    """No such repository, as far as these credentials can see."""


class AppNotFound(Exception):
    """No such GitHub App."""


class KeyRefused(Exception):
    """The app exists and its key is another one."""


class KeyUnreadable(KeyRefused):
    """There is no RSA key in the value."""


class InstallationNotFound(Exception):
    """The app has no such installation."""


@dataclass(frozen=True, slots=True)
class App:
    """A GitHub App's installation; `private_key` is a PEM, `server_url` an Enterprise server's."""

    app_id: str
    installation_id: str
    private_key: str = field(repr=False)
    server_url: str = ""

    @property
    def host(self) -> str:
        """The host it belongs to."""
        return urls.host_of(self.server_url) if self.server_url else GITHUB


@dataclass(frozen=True, slots=True)
class InstallationToken:
    """What an installation may be asked with, until when, and what it permits."""

    value: str = field(repr=False)
    expires: datetime
    permissions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Credentials:
    """A token with its user name, or an app, or neither."""

    token: str = field(default="", repr=False)
    user: str = ""
    email: str = ""
    app: App | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A repository of some type at a URL, and who asks."""

    type: str
    url: str
    credentials: Credentials = Credentials()
    server_url: str = ""


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook as it is registered: where events are sent, which, and what signs them."""

    url: str
    events: tuple[str, ...]
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Grant:
    """A code of OAuth, and the application that may turn it into a token."""

    type: str
    server_url: str
    client_id: str
    client_secret: str = field(repr=False)
    code: str = field(repr=False)
    redirect: str

    @property
    def base(self) -> str:
        """The provider's own URL."""
        return self.server_url or _PROVIDERS[self.type]


_PROVIDERS = {
    "githubOAuth": f"https://{GITHUB}",
    "gitlab": "https://gitlab.com",
    "bitbucket": "https://bitbucket.org",
}


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

    async def branch_names(self) -> list[str]:
        """All branches, or the first of many."""
        ...

    async def is_protected(self, branch: str) -> bool:
        """Whether rules keep these credentials from pushing to a branch directly."""
        ...

    async def history(self, branch: str) -> list[Commit]:
        """The latest commits of a branch, the newest first. Raises `contents.Unsupported`."""
        ...


@runtime_checkable
class Hooks(Protocol):
    """A conversation with somebody who sends webhooks."""

    async def put_hook(self, hook: Hook, known: int | None) -> int:
        """Make the webhook, or bring the known one up to date; its ID."""
        ...

    async def remove_hook(self, known: int) -> None:
        """Remove a webhook; one that is gone is no error."""
        ...


class AppSession(Protocol):
    """One conversation about one app. `permissions` maps names to `read` or `write`."""

    async def permissions(self) -> dict[str, str]:
        """Those of the app. Raises AppNotFound, KeyRefused, OutsideError."""
        ...

    async def installation_permissions(self) -> dict[str, str]:
        """Those of the installation. Raises InstallationNotFound, OutsideError."""
        ...

    async def installations(self) -> list[str]:
        """The IDs of the app's installations, the first of many. Raises as the others."""
        ...

    async def repositories(self) -> list[str]:
        """What the installation reaches, as `owner/name`. Raises as the others, NotAuthorized."""
        ...


def refusal(host: str, code: int) -> Exception:
    """What an HTTP code of a git host or API means."""
    if code == HTTPStatus.TOO_MANY_REQUESTS:
        return Unavailable(host, "has reached its rate limit (429 Too Many Requests)")
    if code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return NotAuthorized(code)
    if code in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        return RepositoryNotFound()
    try:
        phrase = f" {HTTPStatus(code).phrase}"
    except ValueError:
        phrase = ""
    return Unavailable(host, f"answered {code}{phrase}", code=code)
