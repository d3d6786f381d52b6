"""The kinds of the scripted world: outside systems that any client can edit, world.inkube.dev/v1.

A GitHost represents the host with its name, a GitHubApp the app whose ID is its name. `world` finds
them, and `world_sessions` creates responses from them. Porch reads the packages of GitHosts.
"""

from collections.abc import Sequence

from pydantic import Field

from inkube.controllers.provisioning.outside.contents import Edit, File, Tree, digest
from inkube.controllers.provisioning.outside.hosts import NEEDED
from inkube.schemas.models import Model, Resource, Status

GROUP = "world.inkube.dev"


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
        """Whether the branch exists."""
        return branch in self.branches or (branch != "" and branch == self.default_branch)

    def tree(self, branch: str) -> Tree:
        """The files of a branch; its head changes with the files."""
        everywhere = {file.path: file.content for file in self.files if not file.branch}
        here = {file.path: file.content for file in self.files if file.branch == branch}
        found = sorted({**everywhere, **here}.items())
        files = [File(path.strip("/"), content.encode()) for path, content in found]
        return Tree(digest(branch, files), files)

    def change(self, branch: str, edits: Sequence[Edit], base: str = "") -> None:
        """Apply a commit to one branch; a changed file of every branch stays on the others."""
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

    code: int | None = Field(
        default=None, ge=400, le=599, description="The HTTP code of every answer."
    )
    delay_milliseconds: int = Field(
        default=0, ge=0, description="How long every answer takes to come."
    )
    heals_after_seconds: int | None = Field(
        default=None, ge=1, description="When it ends by itself; without it somebody has to."
    )


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
    outage_ends: int | None = Field(
        default=None, description="When the outage ends by itself, in ms since the epoch."
    )


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

    def installation(self, name: str) -> Installation | None:
        """The installation of that ID."""
        return next((each for each in self.installations if each.id == name), None)

    def granted(self, installation: Installation | None = None) -> dict[str, str]:
        """The permissions of the app or of one of its installations."""
        if installation is not None and installation.permissions is not None:
            return installation.permissions
        return dict(NEEDED) if self.permissions is None else self.permissions


class GitHubApp(
    Resource, group=GROUP, version="v1", plural="githubapps", kind="GitHubApp", namespaced=False
):
    """A GitHub App, named like its ID."""

    spec: GitHubAppSpec = Field(default_factory=GitHubAppSpec)
