"""Repository and Connection of provisioning.grafana.app/v0alpha1 as typed models."""

from typing import Any, Literal

from pydantic import Field

from inkube.controllers.secure import SecureValue
from inkube.schemas.definitions import Column
from inkube.schemas.models import Model, Resource, Status

GROUP = "provisioning.grafana.app"
VERSION = "v0alpha1"
BETA = "v1beta1"
CONNECTION_TYPES = (
    "github", "githubEnterprise", "githubOAuth", "githubEnterpriseOAuth", "gitlab", "bitbucket",
)  # fmt: skip
APP_TYPES = ("github", "githubEnterprise")
"""Connections that log in as an app of GitHub; the others by OAuth."""


class LocalBlock(Model):
    """Files on the server's own disk."""

    path: str = Field(default="", description="The directory, below one that the server permits.")


class GitBlock(Model):
    """Any git server over http(s), or a bare repository in a file."""

    url: str = Field(
        default="",
        description="Where the repository is, such as https://github.com/owner/repository.",
    )
    branch: str = Field("", description="Empty: the default branch is looked up and filled in.")
    path: str = Field("", description="The directory to sync; empty: the whole repository.")
    token_user: str = Field("", description="The user name that goes with the token.")


class GitHubBlock(Model):
    """A repository on GitHub."""

    url: str = Field(
        default="",
        description="Where the repository is, such as https://github.com/owner/repository.",
    )
    branch: str = Field("", description="The branch to sync; it has to be named.")
    path: str = Field("", description="The directory to sync; empty: the whole repository.")
    generate_dashboard_previews: bool = Field(
        default=False, description="Whether pull requests show images; nothing here makes any."
    )


class GitHubEnterpriseBlock(Model):
    """A repository on a GitHub Enterprise server."""

    server_url: str = Field("", description="The server's own URL; empty: that of the repository.")
    url: str = Field(
        default="",
        description="Where the repository is, such as https://github.com/owner/repository.",
    )
    branch: str = Field("", description="Empty: the default branch is looked up and filled in.")
    path: str = Field("", description="The directory to sync; empty: the whole repository.")


class BitbucketBlock(Model):
    """A repository on Bitbucket."""

    url: str = Field(
        default="",
        description="Where the repository is, such as https://github.com/owner/repository.",
    )
    branch: str = Field("", description="Empty: the default branch is looked up and filled in.")
    path: str = Field("", description="The directory to sync; empty: the whole repository.")
    token_user: str = Field("", description="The user name that goes with the token.")
    email: str = Field("", description="The account's address, for tokens that need one.")


class GitLabBlock(Model):
    """A repository on GitLab."""

    url: str = Field(
        default="",
        description="Where the repository is, such as https://github.com/owner/repository.",
    )
    branch: str = Field("", description="Empty: the default branch is looked up and filled in.")
    path: str = Field("", description="The directory to sync; empty: the whole repository.")


RemoteBlock = GitBlock | GitHubBlock | GitHubEnterpriseBlock | BitbucketBlock | GitLabBlock


class SyncOptions(Model):
    """When and where to sync."""

    enabled: bool = Field(default=False, description="Whether the files are synced by themselves.")
    target: Literal["instance", "folder", "folderless"] | None = Field(
        default=None,
        description="Where resources are made: in a folder, in the instance or in no folder.",
    )
    interval_seconds: int | None = Field(
        default=None, description="Below the server's minimum it is raised to it."
    )


class ConnectionReference(Model):
    """A Connection in the same namespace."""

    name: str = Field(default="", description="The name of the Connection.")


class WebhookOptions(Model):
    """Where the provider reports changes to."""

    base_url: str = Field(
        default="", description="The URL at which this server is reached by the provider."
    )
    disabled: bool = Field(default=False, description="Whether no webhook is made.")


class CommitOptions(Model):
    """How commits are worded, written and signed."""

    single_resource_message_template: str = Field(
        default="", description="The message of a commit that changes one resource."
    )
    enforce_template: bool = Field(
        default=False, description="Whether users may not write messages of their own."
    )
    author_name: str = Field(
        default="", description="Who commits are by, where they are not signed."
    )
    author_email: str = Field(default="", description="The address of the author.")
    signer_name: str = Field(default="", description="Who signs commits.")
    signer_email: str = Field(default="", description="The address of the signer.")
    signing_method: Literal["gpg", "ssh", "smime"] | None = Field(
        default=None, description="How commits are signed; not given: not at all."
    )
    signer_is_author: bool = Field(
        default=False, description="Whether the signer is the author as well."
    )
    smime_certificate: str = Field(
        default="", description="The certificate of a signer by smime, as PEM."
    )


class BranchOptions(Model):
    """How branches for changes are named."""

    name_template: str = Field(
        default="", description="The name of a branch that is made for a change."
    )
    enforce_template: bool = Field(
        default=False, description="Whether users may not choose names of their own."
    )


class PullRequestOptions(Model):
    """How pull requests are worded."""

    title_template: str = Field(default="", description="The title of a pull request.")
    enforce_template: bool = Field(
        default=False, description="Whether users may not write titles of their own."
    )
    generate_dashboard_previews: bool = Field(
        default=False, description="Whether pull requests show images; nothing here makes any."
    )


class RepositorySpec(Model):
    """What to sync; exactly the block named like the type is present.

    Members are strings that may be empty, as Go's are: admission says what is missing.
    """

    title: str = Field(
        default="", description="What people call it; needed where it is synced or written to."
    )
    description: str = Field(default="", description="What it is for.")
    type: Literal["local", "github", "githubEnterprise", "git", "bitbucket", "gitlab"] = Field(
        description="Where the files are; the block of that name says more. It never changes."
    )
    local: LocalBlock | None = None
    github: GitHubBlock | None = None
    github_enterprise: GitHubEnterpriseBlock | None = None
    git: GitBlock | None = None
    bitbucket: BitbucketBlock | None = None
    gitlab: GitLabBlock | None = None
    sync: SyncOptions | None = None
    workflows: list[str] = Field(
        default_factory=list, description="How changes may be written; empty: read only."
    )
    connection: ConnectionReference | None = None
    webhook: WebhookOptions | None = None
    commit: CommitOptions | None = None
    branch: BranchOptions | None = None
    pull_request: PullRequestOptions | None = None

    @property
    def remote(self) -> RemoteBlock | None:
        """The block of a type that has a URL."""
        block: RemoteBlock | None = self.block_of(self.type) if self.type != "local" else None
        return block

    def block_of(self, kind: str) -> Any:
        """The block named like a type."""
        return getattr(self, "github_enterprise" if kind == "githubEnterprise" else kind)

    @property
    def path(self) -> str:
        """The directory below which files are read, without slashes at its ends."""
        return self.remote.path.strip("/") if self.remote is not None else ""


class RepositorySecure(Model):
    """Values kept apart from the object."""

    token: SecureValue | None = Field(default=None, description="What the provider is asked with.")
    webhook_secret: SecureValue | None = Field(
        default=None,
        description="What the provider's events are signed with; made by the server if need be.",
    )
    commit_signing_key: SecureValue | None = Field(
        default=None, description="The key that commits are signed with."
    )


class SyncStatus(Model):
    """The last sync; times are milliseconds since the epoch."""

    state: Literal["", "pending", "working", "success", "error", "warning"] = Field(
        default="", description="How far the last sync has come; empty before the first one."
    )
    started: int | None = Field(default=None, description="When it began.")
    finished: int | None = Field(default=None, description="When it ended.")
    message: list[str] = Field(default_factory=list, description="What went wrong, one line each.")
    last_ref: str = Field(default="", description="The commit that was synced last.")
    job: str = Field("", description="The job at work on it.")
    scheduled: int | None = Field(default=None, description="When its job was made.")
    incremental: bool = Field(default=False, description="Whether only what changed was read.")


class WebhookStatus(Model):
    """The webhook at the provider; times are milliseconds since the epoch."""

    id: int | None = Field(default=None, description="Its number at the provider.")
    uuid: str = Field(default="", description="Its identifier at providers that give no number.")
    url: str = Field(default="", description="Where the provider sends events.")
    subscribed_events: list[str] = Field(default_factory=list, description="Which events are sent.")
    last_event: int | None = Field(default=None, description="When the last event came.")
    last_rotated: int | None = Field(
        default=None, description="When its secret was last made known to the provider."
    )


class TokenStatus(Model):
    """A token the server holds; times are milliseconds since the epoch."""

    last_updated: int | None = Field(default=None, description="When it was made.")
    expiration: int | None = Field(default=None, description="When it ends; missing or 0: never.")


class QuotaStatus(Model):
    """How much there may be; absent members mean no limit."""

    max_repositories: int | None = Field(
        default=None, description="So many repositories a namespace may have."
    )
    max_resources_per_repository: int | None = Field(
        default=None, description="So many resources a repository may make."
    )


class ResourceCount(Model):
    """How many there are of one kind."""

    group: str = Field(description="The group of the kind.")
    resource: str = Field(description="The plural of the kind.")
    count: int = Field(description="How many there are.")


class RepositoryStatus(Status):
    """What the controller found."""

    stats: list[ResourceCount] | None = Field(default=None, description="What the last pull made.")
    delete_error: str = Field(
        default="", description="Why it is still there, while it is being deleted."
    )
    sync: SyncStatus | None = None
    webhook: WebhookStatus | None = None
    token: TokenStatus | None = None
    quota: QuotaStatus | None = None


class Repository(
    Resource,
    group=GROUP,
    version=VERSION,
    also_served=(BETA,),
    plural="repositories",
    short_names=("repo",),
    zero_status={
        "health": {"healthy": False},
        "sync": {"state": "", "message": []},
        "webhook": None,
        "token": {},
        "quota": {},
    },
    columns=(
        Column("Title", "string", ".spec.title"),
        Column("Type", "string", ".spec.type"),
        Column("Healthy", "boolean", ".status.health.healthy"),
        Column("Errors", "integer", ".status.fieldErrors", counts=True),
        Column("Age", "date", ".metadata.creationTimestamp"),
    ),
    selectable_fields=("spec.connection.name",),
    unknown_field="field label not supported for Repository: {label}",
):
    """A place whose files are synced."""

    spec: RepositorySpec
    secure: RepositorySecure = Field(default_factory=RepositorySecure)
    status: RepositoryStatus = Field(default_factory=RepositoryStatus)


class GitHubApp(Model):
    """An app of GitHub and one of its installations, both strings of digits."""

    app_id: str = Field(default="", alias="appID", description="The ID of the app, a number.")
    installation_id: str = Field(
        default="", alias="installationID", description="The ID of the installation, a number."
    )


class GitHubEnterpriseApp(GitHubApp):
    """An app of a GitHub Enterprise server; OAuth needs the server alone."""

    server_url: str = Field(default="", description="The URL of the server.")


class BitbucketAccount(Model):
    """Whose repositories a connection to Bitbucket reaches."""

    workspace: str = Field(default="", description="The workspace whose repositories are reached.")


class OAuthClient(Model):
    """The application that users authorize."""

    client_id: str = Field(default="", alias="clientID", description="The ID of the application.")


class ConnectionWebhook(Model):
    """Whether repositories of the connection are to have webhooks."""

    disabled: bool = Field(
        default=False, description="Whether repositories of the connection have no webhooks."
    )


class ConnectionSpec(Model):
    """How to log in at a provider; the block named like the type is present."""

    title: str = Field(default="", description="What people call it.")
    description: str = Field(default="", description="What it is for.")
    type: Literal[
        "github", "githubEnterprise", "githubOAuth", "githubEnterpriseOAuth", "gitlab", "bitbucket"
    ] = Field(description="The provider and how to log in there. It never changes.")
    github: GitHubApp | None = None
    github_enterprise: GitHubEnterpriseApp | None = None
    bitbucket: BitbucketAccount | None = None
    oauth: OAuthClient | None = None
    webhook: ConnectionWebhook | None = None
    url: str = Field("", description="The installation's settings page; set by the server.")

    @property
    def app(self) -> GitHubApp | None:
        """The app it logs in as, for the types that do."""
        if self.type == "github":
            return self.github
        return self.github_enterprise if self.type == "githubEnterprise" else None

    @property
    def server_url(self) -> str:
        """The GitHub Enterprise server, without a slash at its end; "" for other types."""
        found = self.github_enterprise.server_url if self.github_enterprise is not None else ""
        return found.rstrip("/") if self.type.startswith("githubEnterprise") else ""

    @property
    def block(self) -> str:
        """The path of the app's block."""
        return f"spec.{self.type}"


class ConnectionSecure(Model):
    """Values kept apart from the object."""

    private_key: SecureValue | None = Field(
        default=None, description="The key of the app: base64 of an RSA key as PEM."
    )
    client_secret: SecureValue | None = Field(
        default=None, description="The secret of the application that users authorize."
    )
    token: SecureValue | None = Field(
        default=None, description="What the provider is asked with; made by the server."
    )


class ConnectionStatus(Status):
    """What the controller found."""

    state: Literal["Connected", "Disconnected"] | None = Field(
        default=None, description="Whether the provider can be used by it."
    )
    token: TokenStatus | None = None


class Connection(
    Resource,
    group=GROUP,
    version=VERSION,
    also_served=(BETA,),
    short_names=("conn",),
    zero_status={"health": {"healthy": False}, "token": {}},
    unknown_field="field label not supported for Connection: {label}",
    columns=(
        Column("Title", "string", ".spec.title"),
        Column("Type", "string", ".spec.type"),
        Column("State", "string", ".status.state"),
        Column("Healthy", "boolean", ".status.health.healthy"),
        Column("Age", "date", ".metadata.creationTimestamp"),
    ),
):
    """An account at a provider that repositories may use."""

    spec: ConnectionSpec
    secure: ConnectionSecure = Field(default_factory=ConnectionSecure)
    status: ConnectionStatus = Field(default_factory=ConnectionStatus)
