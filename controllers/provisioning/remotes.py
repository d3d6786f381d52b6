"""Who answers for a repository or an app: the scripted world first, then the real thing."""

from collections.abc import Callable

from inkube.controllers import provisioning
from inkube.controllers.checks import Unreachable
from inkube.controllers.provisioning import urls
from inkube.controllers.provisioning.hosts import (
    App,
    AppNotFound,
    AppSession,
    Session,
    Target,
)
from inkube.controllers.provisioning.world import World


class Remotes:
    """Opens conversations; `is_offline` leaves nobody but the world."""

    def __init__(
        self,
        world: World,
        git: "Callable[[], provisioning.Git]",
        github: "Callable[[], provisioning.GitHub]",
        *,
        is_offline: bool,
    ) -> None:
        self._world = world
        self._git = git
        self._github = github
        self._is_offline = is_offline

    async def repository(self, target: Target) -> Session:
        """A conversation about one repository. Raises Unreachable when nobody may be asked."""
        if target.url.startswith("file://"):
            return self._git().open(target)
        scripted = await self._world.repository(target)
        if scripted is not None:
            return scripted
        if self._is_offline:
            host = urls.host_of(target.url)
            raise Unreachable(host, f"host {host} is not reachable", is_final=True)
        if target.type == "github":
            return self._github().repository(target)
        return self._git().open(target)

    async def app(self, app: App) -> AppSession:
        """A conversation about one app. Raises AppNotFound when only the world could know it."""
        scripted = await self._world.app(app)
        if scripted is not None:
            return scripted
        if self._is_offline:
            raise AppNotFound
        return self._github().app(app)
