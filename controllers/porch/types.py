"""The kinds of porch.kpt.dev and config.porch.kpt.dev as typed models."""

from typing import Any

from pydantic import Field

from inkube.controllers.porch.git.layout import LIFECYCLES
from inkube.kinds import Column, Model, Resource, SelectableField, Status

GROUP, VERSION = "porch.kpt.dev", "v1alpha1"
CONFIG, CONFIG_VERSION = "config.porch.kpt.dev", "v1alpha1"
LATEST = "kpt.dev/latest-revision"
PUSH_ON_FAILURE = "porch.kpt.dev/push-on-render-failure"
_LATEST_PATH = r".metadata.labels.kpt\.dev/latest-revision"
_OF_REVISIONS = (
    SelectableField("spec.revision", "spec.revision", zero="0", prefix="v"),
    "spec.packageName",
    "spec.repository",
    "spec.workspaceName",
    SelectableField("spec.lifecycle", "spec.lifecycle", choices=LIFECYCLES),
    SelectableField("spec.packageMetadata.labels", "spec.packageMetadata.labels", is_map=True),
)
"""The fields that select revisions, and also the files of revisions."""
_UNKNOWN = '"{label}" is not a known field selector'


class NameReference(Model):
    """A PackageRevision or Secret in the same namespace."""

    name: str = ""


class GitSource(Model):
    """A directory in a git repository."""

    repo: str = ""
    ref: str = ""
    directory: str = ""
    secret_ref: NameReference | None = None


class OciSource(Model):
    """An image. Not implemented, here and upstream."""

    image: str = ""


class UpstreamSource(Model):
    """The source of a clone: the first of upstreamRef, git and oci that is set."""

    type: str = ""
    upstream_ref: NameReference | None = None
    git: GitSource | None = None
    oci: OciSource | None = None


class InitTask(Model):
    """A new, empty package."""

    description: str = ""
    keywords: list[str] | None = None
    site: str = ""
    subpackage: str = ""


class CloneTask(Model):
    """A new package with the files of another package."""

    upstream_ref: UpstreamSource | None = None


class EditTask(Model):
    """A new revision with the files of a published one."""

    source_ref: NameReference | None = None


class UpgradeTask(Model):
    """A new revision with the changes of its upstream."""

    old_upstream_ref: NameReference | None = None
    new_upstream_ref: NameReference | None = None
    local_package_revision_ref: NameReference | None = None
    strategy: str = ""


class Task(Model):
    """How a revision was created."""

    type: str = ""
    init: InitTask | None = None
    clone: CloneTask | None = None
    edit: EditTask | None = None
    upgrade: UpgradeTask | None = None


class ReadinessGate(Model):
    """A condition that must be True before a revision is proposed."""

    condition_type: str


class PackageMetadata(Model):
    """Labels and annotations of the Kptfile."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class ParentReference(Model):
    """Deprecated. It is checked and then ignored."""

    name: str = ""


class PackageRevisionSpec(Model):
    """A revision of a package."""

    package_name: str = ""
    repository: str = ""
    workspace_name: str = ""
    revision: int | None = None
    lifecycle: str = ""
    tasks: list[Task] | None = None
    readiness_gates: list[ReadinessGate] | None = None
    package_metadata: PackageMetadata | None = None
    parent: ParentReference | None = None


class GitLock(Model):
    """A directory at a commit."""

    repo: str = ""
    directory: str = ""
    ref: str = ""
    commit: str = ""


class Lock(Model):
    """The location of a package, or of its upstream."""

    type: str = ""
    git: GitLock | None = None


class PackageCondition(Model):
    """A condition of a Kptfile, which contains no times."""

    type: str
    status: str
    reason: str | None = None
    message: str | None = None


class PackageRevisionStatus(Status):
    """The server's data of a revision."""

    upstream_lock: Lock | None = None
    self_lock: Lock | None = None
    published_by: str | None = None
    publish_timestamp: str | None = None
    deployment: bool | None = None
    conditions: list[PackageCondition] | None = None  # type: ignore[assignment] # without times


class PackageRevision(
    Resource,
    group=GROUP,
    version=VERSION,
    status_subresource=False,
    columns=(
        Column("Package", "string", ".spec.packageName"),
        Column("WorkspaceName", "string", ".spec.workspaceName"),
        Column("Revision", "int", ".spec.revision", zero=0),
        Column("Latest", "boolean", _LATEST_PATH, shows_presence=True),
        Column("Lifecycle", "string", ".spec.lifecycle"),
        Column("Repository", "string", ".spec.repository"),
    ),
    selectable_fields=_OF_REVISIONS,
    unknown_field=_UNKNOWN,
    only_equality=True,
):
    """One revision of a package: a branch before it is published, then a tag."""

    spec: PackageRevisionSpec = Field(default_factory=PackageRevisionSpec)
    status: PackageRevisionStatus = Field(default_factory=PackageRevisionStatus)


class ResourcesSpec(Model):
    """The files of a revision by their names in the package."""

    package_name: str = ""
    workspace_name: str = ""
    revision: int | None = None
    repository: str = ""
    resources: dict[str, str] = Field(default_factory=dict)


class RenderStatus(Model):
    """The result of rendering. `result` is kpt's FunctionResultList."""

    result: dict[str, Any] | None = None
    error: str = ""


class ResourcesStatus(Status):
    """The result of the last update's rendering."""

    render_status: RenderStatus | None = None


class PackageRevisionResources(
    Resource,
    group=GROUP,
    version=VERSION,
    plural="packagerevisionresources",
    singular="packagerevisionresources",
    status_subresource=False,
    verbs=("get", "list", "patch", "update"),
    instead="create or delete the PackageRevision of this name instead",
    columns=(
        Column("Package", "string", ".spec.packageName"),
        Column("WorkspaceName", "string", ".spec.workspaceName"),
        Column("Revision", "int", ".spec.revision", zero=0),
        Column("Repository", "string", ".spec.repository"),
        Column("Files", "integer", ".spec.resources", counts=True, zero=0),
    ),
    selectable_fields=_OF_REVISIONS,
    unknown_field=_UNKNOWN,
    only_equality=True,
):
    """The files of the PackageRevision with the same name."""

    spec: ResourcesSpec = Field(default_factory=ResourcesSpec)
    status: ResourcesStatus = Field(default_factory=ResourcesStatus)


class PackageSpec(Model):
    """A package of a repository."""

    package_name: str = ""
    repository: str = ""


class PackageStatus(Status):
    """`latestRevision` is 0 before the first published revision."""

    latest_revision: int = 0


class PorchPackage(
    Resource,
    group=GROUP,
    version=VERSION,
    plural="packages",
    status_subresource=False,
    verbs=("get", "list"),
    instead="create, clone, update or delete a PackageRevision instead",
    columns=(
        Column("Package", "string", ".spec.packageName"),
        Column("Repository", "string", ".spec.repository"),
        Column("Latest Revision", "integer", ".status.latestRevision"),
    ),
    selectable_fields=("spec.packageName", "spec.repository"),
    unknown_field=_UNKNOWN,
    only_equality=True,
):
    """A summary of a package with at least one revision. Only the server writes it."""

    spec: PackageSpec = Field(default_factory=PackageSpec)
    status: PackageStatus = Field(default_factory=PackageStatus)


class SyncSpec(Model):
    """When to read git again."""

    schedule: str = ""
    run_once_at: str | None = None


class GitSpec(Model):
    """A git repository."""

    repo: str
    branch: str = "main"
    create_branch: bool = False
    directory: str = ""
    secret_ref: NameReference | None = None
    author: str = ""
    email: str = ""


class OciSpec(Model):
    """An OCI registry. This server cannot read it."""

    registry: str
    secret_ref: NameReference | None = None


class RepositorySpec(Model):
    """A repository of packages."""

    description: str = ""
    deployment: bool = False
    type: str = ""
    content: str = "Package"
    sync: SyncSpec | None = None
    git: GitSpec | None = None
    oci: OciSpec | None = None


class RepositoryStatus(Status):
    """The results of the syncs."""

    last_full_sync_time: str | None = None
    next_full_sync_time: str | None = None
    observed_run_once_at: str | None = None
    package_count: int | None = None
    git_commit_hash: str | None = None


class Repository(
    Resource,
    group=CONFIG,
    version=CONFIG_VERSION,
    plural="repositories",
    columns=(
        Column("Type", "string", ".spec.type"),
        Column("Content", "string", ".spec.content"),
        Column("Sync schedule", "string", ".spec.sync.schedule"),
        Column("Deployment", "boolean", ".spec.deployment"),
        Column("Ready", "string", '.status.conditions[?(@.type=="Ready")].status'),
        Column("Address", "string", ".spec['git','oci']['repo','registry']"),
        Column("Branch", "string", ".spec.git.branch"),
        Column("Age", "date", ".metadata.creationTimestamp"),
    ),
):
    """A registered repository."""

    spec: RepositorySpec = Field(default_factory=RepositorySpec)
    status: RepositoryStatus = Field(default_factory=RepositoryStatus)


class VariantUpstream(Model):
    """The package to follow."""

    repo: str = ""
    package: str = ""
    revision: int | None = None
    workspace_name: str = ""


class VariantDownstream(Model):
    """The package that follows."""

    repo: str = ""
    package: str = ""


class VariantContext(Model):
    """Changes of the package's context."""

    data: dict[str, str] | None = None
    remove_keys: list[str] | None = None


class VariantPipeline(Model):
    """Functions of a Kptfile."""

    mutators: list[dict[str, Any]] | None = None
    validators: list[dict[str, Any]] | None = None


class Injector(Model):
    """An object in the namespace whose spec replaces that of an injection point."""

    group: str | None = None
    version: str | None = None
    kind: str | None = None
    name: str = ""


class VariantSpec(Model):
    """The packages that a PackageVariant keeps equal."""

    upstream: VariantUpstream | None = None
    downstream: VariantDownstream | None = None
    adoption_policy: str = ""
    deletion_policy: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    package_context: VariantContext | None = None
    pipeline: VariantPipeline | None = None
    injectors: list[Injector] | None = None


class VariantTarget(Model):
    """A revision that resulted from a reconcile."""

    name: str = ""
    render_status: RenderStatus | None = None


class VariantStatus(Status):
    """The conditions Stalled and Ready, and the downstream revisions."""

    downstream_targets: list[VariantTarget] | None = None


class PackageVariant(Resource, group=CONFIG, version=CONFIG_VERSION, plural="packagevariants"):
    """Keeps a downstream package up to date with an upstream one."""

    spec: VariantSpec = Field(default_factory=VariantSpec)
    status: VariantStatus = Field(default_factory=VariantStatus)


class SetRepository(Model):
    """A repository, and the packages to create in it."""

    name: str = ""
    package_names: list[str] | None = None


class ObjectSelector(Model):
    """Selects objects of any kind in the namespace."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    match_labels: dict[str, str] | None = None
    match_expressions: list[dict[str, Any]] | None = None


class SetTarget(Model):
    """Where to create variants. Exactly one member is set."""

    repositories: list[SetRepository] | None = None
    repository_selector: dict[str, Any] | None = None
    object_selector: ObjectSelector | None = None
    template: dict[str, Any] | None = None


class VariantSetSpec(Model):
    """Many variants of one package. The template is used unchanged."""

    upstream: VariantUpstream | None = None
    targets: list[SetTarget] | None = None


class PackageVariantSet(Resource, group=CONFIG, version="v1alpha2", plural="packagevariantsets"):
    """Creates PackageVariants for many targets."""

    spec: VariantSetSpec = Field(default_factory=VariantSetSpec)
