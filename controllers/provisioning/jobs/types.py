"""Job and HistoricJob of provisioning.grafana.app: actions on a repository's files."""

from pydantic import Field

from inkube.controllers.provisioning.types import BETA, GROUP, VERSION
from inkube.kinds import Column, Model, Resource, Status

ACTIONS = (
    "pull", "push", "pr", "migrate", "delete", "move", "fixFolderMetadata", "releaseResources",
    "deleteResources",
)  # fmt: skip
OF_THE_DEAD = ("releaseResources", "deleteResources")
"""The only actions that are possible while a repository is being deleted."""
REPOSITORY = f"{GROUP}/repository"
ORIGINAL_UID = f"{GROUP}/original-uid"
CLAIM = f"{GROUP}/claim"
CLAIM_OWNER = f"{GROUP}/claim-owner"


class ResourceReference(Model):
    """A resource by its name."""

    name: str = ""
    kind: str = ""
    group: str = ""


class PullOptions(Model):
    """Read the files of the branch."""

    incremental: bool = Field(False, description="Whether to pull only if the branch has changed.")


class PushOptions(Model):
    """Write resources to files."""

    message: str = ""
    folder: str = ""
    branch: str = ""
    path: str = ""
    resources: list[ResourceReference] = Field(default_factory=list)


class PullRequestOptions(Model):
    """Check a pull request."""

    ref: str = ""
    pr: int = 0
    hash: str = ""
    url: str = ""


class MigrateOptions(Model):
    """Write all resources to files, and manage them from there."""

    message: str = ""
    branch: str = ""
    resources: list[ResourceReference] = Field(default_factory=list)
    skip_resource_deletion: bool = False


class DeleteOptions(Model):
    """Remove files."""

    ref: str = ""
    paths: list[str] = Field(default_factory=list)
    resources: list[ResourceReference] = Field(default_factory=list)


class MoveOptions(Model):
    """Move files into a directory."""

    ref: str = ""
    paths: list[str] = Field(default_factory=list)
    target_path: str = ""
    resources: list[ResourceReference] = Field(default_factory=list)


class FixFolderMetadataOptions(Model):
    """Correct the metadata of folders."""

    ref: str = ""


class JobSpec(Model):
    """The action and its repository. The block with the name of the action contains the options."""

    action: str = ""
    repository: str = ""
    pull: PullOptions | None = None
    push: PushOptions | None = None
    pr: PullRequestOptions | None = None
    migrate: MigrateOptions | None = None
    delete: DeleteOptions | None = None
    move: MoveOptions | None = None
    fix_folder_metadata: FixFolderMetadataOptions | None = None


class Summary(Model):
    """The results for the resources of one kind."""

    group: str = ""
    kind: str = ""
    total: int = 0
    create: int = 0
    update: int = 0
    delete: int = 0
    write: int = 0
    noop: int = 0
    error: int = 0
    warning: int = 0
    errors: list[str] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)


class JobURLs(Model):
    """The URLs of the result."""

    source_url: str = Field("", alias="sourceURL")
    compare_url: str = Field("", alias="compareURL")
    new_pull_request_url: str = Field("", alias="newPullRequestURL")
    repository_url: str = Field("", alias="repositoryURL")


class JobStatus(Status):
    """The progress of a job. Times are milliseconds since the epoch."""

    state: str = ""
    started: int | None = None
    finished: int | None = None
    message: str = ""
    errors: list[str] | None = None
    warnings: list[str] | None = None
    progress: float | None = None
    progress_updates: int | None = None
    summary: list[Summary] | None = None
    url: JobURLs | None = None


COLUMNS = (
    Column("Action", "string", ".spec.action"),
    Column("Repository", "string", ".spec.repository"),
    Column("State", "string", ".status.state"),
    Column("Message", "string", ".status.message"),
    Column("Age", "date", ".metadata.creationTimestamp"),
)


class Job(
    Resource, group=GROUP, version=VERSION, also_served=(BETA,), zero_status={}, columns=COLUMNS
):
    """An action on the files of a repository. The server removes it when it is finished."""

    spec: JobSpec
    status: JobStatus = Field(default_factory=JobStatus)


class HistoricJob(
    Resource,
    group=GROUP,
    version=VERSION,
    columns=COLUMNS,
    status_subresource=False,
    verbs=("delete", "deletecollection", "get", "list", "watch"),
):
    """The result of a finished job, which is kept for a limited time."""

    spec: JobSpec
    status: JobStatus = Field(default_factory=JobStatus)
