"""The requests of checks to a host of repositories: world, git or the API of a provider.

NotAuthorized          the credentials are rejected or missing
RepositoryNotFound     the repository does not exist, for these credentials
checks.OutsideError    no usable response (unreachable, 429, 5xx, timeout)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Protocol, runtime_checkable

from inkube.controllers.provisioning.outside import urls
from inkube.controllers.provisioning.outside.contents import Commit
from inkube.kinds import OutsideError, Unavailable, Unreachable

GITHUB = "github.com"
REQUIRED_PERMISSIONS = {
    "contents": "write",
    "metadata": "read",
    "pull_requests": "write",
    "webhooks": "write",
}
"""The permissions that an app needs to sync repositories."""


class NotAuthorized(Exception):
    """The credentials are rejected (401), or do not permit the operation (403).

    `is_missing`: the host still reports that the repository does not exist.
    """

    def __init__(self, code: int = HTTPStatus.UNAUTHORIZED, *, is_missing: bool = False) -> None:
        super().__init__("not authorized")
        self.is_denied = code == HTTPStatus.FORBIDDEN
        self.is_missing = is_missing


class RepositoryNotFound(Exception):
    """The repository does not exist, as far as these credentials can see."""


class AppNotFound(Exception):
    """The GitHub App does not exist."""


class KeyRefused(Exception):
    """The app exists, but it has another key."""


class KeyUnreadable(KeyRefused):
    """The value does not contain an RSA key."""


class InstallationNotFound(Exception):
    """The app does not have this installation."""


@dataclass(frozen=True, slots=True)
class App:
    """An installation of a GitHub App. `private_key` is a PEM, `server_url` that of an Enterprise
    server."""

    app_id: str
    installation_id: str
    private_key: str = field(repr=False)
    server_url: str = ""

    @property
    def host(self) -> str:
        """The host of the app."""
        return urls.host_of(self.server_url) if self.server_url else GITHUB


@dataclass(frozen=True, slots=True)
class InstallationToken:
    """A token of an installation, its expiration time and its permissions."""

    value: str = field(repr=False)
    expires: datetime
    permissions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Credentials:
    """A token with its user name, or an app, or neither of them."""

    token: str = field(default="", repr=False)
    user: str = ""
    email: str = ""
    app: App | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A repository of some type at a URL, and the credentials for it."""

    type: str
    url: str
    credentials: Credentials = Credentials()
    server_url: str = ""


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook to register: the URL for events, the events, and the secret that signs them."""

    url: str
    events: tuple[str, ...]
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Grant:
    """An OAuth code, and the application that exchanges it for a token."""

    type: str
    server_url: str
    client_id: str
    client_secret: str = field(repr=False)
    code: str = field(repr=False)
    redirect: str

    @property
    def base(self) -> str:
        """The base URL of the provider."""
        return self.server_url or _PROVIDERS[self.type]


_PROVIDERS = {
    "githubOAuth": f"https://{GITHUB}",
    "gitlab": "https://gitlab.com",
    "bitbucket": "https://bitbucket.org",
}


class Session(Protocol):
    """One session for one repository. Responses are cached for the session."""

    async def default_branch(self) -> str:
        """Return the default branch; "" if it has no branches yet. Raises the errors of this
        module."""
        ...

    async def head(self, branch: str) -> str | None:
        """Return the commit of a branch; None if the branch does not exist."""
        ...

    async def may_write(self) -> bool:
        """Return whether these credentials can push."""
        ...

    async def branch_names(self) -> list[str]:
        """Return all branches, or the first ones if the host limits the list."""
        ...

    async def is_protected(self, branch: str) -> bool:
        """Return whether rules prevent these credentials from pushing directly to a branch."""
        ...

    async def history(self, branch: str) -> list[Commit]:
        """Return the latest commits of a branch, the newest first. Raises
        `contents.Unsupported`."""
        ...


@runtime_checkable
class Hooks(Protocol):
    """A session with a provider that sends webhooks."""

    async def put_hook(self, hook: Hook, hook_id: int | None) -> int:
        """Create the webhook, or update the known one. Return its ID."""
        ...

    async def remove_hook(self, hook_id: int) -> None:
        """Remove a webhook; a missing webhook is not an error."""
        ...


class AppSession(Protocol):
    """One session for one app. `permissions` maps names to `read` or `write`."""

    async def permissions(self) -> dict[str, str]:
        """Return the permissions of the app. Raises AppNotFound, KeyRefused, OutsideError."""
        ...

    async def installation_permissions(self) -> dict[str, str]:
        """Return the permissions of the installation. Raises InstallationNotFound, OutsideError."""
        ...

    async def installations(self) -> list[str]:
        """Return the first IDs of the installations of the app. Raises the errors of the other
        methods."""
        ...

    async def repositories(self) -> list[str]:
        """Return the repositories of the installation, as `owner/name`. Raises the errors of the
        other methods, and NotAuthorized."""
        ...


def limited(host: str, until: datetime | None = None) -> Unavailable:
    """Return the error of a host with a rate limit. `until` is its end, if that is known."""
    why = "has reached its rate limit"
    why += " (429 Too Many Requests)" if until is None else ""
    return Unavailable(host, why, until=until, cause=OutsideError.RATE_LIMITED)


def late(host: str, why: str = "did not answer in time") -> Unavailable:
    """Return the error of a host after a time limit."""
    return Unavailable(host, why, cause=OutsideError.TIMED_OUT)


def untrusted(host: str) -> Unreachable:
    """Return the error of a host with another certificate than expected."""
    why = f"the certificate of {host} is not trusted"
    return Unreachable(host, why, cause=OutsideError.UNTRUSTED)


def refusal(host: str, code: int) -> Exception:
    """Return the error for an HTTP status code of a git host or API."""
    if code == HTTPStatus.TOO_MANY_REQUESTS:
        return limited(host)
    if code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return NotAuthorized(code)
    if code in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        return RepositoryNotFound()
    try:
        phrase = f" {HTTPStatus(code).phrase}"
    except ValueError:
        phrase = ""
    return Unavailable(host, f"answered {code}{phrase}", code=code)
