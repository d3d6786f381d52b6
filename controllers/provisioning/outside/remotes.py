"""Selects the source of responses for a repository or an app: the scripted world first, then the
real system."""

from collections.abc import Callable
from dataclasses import replace

from inkube.controllers.provisioning.outside import clients, urls, world_sessions
from inkube.controllers.provisioning.outside.contents import Contents
from inkube.controllers.provisioning.outside.hosts import (
    App,
    AppNotFound,
    AppSession,
    Credentials,
    Grant,
    InstallationToken,
    Session,
    Target,
)
from inkube.controllers.provisioning.outside.world import World
from inkube.controllers.provisioning.outside.world_sessions import WorldSession
from inkube.kinds import Service, Unreachable


class Remotes:
    """Opens sessions; if `is_offline`, only with the scripted world and local files."""

    def __init__(
        self,
        world: World,
        git: "Callable[[], clients.Git]",
        github: "Callable[[], clients.GitHub]",
        providers: "Callable[[], clients.Providers]",
        *,
        is_offline: bool,
    ) -> None:
        self._world = world
        self._git = git
        self._github = github
        self._providers = providers
        self._is_offline = is_offline

    async def repository(self, target: Target) -> Session:
        """Return a session for one repository. Raises Unreachable if the server is offline and the
        host is not scripted."""
        near = await self._local_session(target)
        if near is not None:
            return near
        if target.type in ("github", "githubEnterprise"):
            return self._github().repository(target)
        if target.type in ("gitlab", "bitbucket"):
            return self._providers().open(target)
        return self._git().open(target)

    async def contents(self, target: Target) -> Contents:
        """Return the files of one repository. Raises the errors of `repository`, and
        NotAuthorized."""
        near = await self._local_session(target)
        if near is not None:
            return near
        token = target.credentials.token
        if target.credentials.app is not None:
            token = await self._github().token_of(target)
        credentials = Credentials(token=token, user=target.credentials.user)
        return self._git().open(replace(target, credentials=credentials))

    async def token_for(self, target: Target) -> InstallationToken:
        """Return a token of the target's app, limited to the target. Raises NotAuthorized,
        OutsideError."""
        near = await self._local_session(target)
        if isinstance(near, WorldSession):
            return await near.token()
        return await self._github().token_for(target)

    async def exchange(self, grant: Grant) -> tuple[str, float]:
        """Exchange an OAuth code for a token. Return the token and its lifetime in seconds, 0 for
        no limit.

        Raises NotAuthorized, OutsideError.
        """
        host = urls.host_of(grant.base)
        scripted = await self._world.exchange(host, grant.code)
        if scripted is not None:
            return scripted, 0.0
        if self._is_offline:
            raise Unreachable(host, f"host {host} is not reachable", is_final=True)
        return await self._providers().exchange(grant)

    async def _local_session(self, target: Target) -> "WorldSession | clients.GitSession | None":
        """Return a session without the network, or None. Raises Unreachable if the server is
        offline and the host is not scripted."""
        if target.url.startswith("file://"):
            return self._git().open(target)
        return await self.scripted(target)

    @property
    def git(self) -> "clients.Git":
        """The client for git servers."""
        return self._git()

    async def scripted(self, target: Target) -> WorldSession | None:
        """Return a session with the scripted host of a target, or None. Raises Unreachable if the
        server is offline and the host is not scripted."""
        found = await world_sessions.repository(self._world, target)
        if found is None and self._is_offline:
            host = urls.host_of(target.url)
            raise Unreachable(host, f"host {host} is not reachable", is_final=True)
        return found

    async def app(self, app: App) -> AppSession:
        """Return a session for one app. Raises AppNotFound if the server is offline and the app is
        not scripted."""
        scripted = await world_sessions.app(self._world, app)
        if scripted is not None:
            return scripted
        if self._is_offline:
            raise AppNotFound
        return self._github().app(app)


REMOTES: Service[Remotes] = Service("remotes")
