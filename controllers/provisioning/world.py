"""The scripted world: outside systems as kinds of world.inkube.dev/v1 that anyone can edit.

A GitHost answers for the host it is named after, a GitHubApp for the app whose ID is its name.
They are read when a check asks, so an edit holds from the next check on.
"""

import hashlib

from pydantic import Field

from inkube.controllers import provisioning
from inkube.controllers.checks import Unreachable
from inkube.controllers.client import Client
from inkube.controllers.environment import Memo
from inkube.controllers.provisioning import urls
from inkube.controllers.provisioning.hosts import (
    GITHUB,
    NEEDED,
    App,
    AppNotFound,
    InstallationNotFound,
    KeyRefused,
    NotAuthorized,
    RepositoryNotFound,
    Target,
    refusal,
)
from inkube.schemas import models
from inkube.schemas.clock import Clock
from inkube.schemas.models import Model, Resource
from inkube.schemas.status import StatusError

GROUP = "world.inkube.dev"


class Token(Model):
    """A credential the host accepts."""

    value: str
    write: bool = False


class HostedRepository(Model):
    """A repository, its path without slashes at the ends (`grafana/grafana`)."""

    path: str
    branches: list[str] = Field(default_factory=list)
    default_branch: str = ""


class Outage(Model):
    """How a host misbehaves: an HTTP code it answers everything with, a delay, or both."""

    code: int | None = Field(None, ge=400, le=599)
    delay_milliseconds: int = Field(0, ge=0)


class GitHostSpec(Model):
    """What the host knows. Without tokens everybody may read and write."""

    tokens: list[Token] = Field(default_factory=list)
    repositories: list[HostedRepository] = Field(default_factory=list)
    outage: Outage | None = None


class GitHost(Resource, group=GROUP, version="v1", namespaced=False):
    """A git host, named like the host it answers for."""

    spec: GitHostSpec = Field(default_factory=GitHostSpec)


class Installation(Model):
    """One installation; without permissions it has the app's, without repositories all of them."""

    id: str
    permissions: dict[str, str] | None = None
    repositories: list[str] | None = None


class GitHubAppSpec(Model):
    """What GitHub knows of the app. Without a public key any RSA key is accepted.

    Without permissions it has all that is needed; an empty map grants none.
    """

    public_key: str = ""
    permissions: dict[str, str] | None = None
    installations: list[Installation] = Field(default_factory=list)


class GitHubApp(
    Resource, group=GROUP, version="v1", plural="githubapps", kind="GitHubApp", namespaced=False
):
    """A GitHub App, named like its ID."""

    spec: GitHubAppSpec = Field(default_factory=GitHubAppSpec)


class World:
    """Finds who answers for a host or an app; None means nobody here does."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def repository(self, target: Target) -> "WorldSession | None":
        """A conversation with the host of the target."""
        host = await self._find(GitHost, urls.host_of(target.url))
        return WorldSession(self, host, target) if host is not None else None

    async def app(self, app: App) -> "WorldAppSession | None":
        """A conversation about an app: with the world when it knows the app or has a github.com."""
        known = await self.find_app(app.app_id)
        host = await self._find(GitHost, GITHUB)
        if known is None and host is None:
            return None
        return WorldAppSession(self, known, app, host)

    async def find_app(self, app_id: str) -> GitHubApp | None:
        """The app of that ID."""
        return await self._find(GitHubApp, app_id)

    async def endure(self, host: GitHost) -> None:
        """Misbehave as the host's outage says. Raises what its code stands for."""
        outage = host.spec.outage
        if outage is None:
            return
        if outage.delay_milliseconds:
            await self._clock.sleep(outage.delay_milliseconds / 1000)
        if outage.code is not None:
            raise refusal(host.metadata.name, outage.code)

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._clock.now().timestamp()

    async def _find(self, model: type[models.R], name: str) -> "models.R | None":
        if not name:
            return None
        try:
            return models.parse(model, await self._client.get(model.gvr, name))
        except models.Unreadable as error:
            raise Unreachable(name, f"the world's {name} cannot be understood") from error
        except StatusError as error:
            if error.code in (400, 404):
                return None
            raise


class WorldSession:
    """A conversation with a scripted host about one repository."""

    def __init__(self, world: World, host: GitHost, target: Target) -> None:
        self._world = world
        self._host = host
        self._target = target
        self._memo = Memo()

    async def default_branch(self) -> str:
        """As scripted, or the first branch."""
        found = await self._repository()
        return found.default_branch or (found.branches[0] if found.branches else "")

    async def head(self, branch: str) -> str | None:
        """A commit made up from host, repository and branch: it stays the same."""
        found = await self._repository()
        if branch not in found.branches and branch != found.default_branch:
            return None
        name = f"{self._host.metadata.name}/{found.path}@{branch}"
        return hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()

    async def may_write(self) -> bool:
        """What the token, or the app's permission for contents, allows."""
        await self._repository()
        app = self._target.credentials.app
        if app is not None:
            permissions, _ = await self._installation(app)
            return permissions.get("contents") == "write"
        tokens = self._host.spec.tokens
        return not tokens or any(
            token.write for token in tokens if token.value == self._target.credentials.token
        )

    async def _repository(self) -> HostedRepository:
        return await self._memo("repository", self._ask)

    async def _ask(self) -> HostedRepository:
        await self._world.endure(self._host)
        path = urls.normalised(urls.path_of(self._target.url))
        await self._authorize(path)
        for repository in self._host.spec.repositories:
            if urls.normalised(repository.path.strip("/")) == path:
                return repository
        raise RepositoryNotFound

    async def _authorize(self, path: str) -> None:
        credentials = self._target.credentials
        if credentials.app is not None:
            _, repositories = await self._installation(credentials.app)
            if repositories is not None and path not in repositories:
                raise RepositoryNotFound
            return
        tokens = {token.value for token in self._host.spec.tokens}
        if tokens and credentials.token not in tokens:
            raise NotAuthorized

    async def _installation(self, app: App) -> tuple[dict[str, str], list[str] | None]:
        """The permissions and repositories that go with an app's token."""
        known = await self._world.find_app(app.app_id)
        if known is None:
            raise NotAuthorized
        for installation in known.spec.installations:
            if installation.id == app.installation_id:
                permissions = _granted(known, installation)
                return permissions, installation.repositories
        raise NotAuthorized


class WorldAppSession:
    """A conversation about a scripted app."""

    def __init__(
        self, world: World, known: GitHubApp | None, app: App, host: GitHost | None
    ) -> None:
        self._world = world
        self._known = known
        self._app = app
        self._host = host
        self._memo = Memo()

    async def permissions(self) -> dict[str, str]:
        """Those of the app, once its key was accepted."""
        return _of_app(await self._memo("app", self._ask))

    async def installation_permissions(self) -> dict[str, str]:
        """Those of the installation; the app's where it says nothing."""
        known = await self._memo("app", self._ask)
        for installation in known.spec.installations:
            if installation.id == self._app.installation_id:
                return _granted(known, installation)
        raise InstallationNotFound

    async def _ask(self) -> GitHubApp:
        if self._host is not None:
            await self._world.endure(self._host)
        if self._known is None:
            raise AppNotFound
        token = provisioning.appkeys.sign(
            self._app.app_id, self._app.private_key, self._world.now()
        )
        public_key = self._known.spec.public_key
        if public_key and not provisioning.appkeys.is_signed_by(token, public_key):
            raise KeyRefused
        return self._known


def _granted(known: GitHubApp, installation: Installation) -> dict[str, str]:
    if installation.permissions is None:
        return _of_app(known)
    return installation.permissions


def _of_app(known: GitHubApp) -> dict[str, str]:
    return dict(NEEDED) if known.spec.permissions is None else known.spec.permissions
