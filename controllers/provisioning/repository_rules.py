"""Static rules and normal form of a Repository: offline, on every write."""

from collections.abc import Iterator, Sequence

from inkube.controllers.checks import (
    Duplicate,
    Forbidden,
    Invalid,
    NotSupported,
    Problem,
    Required,
    Rule,
    mutator,
    validator,
)
from inkube.controllers.provisioning import urls
from inkube.controllers.provisioning.options import TYPES, Options
from inkube.controllers.provisioning.types import Repository

RESERVED = frozenset(
    {
        "new", "create", "update", "delete", "edit", "list", "get", "watch", "patch", "job", "jobs",
        "local", "github", "git", "gitlab", "bitbucket", "file", "files", "http", "https", "s3",
        "gcs", "azure", "repository", "repositories", "connection", "connections", "settings",
        "stats", "test", "validate", "check", "sync", "export", "history", "render", "resources",
        "refs", "webhook", "status",
    }
)  # fmt: skip


def field_of(repository: Repository, member: str) -> str:
    """`spec.TYPE.MEMBER`."""
    return f"spec.{repository.spec.type}.{member}"


def mutators(options: Options) -> Sequence[Rule[Repository]]:
    """In their order."""

    @mutator(Repository)
    def normalise(repository: Repository, old: Repository | None) -> None:
        remote = repository.spec.remote
        if remote is not None:
            url = urls.normalised(remote.url)
            if url != remote.url:
                remote.url = url

    @mutator(Repository)
    def raise_interval(repository: Repository, old: Repository | None) -> None:
        sync = repository.spec.sync
        if sync is not None and 0 < (sync.interval_seconds or 0) < options.minimum_sync_interval:
            sync.interval_seconds = options.minimum_sync_interval

    return (normalise, raise_interval)


def validators(options: Options) -> Sequence[Rule[Repository]]:
    """In the order of the fields."""

    @validator(Repository, field="spec.type")
    def type_enabled(repository: Repository, old: Repository | None) -> Iterator[Problem]:
        if repository.spec.type not in options.enabled_types:
            choices = ", ".join(f'"{name}"' for name in options.enabled_types)
            yield NotSupported(f"supported values: {choices}")

    @validator(Repository, field=lambda repository: field_of(repository, "url"))
    def url_well_formed(repository: Repository, old: Repository | None) -> Iterator[Problem]:
        remote, kind = repository.spec.remote, repository.spec.type
        if remote is None:
            return
        if not remote.url:
            yield Required("the URL of the repository is needed")
        elif kind == "git" and remote.url.startswith("file://"):
            yield from _wrong_with_file(remote.url.removeprefix("file://"), options)
        elif why := urls.wrong_with_url(remote.url, kind):
            yield Invalid(why, value=urls.without_credentials(remote.url))

    @validator(Repository, field="spec.local.path")
    def local_path_permitted(repository: Repository, old: Repository | None) -> Iterator[Problem]:
        local = repository.spec.local
        if local is None or repository.spec.type != "local":
            return
        if not local.path:
            yield Required("the directory is needed")
        elif why := urls.wrong_with_local_path(local.path, options.local_path_prefixes):
            yield Invalid(why)

    return (
        name_not_reserved, title_given, type_enabled, type_unchanged, block_of_the_type,
        url_well_formed, branch_well_formed, path_well_formed, local_path_permitted,
        sync_complete, workflows_possible, credentials_unambiguous, webhook_url_well_formed,
    )  # fmt: skip


def _wrong_with_file(path: str, options: Options) -> Iterator[Problem]:
    if options.allow_private_hosts:
        if not path.startswith("/"):
            yield Invalid("must name an absolute path, as in file:///srv/git/repository")
    elif why := urls.wrong_with_local_path(path, options.local_path_prefixes):
        yield Invalid(why)


@validator(Repository, field="metadata.name")
def name_not_reserved(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """Names that stand for something else in paths and user interfaces."""
    if repository.metadata.name in RESERVED:
        yield Invalid("is a reserved name; choose another one")


@validator(Repository, field="spec.title")
def title_given(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """People read titles."""
    if not repository.spec.title.strip():
        yield Required("a title is needed")


@validator(Repository, field="spec.type")
def type_unchanged(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """Everything else depends on the type."""
    if old is not None and old.spec.type != repository.spec.type:
        yield Invalid("field is immutable; create another repository instead")


@validator(Repository, field="spec")
def block_of_the_type(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """Exactly the block that is named like the type."""
    kind = repository.spec.type
    if repository.spec.block_of(kind) is None:
        yield Required(f"is needed by type {kind}", field=f"spec.{kind}")
    for other in TYPES:
        if other != kind and repository.spec.block_of(other) is not None:
            yield Forbidden(f"does not belong to type {kind}; remove it", field=f"spec.{other}")


@validator(Repository, field=lambda repository: field_of(repository, "branch"))
def branch_well_formed(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """A valid ref name, or empty for the default branch."""
    remote = repository.spec.remote
    if remote is None:
        return
    if repository.spec.type == "github" and not remote.branch:
        yield Required("a github branch is required")
    elif why := urls.wrong_with_branch(remote.branch):
        yield Invalid(why)


@validator(Repository, field=lambda repository: field_of(repository, "path"))
def path_well_formed(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """A directory inside the repository."""
    remote = repository.spec.remote
    if remote is not None and (why := urls.wrong_with_path(remote.path)):
        yield Invalid(why)


@validator(Repository, field="spec.sync")
def sync_complete(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """A target for a sync that is on, and a positive interval."""
    sync = repository.spec.sync
    if sync is None:
        return
    if sync.enabled and sync.target is None:
        yield Required("a sync needs a target: instance or folder", field="spec.sync.target")
    if sync.interval_seconds is not None and sync.interval_seconds < 1:
        yield Invalid("must be a positive number of seconds", field="spec.sync.intervalSeconds")


@validator(Repository, field="spec.workflows")
def workflows_possible(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """Each once, and only those the type can do."""
    seen = set()
    for position, workflow in enumerate(repository.spec.workflows):
        field = f"spec.workflows[{position}]"
        if workflow in seen:
            yield Duplicate("stands there already; name each workflow once", field=field)
        seen.add(workflow)
        if workflow == "branch" and repository.spec.type == "local":
            yield Invalid("a local repository has no branches; use write", field=field)


@validator(Repository, field="secure.token")
def credentials_unambiguous(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """A token or a connection, not both; one of them where something is written."""
    has_token = repository.secure.token is not None
    has_connection = repository.spec.connection is not None
    if has_token and has_connection:
        yield Forbidden("may not be combined with spec.connection; remove one of them")
    writes = repository.spec.workflows and repository.spec.type != "local"
    if writes and not has_token and not has_connection:
        yield Required("a token or a connection is needed by the workflows that write")


@validator(Repository, field="spec.webhook.baseUrl")
def webhook_url_well_formed(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """Where the provider can reach us."""
    webhook = repository.spec.webhook
    if webhook is not None and webhook.base_url:
        why = urls.wrong_with_http_url(webhook.base_url)
        if why:
            yield Invalid(why, value=urls.without_credentials(webhook.base_url))
