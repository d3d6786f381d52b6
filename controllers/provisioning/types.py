"""Repository and Connection of provisioning.grafana.app/v0alpha1 as typed models."""

from typing import Any, Literal

from pydantic import Field

from inkube.kinds import Column, Model, Resource, SecureValue, Status

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

    path: str = Field(default="", description="The directory, inside one that the server permits.")


class _Remote(Model):
    """What repositories of all providers have."""

    url: str = Field(
        default="",
        description="The URL of the repository, such as https://github.com/owner/repository.",
    )
    branch: str = Field(
        "", description="The branch to sync. If empty, the server sets the default branch."
    )
    path: str = Field("", description="The directory to sync. If empty, the whole repository.")


class GitBlock(_Remote):
    """A git server with http(s), or a bare repository in a file."""

    token_user: str = Field("", description="The user name for the token.")


class GitHubBlock(_Remote):
    """A repository on GitHub."""

    branch: str = Field("", description="The branch to sync. Required.")
    generate_dashboard_previews: bool = Field(
        default=False, description="Whether pull requests show images. This server creates none."
    )


class GitHubEnterpriseBlock(_Remote):
    """A repository on a GitHub Enterprise server."""

    server_url: str = Field(
        "", description="The URL of the server. If empty, that of the repository."
    )


class BitbucketBlock(_Remote):
    """A repository on Bitbucket."""

    token_user: str = Field("", description="The user name for the token.")
    email: str = Field(
        "", description="The email address of the account, for tokens that need one."
    )


class GitLabBlock(_Remote):
    """A repository on GitLab."""


RemoteBlock = GitBlock | GitHubBlock | GitHubEnterpriseBlock | BitbucketBlock | GitLabBlock


class SyncOptions(Model):
    """When and where to sync."""

    enabled: bool = Field(default=False, description="Whether the files are synced automatically.")
    target: Literal["instance", "folder", "folderless"] | None = Field(
        default=None,
        description="Where resources are created: in a folder, in the instance or in no folder.",
    )
    interval_seconds: int | None = Field(
        default=None,
        description="Seconds between two syncs. A value below the server's minimum is "
        "raised to it.",
    )


class ConnectionReference(Model):
    """A Connection in the same namespace."""

    name: str = Field(default="", description="The name of the Connection.")


class WebhookOptions(Model):
    """Where the provider reports changes."""

    base_url: str = Field(
        default="", description="The URL at which the provider can reach this server."
    )
    disabled: bool = Field(default=False, description="Whether the server creates no webhook.")


class CommitOptions(Model):
    """Messages, authors and signatures of commits."""

    single_resource_message_template: str = Field(
        default="", description="The message of a commit that changes one resource."
    )
    enforce_template: bool = Field(
        default=False, description="Whether users cannot write their own messages."
    )
    author_name: str = Field(
        default="", description="The name of the author of commits that are not signed."
    )
    author_email: str = Field(default="", description="The email address of the author.")
    signer_name: str = Field(default="", description="The name of the signer of commits.")
    signer_email: str = Field(default="", description="The email address of the signer.")
    signing_method: Literal["gpg", "ssh", "smime"] | None = Field(
        default=None,
        description="The method with which commits are signed. Without it, they are not signed.",
    )
    signer_is_author: bool = Field(
        default=False, description="Whether the signer is also the author."
    )
    smime_certificate: str = Field(
        default="", description="The certificate of a signer with smime, as PEM."
    )


class BranchOptions(Model):
    """Names of branches for changes."""

    name_template: str = Field(default="", description="The name of a branch for a change.")
    enforce_template: bool = Field(
        default=False, description="Whether users cannot choose their own names."
    )


class PullRequestOptions(Model):
    """Titles of pull requests."""

    title_template: str = Field(default="", description="The title of a pull request.")
    enforce_template: bool = Field(
        default=False, description="Whether users cannot write their own titles."
    )
    generate_dashboard_previews: bool = Field(
        default=False, description="Whether pull requests show images. This server creates none."
    )


class RepositorySpec(Model):
    """The files to sync. Exactly the block with the name of the type is present. As in Go, members
    are strings that can be empty; admission reports missing ones."""

    title: str = Field(
        default="",
        description="The title for users. Required if the repository is synced or written.",
    )
    description: str = Field(default="", description="The purpose of the repository.")
    type: Literal["local", "github", "githubEnterprise", "git", "bitbucket", "gitlab"] = Field(
        description="The type of the location. The block with this name contains the "
        "details. Immutable."
    )
    local: LocalBlock | None = None
    github: GitHubBlock | None = None
    github_enterprise: GitHubEnterpriseBlock | None = None
    git: GitBlock | None = None
    bitbucket: BitbucketBlock | None = None
    gitlab: GitLabBlock | None = None
    sync: SyncOptions | None = None
    workflows: list[str] = Field(
        default_factory=list, description="How changes can be written. Empty: read-only."
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
        """Return the block named like a type."""
        return getattr(self, "github_enterprise" if kind == "githubEnterprise" else kind)

    @property
    def path(self) -> str:
        """The directory below which files are read, without slashes at its ends."""
        return self.remote.path.strip("/") if self.remote is not None else ""


class RepositorySecure(Model):
    """Values that are stored separately from the object."""

    token: SecureValue | None = Field(
        default=None, description="The token for requests to the provider."
    )
    webhook_secret: SecureValue | None = Field(
        default=None,
        description="The key of the signatures of the provider's events. The server creates"
        " it if necessary.",
    )
    commit_signing_key: SecureValue | None = Field(
        default=None, description="The key with which commits are signed."
    )


class SyncStatus(Model):
    """The last sync. Times are milliseconds since the epoch."""

    state: Literal["", "pending", "working", "success", "error", "warning"] = Field(
        default="", description="The state of the last sync. Empty before the first one."
    )
    started: int | None = Field(default=None, description="The start of the sync.")
    finished: int | None = Field(default=None, description="The end of the sync.")
    message: list[str] = Field(
        default_factory=list, description="The errors of the sync, one line each."
    )
    last_ref: str = Field(default="", description="The last synced commit.")
    job: str = Field("", description="The name of the running job.")
    scheduled: int | None = Field(
        default=None, description="The time at which the job was created."
    )
    incremental: bool = Field(default=False, description="Whether only changed files were read.")


class WebhookStatus(Model):
    """The webhook at the provider. Times are milliseconds since the epoch."""

    id: int | None = Field(default=None, description="The number of the webhook at the provider.")
    uuid: str = Field(
        default="", description="The identifier of the webhook at providers without numbers."
    )
    url: str = Field(default="", description="The URL to which the provider sends events.")
    subscribed_events: list[str] = Field(
        default_factory=list, description="The types of events that are sent."
    )
    last_event: int | None = Field(default=None, description="The time of the last event.")
    last_rotated: int | None = Field(
        default=None, description="The time at which its secret was last sent to the provider."
    )


class TokenStatus(Model):
    """A token of the server. Times are milliseconds since the epoch."""

    last_updated: int | None = Field(
        default=None, description="The time at which the token was created."
    )
    expiration: int | None = Field(
        default=None, description="The time at which the token expires. Missing or 0: never."
    )


class QuotaStatus(Model):
    """The limits. A missing member means no limit."""

    max_repositories: int | None = Field(
        default=None, description="The most repositories of a namespace."
    )
    max_resources_per_repository: int | None = Field(
        default=None, description="The most resources of a repository."
    )


class ResourceCount(Model):
    """The number of resources of one kind."""

    group: str = Field(description="The group of the kind.")
    resource: str = Field(description="The plural of the kind.")
    count: int = Field(description="The number of resources.")


class RepositoryStatus(Status):
    """The results of the controller."""

    stats: list[ResourceCount] | None = Field(
        default=None, description="The resources that the last pull created."
    )
    delete_error: str = Field(
        default="", description="The reason why a deleted object is not removed yet."
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
        "fieldErrors": [],
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
    """A location whose files are synced."""

    spec: RepositorySpec
    secure: RepositorySecure = Field(default_factory=RepositorySecure)
    status: RepositoryStatus = Field(default_factory=RepositoryStatus)


class GitHubApp(Model):
    """A GitHub App and one of its installations. Both are strings of digits."""

    app_id: str = Field(default="", alias="appID", description="The ID of the app, a number.")
    installation_id: str = Field(
        default="", alias="installationID", description="The ID of the installation, a number."
    )


class GitHubEnterpriseApp(GitHubApp):
    """An app of a GitHub Enterprise server. OAuth needs only the server."""

    server_url: str = Field(default="", description="The URL of the server.")


class BitbucketAccount(Model):
    """The account of a connection to Bitbucket."""

    workspace: str = Field(default="", description="The workspace with the repositories.")


class OAuthClient(Model):
    """The application that users authorize."""

    client_id: str = Field(default="", alias="clientID", description="The ID of the application.")


class ConnectionWebhook(Model):
    """Whether repositories of the connection get webhooks."""

    disabled: bool = Field(
        default=False, description="Whether repositories of the connection have no webhooks."
    )


class ConnectionSpec(Model):
    """How to log in at a provider. The block with the name of the type is present."""

    title: str = Field(default="", description="The title for users.")
    description: str = Field(default="", description="The purpose of the connection.")
    type: Literal[
        "github", "githubEnterprise", "githubOAuth", "githubEnterpriseOAuth", "gitlab", "bitbucket"
    ] = Field(description="The provider and the way to log in. Immutable.")
    github: GitHubApp | None = None
    github_enterprise: GitHubEnterpriseApp | None = None
    bitbucket: BitbucketAccount | None = None
    oauth: OAuthClient | None = None
    webhook: ConnectionWebhook | None = None
    url: str = Field("", description="The settings page of the installation. Set by the server.")

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
    """Values that are stored separately from the object."""

    private_key: SecureValue | None = Field(
        default=None, description="The key of the app: base64 of an RSA key as PEM."
    )
    client_secret: SecureValue | None = Field(
        default=None, description="The secret of the application that users authorize."
    )
    token: SecureValue | None = Field(
        default=None, description="The token for requests to the provider. Created by the server."
    )


class ConnectionStatus(Status):
    """The results of the controller."""

    state: Literal["Connected", "Disconnected"] | None = Field(
        default=None, description="Whether the connection can use the provider."
    )
    token: TokenStatus | None = None


class Connection(
    Resource,
    group=GROUP,
    version=VERSION,
    also_served=(BETA,),
    short_names=("conn",),
    zero_status={"fieldErrors": [], "health": {"healthy": False}, "token": {}},
    unknown_field="field label not supported for Connection: {label}",
    columns=(
        Column("Title", "string", ".spec.title"),
        Column("Type", "string", ".spec.type"),
        Column("State", "string", ".status.state"),
        Column("Healthy", "boolean", ".status.health.healthy"),
        Column("Age", "date", ".metadata.creationTimestamp"),
    ),
):
    """An account at a provider that repositories can use."""

    spec: ConnectionSpec
    secure: ConnectionSecure = Field(default_factory=ConnectionSecure)
    status: ConnectionStatus = Field(default_factory=ConnectionStatus)
