"""The kinds of the scripted world: outside systems that any client can edit, world.inkube.dev/v1.

A GitHost represents the host with its name, a GitHubApp the app whose ID is its name. `world` finds
them, and `world_sessions` creates responses from them. Porch reads the packages of GitHosts.
"""

from collections.abc import Sequence

from pydantic import Field

from inkube.controllers.provisioning.outside.contents import Edit, File, Tree, digest
from inkube.controllers.provisioning.outside.hosts import REQUIRED_PERMISSIONS
from inkube.kinds import Model, Resource, Status

GROUP = "world.inkube.dev"


class Token(Model):
    """A credential that the host accepts."""

    value: str
    write: bool = False


class HostedFile(Model):
    """A file on one branch, or on all branches without another file at that path."""

    path: str
    content: str = ""
    branch: str = Field("", description="The branch of the file. Empty: all branches.")


class HostedRevision(Model):
    """A published revision of a package: a commit on the default branch, and a tag."""

    revision: int | None = Field(
        None, description="The number of the revision. Empty: the previous one plus one."
    )
    files: dict[str, str] = Field(default_factory=dict)


class HostedDraft(Model):
    """A draft of a package: a branch."""

    workspace: str
    files: dict[str, str] = Field(default_factory=dict)


class HostedPackage(Model):
    """A package in git, as Porch reads it. A missing Kptfile is generated."""

    path: str
    revisions: list[HostedRevision] = Field(default_factory=list)
    drafts: list[HostedDraft] = Field(default_factory=list)


class HostedRepository(Model):
    """A repository. Its path has no slashes at its ends (`grafana/grafana`)."""

    path: str
    branches: list[str] = Field(default_factory=list)
    default_branch: str = ""
    protected_branches: list[str] = Field(default_factory=list)
    files: list[HostedFile] = Field(default_factory=list)
    packages: list[HostedPackage] = Field(
        default_factory=list,
        description="The packages that Porch finds. Its pushes do not change this list.",
    )

    def has(self, branch: str) -> bool:
        """Return whether the branch exists."""
        return branch in self.branches or (branch != "" and branch == self.default_branch)

    def tree(self, branch: str) -> Tree:
        """Return the files of a branch; its head changes with the files."""
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
    """A failure of a host: an HTTP code for every response, a delay, or both."""

    code: int | None = Field(
        default=None, ge=400, le=599, description="The HTTP code of every response."
    )
    delay_milliseconds: int = Field(default=0, ge=0, description="The delay of every response.")
    heals_after_seconds: int | None = Field(
        default=None,
        ge=1,
        description="Seconds until the outage ends. Without it, the outage ends when it is "
        "removed.",
    )


class GitHostSpec(Model):
    """The data of the host. Without tokens, all requests can read and write."""

    tokens: list[Token] = Field(default_factory=list)
    repositories: list[HostedRepository] = Field(default_factory=list)
    outage: Outage | None = None


class RegisteredHook(Model):
    """A registered webhook. The host sends no events; a test or a user sends them."""

    repository: str
    id: int
    url: str


class GitHostStatus(Status):
    """The data that the host stores."""

    webhooks: list[RegisteredHook] | None = None
    outage_ends: int | None = Field(
        default=None, description="The time at which the outage ends, in ms since the epoch."
    )


class GitHost(Resource, group=GROUP, version="v1", namespaced=False):
    """A git host. Its name is the host name for which it responds."""

    spec: GitHostSpec = Field(default_factory=GitHostSpec)
    status: GitHostStatus = Field(default_factory=GitHostStatus)


class Installation(Model):
    """An installation of the app. Without permissions, it has those of the app; without
    repositories, all of them."""

    id: str
    permissions: dict[str, str] | None = None
    repositories: list[str] | None = None


class GitHubAppSpec(Model):
    """GitHub's data of the app. Without a public key, any RSA key is accepted. Without permissions,
    the app has all necessary ones; an empty map grants none."""

    public_key: str = ""
    permissions: dict[str, str] | None = None
    installations: list[Installation] = Field(default_factory=list)

    def installation(self, name: str) -> Installation | None:
        """Return the installation of that ID."""
        return next((each for each in self.installations if each.id == name), None)

    def granted(self, installation: Installation | None = None) -> dict[str, str]:
        """Return the permissions of the app or of one of its installations."""
        if installation is not None and installation.permissions is not None:
            return installation.permissions
        return dict(REQUIRED_PERMISSIONS) if self.permissions is None else self.permissions


class GitHubApp(
    Resource, group=GROUP, version="v1", plural="githubapps", kind="GitHubApp", namespaced=False
):
    """A GitHub App. Its name is its ID."""

    spec: GitHubAppSpec = Field(default_factory=GitHubAppSpec)
