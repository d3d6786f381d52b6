"""The scripted world: outside systems as kinds of world.inkube.dev/v1 that anyone can edit.

A GitHost answers for the host it is named after, a GitHubApp for the app whose ID is its name.
They are read when a check asks, so an edit holds from the next check on.
"""

import secrets
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from typing import NamedTuple

from pydantic import Field

from inkube.controllers import provisioning
from inkube.controllers.checks import Unreachable
from inkube.controllers.client import Client
from inkube.controllers.environment import Memo
from inkube.controllers.provisioning import urls
from inkube.controllers.provisioning.contents import (
    Branch,
    Commit,
    Edit,
    File,
    RefNotFound,
    Tree,
    digest,
)
from inkube.controllers.provisioning.hosts import (
    NEEDED,
    App,
    AppNotFound,
    Hook,
    InstallationNotFound,
    InstallationToken,
    KeyRefused,
    NotAuthorized,
    RepositoryNotFound,
    Target,
    refusal,
)
from inkube.schemas import models
from inkube.schemas.clock import Clock
from inkube.schemas.models import Model, Resource, Status
from inkube.schemas.status import Reason, StatusError

GROUP = "world.inkube.dev"
BRANCHES = 1_000
TOKENS = 10_000
TOKEN_SECONDS = 3600.0
"""How many tokens the world remembers, and how long one holds."""
COMMITS = 100
"""So many commits of so many branches are remembered, the latest."""


class Token(Model):
    """A credential the host accepts."""

    value: str
    write: bool = False


class HostedFile(Model):
    """A file on one branch, or on every one that has no other of that path."""

    path: str
    content: str = ""
    branch: str = Field("", description="Empty: on every branch.")


class HostedRevision(Model):
    """A published revision of a package: a commit on the default branch, and a tag."""

    revision: int | None = Field(None, description="Empty: one more than the one before.")
    files: dict[str, str] = Field(default_factory=dict)


class HostedDraft(Model):
    """A draft of a package: a branch."""

    workspace: str
    files: dict[str, str] = Field(default_factory=dict)


class HostedPackage(Model):
    """A package as Porch finds it in git; a missing Kptfile is made up."""

    path: str
    revisions: list[HostedRevision] = Field(default_factory=list)
    drafts: list[HostedDraft] = Field(default_factory=list)


class HostedRepository(Model):
    """A repository, its path without slashes at the ends (`grafana/grafana`)."""

    path: str
    branches: list[str] = Field(default_factory=list)
    default_branch: str = ""
    protected_branches: list[str] = Field(default_factory=list)
    files: list[HostedFile] = Field(default_factory=list)
    packages: list[HostedPackage] = Field(
        default_factory=list, description="What Porch finds there; what it pushes stays its own."
    )

    def has(self, branch: str) -> bool:
        """Whether there is such a branch."""
        return branch in self.branches or (branch != "" and branch == self.default_branch)

    def tree(self, branch: str) -> Tree:
        """What is on a branch; the head moves with its files."""
        everywhere = {file.path: file.content for file in self.files if not file.branch}
        here = {file.path: file.content for file in self.files if file.branch == branch}
        found = sorted({**everywhere, **here}.items())
        files = [File(path.strip("/"), content.encode()) for path, content in found]
        return Tree(digest(branch, files), files)

    def change(self, branch: str, edits: Sequence[Edit], base: str = "") -> None:
        """Carry out a commit: what was on every branch stays on the others."""
        others = [name for name in self.branches if name != branch]
        if not self.has(branch):
            source = base or self.default_branch or next(iter(self.branches), "")
            theirs = [each for each in self.files if each.branch == source]
            copied = [
                HostedFile(path=each.path, content=each.content, branch=branch) for each in theirs
            ]
            self.branches, self.files = [*self.branches, branch], [*self.files, *copied]
        for edit in edits:
            kept = []
            for file in self.files:
                if file.path.strip("/") != edit.path or file.branch not in ("", branch):
                    kept.append(file)
                elif not file.branch:
                    own = {each.branch for each in self.files if each.path == file.path}
                    kept += [
                        HostedFile(path=file.path, content=file.content, branch=name)
                        for name in others
                        if name not in own
                    ]
            if edit.data is not None:
                text = edit.data.decode("utf-8", "replace")
                kept.append(HostedFile(path=edit.path, content=text, branch=branch))
            self.files = kept


class Outage(Model):
    """How a host misbehaves: an HTTP code it answers everything with, a delay, or both."""

    code: int | None = Field(None, ge=400, le=599)
    delay_milliseconds: int = Field(0, ge=0)


class GitHostSpec(Model):
    """What the host knows. Without tokens everybody may read and write."""

    tokens: list[Token] = Field(default_factory=list)
    repositories: list[HostedRepository] = Field(default_factory=list)
    outage: Outage | None = None


class RegisteredHook(Model):
    """A webhook as it was registered; nobody sends its events but who plays the host."""

    repository: str
    id: int
    url: str


class GitHostStatus(Status):
    """What the host was asked to keep."""

    webhooks: list[RegisteredHook] | None = None


class GitHost(Resource, group=GROUP, version="v1", namespaced=False):
    """A git host, named like the host it answers for."""

    spec: GitHostSpec = Field(default_factory=GitHostSpec)
    status: GitHostStatus = Field(default_factory=GitHostStatus)


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
        self._history: OrderedDict[tuple[str, str, str], deque[Commit]] = OrderedDict()
        self._issued: OrderedDict[str, _Issued] = OrderedDict()

    async def repository(self, target: Target) -> "WorldSession | None":
        """A conversation with the host of the target."""
        host = await self._find(GitHost, urls.host_of(target.url))
        return WorldSession(self, host, target) if host is not None else None

    async def app(self, app: App) -> "WorldAppSession | None":
        """A conversation about an app: with the world when it knows the app or has its host."""
        known = await self.find_app(app.app_id)
        host = await self._find(GitHost, app.host)
        if known is None and host is None:
            return None
        return WorldAppSession(self, known, app, host)

    async def find_host(self, name: str) -> GitHost | None:
        """The host of that name."""
        return await self._find(GitHost, name)

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

    def note(self, place: tuple[str, str, str], head: str, message: str = "initial") -> None:
        """Remember a head of (host, path, branch) as a commit, unless it is the newest."""
        seen = self._history.setdefault(place, deque(maxlen=COMMITS))
        self._history.move_to_end(place)
        while len(self._history) > BRANCHES:
            self._history.popitem(last=False)
        if not seen or seen[0].ref != head:
            seen.appendleft(Commit(head, message, "inkube", int(self.now() * 1000)))

    def history(self, place: tuple[str, str, str]) -> list[Commit]:
        """The commits seen there, the newest first."""
        return list(self._history.get(place, ()))

    def issue(self, host: str, path: str, *, may_write: bool) -> str:
        """A token for one repository of a host, which is accepted for an hour."""
        value = secrets.token_urlsafe(24)
        ends = self.now() + TOKEN_SECONDS
        self._issued[value] = _Issued(host, path, may_write, ends)
        while len(self._issued) > TOKENS:
            self._issued.popitem(last=False)
        return value

    def issued(self, value: str, host: str, path: str) -> "_Issued | None":
        """What is known of a token that was given for that place and still holds."""
        found = self._issued.get(value)
        is_good = found is not None and found[:2] == (host, path) and found.ends > self.now()
        return found if is_good else None

    async def exchange(self, host: str, code: str) -> str | None:
        """The token for a code of OAuth: a token's value stands for itself. None: nobody's host.

        Raises NotAuthorized, OutsideError.
        """
        found = await self.find_host(host)
        if found is None:
            return None
        await self.endure(found)
        tokens = {token.value for token in found.spec.tokens}
        if tokens and code not in tokens:
            raise NotAuthorized
        return code

    async def set_hooks(
        self, host: str, change: Callable[[list[RegisteredHook]], list[RegisteredHook]]
    ) -> None:
        """Change what a host keeps of webhooks, in its status."""
        while True:
            obj = await self._client.get(GitHost.gvr, host)
            before = models.parse(GitHost, obj).status.webhooks or []
            hooks = [models.dump(each) for each in change(list(before))]
            obj["status"] = {**(obj.get("status") or {}), "webhooks": hooks}
            try:
                await self._client.update(obj, subresource="status")
            except StatusError as error:
                if error.reason != Reason.CONFLICT:
                    raise
                continue  # somebody else edited the world: again on the newer one
            return

    async def edit(
        self, host: str, path: str, branch: str, edits: Sequence[Edit], base: str
    ) -> None:
        """Change the files of a repository by an update of its GitHost."""
        while True:
            obj = await self._client.get(GitHost.gvr, host)
            spec = models.parse(GitHost, obj).spec
            for repository in spec.repositories:
                if urls.normalised(repository.path.strip("/")) == path:
                    repository.change(branch, edits, base)
            repositories = [models.dump(each) for each in spec.repositories]
            obj["spec"]["repositories"] = repositories
            try:
                await self._client.update(obj)
            except StatusError as error:
                if error.reason != Reason.CONFLICT:
                    raise
                continue  # somebody else edited the world: again on the newer one
            return

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


class _Issued(NamedTuple):
    """A token the world gave: for which repository of which host, until when."""

    host: str
    path: str
    may_write: bool
    ends: float


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
        """A commit made up from the branch and its files: the same files, the same commit."""
        found = await self._repository()
        return found.tree(branch).head if found.has(branch) else None

    async def branch_names(self) -> list[str]:
        """As scripted."""
        return [branch.name for branch in await self.branches()]

    async def is_protected(self, branch: str) -> bool:
        """As scripted."""
        return branch in (await self._repository()).protected_branches

    async def token(self) -> InstallationToken:
        """One for this repository alone, in the name of an app."""
        await self._repository()
        app = self._target.credentials.app
        assert app is not None, "asked for repositories that log in with an app"
        permissions, _ = await self._installation(app)
        host, path, _ = self._place("")
        may_write = permissions.get("contents") == "write"
        value = self._world.issue(host, path, may_write=may_write)
        ends = datetime.fromtimestamp(self._world.now() + TOKEN_SECONDS, UTC)
        return InstallationToken(value, ends, permissions)

    async def put_hook(self, hook: Hook, known: int | None) -> int:
        """Kept in the status of the GitHost."""
        await self._permit_hooks()
        host, path, _ = self._place("")
        made = known or 0

        def change(hooks: list[RegisteredHook]) -> list[RegisteredHook]:
            nonlocal made
            others = [each for each in hooks if each.id != known]
            if len(others) == len(hooks):
                made = max([each.id for each in hooks], default=0) + 1
            return [*others, RegisteredHook(repository=path, id=made, url=hook.url)]

        await self._world.set_hooks(host, change)
        return made

    async def remove_hook(self, known: int) -> None:
        """Gone from the status of the GitHost."""
        await self._permit_hooks()
        host, _, _ = self._place("")
        await self._world.set_hooks(
            host, lambda hooks: [each for each in hooks if each.id != known]
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
        """As scripted."""
        found = await self._repository()
        names = {*found.branches, *filter(None, [found.default_branch])}
        return [
            Branch(name, found.tree(name).head, name in found.protected_branches)
            for name in sorted(names)
        ]

    async def tree(self, branch: str) -> Tree:
        """The files of a branch."""
        found = await self._repository()
        if not found.has(branch):
            raise RefNotFound
        tree = found.tree(branch)
        self._world.note(self._place(branch), tree.head)
        return tree

    async def commit(self, branch: str, edits: Sequence[Edit], message: str, base: str = "") -> str:
        """Edit the GitHost, which anybody can see."""
        await self._repository()
        host, path, _ = self._place(branch)
        await self._world.edit(host, path, branch, edits, base)
        self._memo = Memo()
        self._host = await self._world.find_host(host) or self._host
        head = (await self._repository()).tree(branch).head
        self._world.note(self._place(branch), head, message)
        return head

    async def history(self, branch: str) -> list[Commit]:
        """One commit per head that was seen."""
        await self.tree(branch)
        return self._world.history(self._place(branch))

    def _place(self, branch: str) -> tuple[str, str, str]:
        path = urls.normalised(urls.path_of(self._target.url))
        return self._host.metadata.name, path, branch

    async def repository(self) -> tuple[str, HostedRepository]:
        """The host's name, and the repository as it is scripted."""
        return self._host.metadata.name, await self._repository()

    async def may_write(self) -> bool:
        """What the token, or the app's permission for contents, allows."""
        await self._repository()
        app = self._target.credentials.app
        if app is not None:
            permissions, _ = await self._installation(app)
            return permissions.get("contents") == "write"
        tokens, (host, path, _) = self._host.spec.tokens, self._place("")
        issued = self._world.issued(self._target.credentials.token, host, path)
        if issued is not None:
            return issued.may_write
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
        if not tokens or credentials.token in tokens:
            return
        if self._world.issued(credentials.token, self._host.metadata.name, path) is None:
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

    async def repositories(self) -> list[str]:
        """Those of the installation; the host's where it says nothing."""
        known = await self._memo("app", self._ask)
        for installation in known.spec.installations:
            if installation.id == self._app.installation_id:
                if installation.repositories is not None:
                    return list(installation.repositories)
                hosted = self._host.spec.repositories if self._host is not None else []
                return [repository.path.strip("/") for repository in hosted]
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
