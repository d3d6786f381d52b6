"""Sessions with the scripted world, with the interface of `hosts`: for a repository or for an app.

Their changes (commits and webhooks) are edits of a GitHost, visible to every client.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from http import HTTPStatus

from inkube.controllers.provisioning.outside import clients, urls
from inkube.controllers.provisioning.outside.contents import Branch, Commit, Edit, RefNotFound, Tree
from inkube.controllers.provisioning.outside.hosts import (
    App,
    AppNotFound,
    Hook,
    InstallationNotFound,
    InstallationToken,
    KeyRefused,
    NotAuthorized,
    RepositoryNotFound,
    Target,
)
from inkube.controllers.provisioning.outside.world import TOKEN_SECONDS, World
from inkube.controllers.provisioning.outside.world_types import (
    GitHost,
    GitHubApp,
    HostedRepository,
    Installation,
    RegisteredHook,
)
from inkube.kinds import Memo


async def repository(world: World, target: Target) -> "WorldSession | None":
    """Return a session with the host of the target; None if the host is not scripted."""
    host = await world.find_host(urls.host_of(target.url))
    return WorldSession(world, host, target) if host is not None else None


async def app(world: World, app: App) -> "WorldAppSession | None":
    """Return a session for an app, if the world contains the app or its host; None otherwise."""
    known = await world.find_app(app.app_id)
    host = await world.find_host(app.host)
    if known is None and host is None:
        return None
    return WorldAppSession(world, known, app, host)


class WorldSession:
    """A session with a scripted host for one repository."""

    def __init__(self, world: World, host: GitHost, target: Target) -> None:
        self._world = world
        self._host = host
        self._target = target
        self._memo = Memo()

    async def default_branch(self) -> str:
        """Return the scripted default branch, or the first branch."""
        found = await self._repository()
        return found.default_branch or (found.branches[0] if found.branches else "")

    async def head(self, branch: str) -> str | None:
        """Return a generated commit for the branch and its files: the same for the same files. None
        if the branch does not exist."""
        found = await self._repository()
        return found.tree(branch).head if found.has(branch) else None

    async def branch_names(self) -> list[str]:
        return [branch.name for branch in await self.branches()]

    async def is_protected(self, branch: str) -> bool:
        return branch in (await self._repository()).protected_branches

    async def token(self) -> InstallationToken:
        """Return a token for this repository only, issued to an app."""
        await self._repository()
        app = self._target.credentials.app
        assert app is not None, "asked for repositories that log in with an app"
        permissions, _ = await self._installation(app)
        host, path, _ = self._branch_key("")
        may_write = permissions.get("contents") == "write"
        value = self._world.issue(host, path, may_write=may_write)
        ends = datetime.fromtimestamp(self._world.now() + TOKEN_SECONDS, UTC)
        return InstallationToken(value, ends, permissions)

    async def put_hook(self, hook: Hook, hook_id: int | None) -> int:
        """Store the webhook in the status of the GitHost. Return its ID. Raises NotAuthorized."""
        await self._permit_hooks()
        host, path, _ = self._branch_key("")
        made = hook_id or 0

        def change(hooks: list[RegisteredHook]) -> list[RegisteredHook]:
            nonlocal made
            others = [each for each in hooks if each.id != hook_id]
            if len(others) == len(hooks):
                made = max([each.id for each in hooks], default=0) + 1
            return [*others, RegisteredHook(repository=path, id=made, url=hook.url)]

        await self._world.set_hooks(host, change)
        return made

    async def remove_hook(self, hook_id: int) -> None:
        """Remove the webhook from the status of the GitHost. Raises NotAuthorized."""
        await self._permit_hooks()
        host, _, _ = self._branch_key("")
        await self._world.set_hooks(
            host, lambda hooks: [each for each in hooks if each.id != hook_id]
        )

    async def _permit_hooks(self) -> None:
        await self._repository()
        app = self._target.credentials.app
        if app is None:
            is_permitted = await self.may_write()
        else:
            permissions, _ = await self._installation(app)
            is_permitted = permissions.get("webhooks") == "write"
        if not is_permitted:
            raise NotAuthorized(HTTPStatus.FORBIDDEN)

    async def branches(self) -> list[Branch]:
        found = await self._repository()
        names = {*found.branches, *filter(None, [found.default_branch])}
        return [
            Branch(name, found.tree(name).head, name in found.protected_branches)
            for name in sorted(names)
        ]

    async def tree(self, branch: str) -> Tree:
        found = await self._repository()
        if not found.has(branch):
            raise RefNotFound
        tree = found.tree(branch)
        self._world.note(self._branch_key(branch), tree.head)
        return tree

    async def commit(self, branch: str, edits: Sequence[Edit], message: str, base: str = "") -> str:
        """Edit the files in the GitHost, visible to every client. Return the new head."""
        await self._repository()
        host, path, _ = self._branch_key(branch)
        await self._world.edit(host, path, branch, edits, base)
        self._memo = Memo()
        self._host = await self._world.find_host(host) or self._host
        head = (await self._repository()).tree(branch).head
        self._world.note(self._branch_key(branch), head, message)
        return head

    async def history(self, branch: str) -> list[Commit]:
        """Return one commit for each recorded head of a branch. Raises RefNotFound."""
        await self.tree(branch)
        return self._world.history(self._branch_key(branch))

    def _branch_key(self, branch: str) -> tuple[str, str, str]:
        path = urls.normalised(urls.path_of(self._target.url))
        return self._host.metadata.name, path, branch

    async def repository(self) -> tuple[str, HostedRepository]:
        """Return the name of the host, and the scripted repository."""
        return self._host.metadata.name, await self._repository()

    async def may_write(self) -> bool:
        """Return whether the token, or the app's permission for contents, permits writes."""
        await self._repository()
        app = self._target.credentials.app
        if app is not None:
            permissions, _ = await self._installation(app)
            return permissions.get("contents") == "write"
        tokens, (host, path, _) = self._host.spec.tokens, self._branch_key("")
        issued = self._world.token_data(self._target.credentials.token, host, path)
        if issued is not None:
            return issued.may_write
        return not tokens or any(
            token.write for token in tokens if token.value == self._target.credentials.token
        )

    async def _repository(self) -> HostedRepository:
        return await self._memo("repository", self._fetch)

    async def _fetch(self) -> HostedRepository:
        await self._world.endure(self._host)
        path = urls.normalised(urls.path_of(self._target.url))
        found = next(
            (
                repository
                for repository in self._host.spec.repositories
                if urls.normalised(repository.path.strip("/")) == path
            ),
            None,
        )
        await self._authorize(path, is_missing=found is None)
        if found is None:
            raise RepositoryNotFound
        return found

    async def _authorize(self, path: str, *, is_missing: bool) -> None:
        credentials = self._target.credentials
        if credentials.app is not None:
            _, repositories = await self._installation(credentials.app)
            if repositories is not None and path not in repositories:
                raise RepositoryNotFound
            return
        tokens = {token.value for token in self._host.spec.tokens}
        if not tokens or credentials.token in tokens:
            return
        if self._world.token_data(credentials.token, self._host.metadata.name, path) is None:
            raise NotAuthorized(is_missing=is_missing)

    async def _installation(self, app: App) -> tuple[dict[str, str], list[str] | None]:
        """Return the permissions and repositories of the token of an app. Raises NotAuthorized."""
        known = await self._world.find_app(app.app_id)
        if known is None:
            raise NotAuthorized
        installation = known.spec.installation(app.installation_id)
        if installation is None:
            raise NotAuthorized
        return known.spec.granted(installation), installation.repositories


class WorldAppSession:
    """A session for a scripted app."""

    def __init__(
        self, world: World, app_object: GitHubApp | None, app: App, host: GitHost | None
    ) -> None:
        self._world = world
        self._app_object = app_object
        self._app = app
        self._host = host
        self._memo = Memo()

    async def installations(self) -> list[str]:
        return [installation.id for installation in (await self._known()).spec.installations]

    async def permissions(self) -> dict[str, str]:
        return (await self._known()).spec.granted()

    async def installation_permissions(self) -> dict[str, str]:
        """Return the permissions of the installation; those of the app if the installation has no
        permissions. Raises InstallationNotFound."""
        installation = await self._installation()
        return (await self._known()).spec.granted(installation)

    async def repositories(self) -> list[str]:
        """Return the repositories of the installation; those of the host if the installation has no
        list. Raises InstallationNotFound."""
        installation = await self._installation()
        if installation.repositories is not None:
            return list(installation.repositories)
        hosted = self._host.spec.repositories if self._host is not None else []
        return [repository.path.strip("/") for repository in hosted]

    async def _installation(self) -> Installation:
        found = (await self._known()).spec.installation(self._app.installation_id)
        if found is None:
            raise InstallationNotFound
        return found

    async def _known(self) -> GitHubApp:
        return await self._memo("app", self._fetch)

    async def _fetch(self) -> GitHubApp:
        if self._host is not None:
            await self._world.endure(self._host)
        if self._app_object is None:
            raise AppNotFound
        token = clients.appkeys.sign(self._app.app_id, self._app.private_key, self._world.now())
        public_key = self._app_object.spec.public_key
        if public_key and not clients.appkeys.is_signed_by(token, public_key):
            raise KeyRefused
        return self._app_object
