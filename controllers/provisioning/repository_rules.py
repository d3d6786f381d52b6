"""Static rules and normal form of a Repository, checked offline on every write.

The texts are Grafana's (apps/provisioning/pkg/repository, the validators of each type).
"""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from inkube.controllers.provisioning.options import TYPES, Options
from inkube.controllers.provisioning.outside import urls
from inkube.controllers.provisioning.types import RemoteBlock, Repository, SyncOptions
from inkube.kinds import (
    Duplicate,
    Forbidden,
    Invalid,
    NotSupported,
    Problem,
    Required,
    Rule,
    SecureValues,
    Unread,
    mutator,
    validator,
)

CLEANUP = "cleanup"
PENDING_JOBS = "remove-pending-jobs"
REMOVE = "remove-orphan-resources"
RELEASE = "release-orphan-resources"
FINALIZERS = (PENDING_JOBS, CLEANUP, RELEASE, REMOVE)
"""The finalizers, in the order of their steps."""
RESERVED = frozenset(
    {
        "new", "create", "update", "delete", "edit", "list", "get", "watch", "patch", "job", "jobs",
        "local", "github", "git", "gitlab", "bitbucket", "file", "files", "http", "https", "s3",
        "gcs", "azure", "repository", "repositories", "connection", "connections", "settings",
        "stats", "test", "validate", "check", "sync", "export", "history", "render", "resources",
        "refs", "webhook", "status", "classic", "sql", "plugins", "legacy",
    }
)  # fmt: skip
RESERVED_TEXT = "Name is reserved, choose a different identifier"
WORKFLOWS = ("write", "branch")
_WRONG_BLOCK = {
    "local": "Local config only valid when type is local",
    "github": "Github config only valid when type is github",
    "githubEnterprise": "GitHub Enterprise config only valid when type is githubEnterprise",
    "git": "Git config only valid when type is git",
    "gitlab": "Gitlab config only valid when type is gitlab",
    "bitbucket": "Bitbucket config only valid when type is bitbucket",
}
_NO_BLOCK = {
    "local": "local configuration is required for local repository type",
    "github": "a github config is required",
    "githubEnterprise": "a github enterprise config is required",
    "git": "git configuration is required for git repository type",
    "gitlab": "gitlab configuration is required for gitlab repository type",
    "bitbucket": "bitbucket configuration is required for bitbucket repository type",
}
_NO_URL = {
    "github": "a github url is required",
    "githubEnterprise": "a github enterprise url is required",
    "git": "a git url is required",
    "gitlab": "a gitlab url is required",
    "bitbucket": "a bitbucket url is required",
}
_GITHUB = "unable to parse repo+owner from url"
_BITBUCKET = "must be a valid Bitbucket repository URL (https://bitbucket.org/workspace/repo)"
_UNSIGNED = (
    "signer identity requires a signing method; use authorName/authorEmail to set the commit "
    "author without signing"
)
_SIGNED = (
    "author override is not allowed when commit signing is enabled; use signerName/signerEmail "
    "with signerIsAuthor instead"
)


def field_of(repository: Repository, member: str) -> str:
    """`spec.TYPE.MEMBER`."""
    return f"spec.{repository.spec.type}.{member}"


def _remotes_of(repository: Repository) -> Iterator[tuple[str, RemoteBlock]]:
    """Yield the block with a URL, and its type. If the type is unknown, every block: its content is
    valid or invalid independently of the type."""
    spec = repository.spec
    try:
        kinds: Sequence[str] = (spec.type,)
    except Unread:
        kinds = TYPES
    for kind in kinds:
        block = spec.block_of(kind)
        if block is not None and kind != "local":
            yield kind, block


def mutators(options: Options) -> Sequence[Rule[Repository]]:
    """Return the mutators, in their order."""

    @mutator(Repository)
    def complete_sync(repository: Repository, old: Repository | None) -> None:
        spec, least = repository.spec, options.min_sync_interval
        if spec.sync is None:
            spec.sync = SyncOptions(enabled=False)
        if spec.sync.interval_seconds is None or 0 < spec.sync.interval_seconds < least:
            spec.sync.interval_seconds = least

    return (normalise, complete_sync)


@mutator(Repository)
def normalise(repository: Repository, old: Repository | None) -> None:
    """Remove trailing slashes of URLs, and set missing workflows to an empty list."""
    spec = repository.spec
    remote = spec.remote
    if remote is not None:
        url = urls.normalised(remote.url)
        if url != remote.url:
            remote.url = url
    if spec.webhook is not None and spec.webhook.base_url.endswith("/"):
        spec.webhook.base_url = spec.webhook.base_url.rstrip("/")
    if "workflows" not in spec.model_fields_set:
        spec.workflows = []


def validators(options: Options, secure: SecureValues) -> Sequence[Rule[Repository]]:
    """Return the validators, in the order of the fields."""

    @validator(Repository, field="spec.type")
    def type_enabled(repository: Repository, old: Repository | None) -> Iterator[Problem]:
        if repository.spec.type not in options.enabled_types:
            choices = ", ".join(f'"{name}"' for name in options.enabled_types)
            yield NotSupported(f"supported values: {choices}")

    @validator(Repository, field="spec")
    def url_well_formed(repository: Repository, old: Repository | None) -> Iterator[Problem]:
        for kind, remote in _remotes_of(repository):
            field = f"spec.{kind}.url"
            if not remote.url:
                yield Required(_NO_URL[kind], field)
            elif why := _wrong_with_remote(remote.url, kind, options):
                yield Invalid(why, field, urls.without_credentials(remote.url))

    @validator(Repository, field="spec.local.path")
    def local_path_permitted(repository: Repository, old: Repository | None) -> Iterator[Problem]:
        local = repository.spec.local
        if local is None or repository.spec.type != "local":
            return
        if not local.path:
            yield Required("must enter a path to local file")
        elif why := urls.wrong_with_local_path(local.path, options.local_folders):
            yield Invalid(why)

    @validator(Repository, field="secure.token")
    def token_of_the_url(repository: Repository, old: Repository | None) -> Iterator[Problem]:
        """Refuse to send a stored token to another URL."""
        if old is None or old.spec.remote is None or repository.spec.remote is None:
            return
        before, now = old.secure.token, repository.secure.token
        if before is None or now is None or before.name != now.name:
            return
        if repository.spec.connection is not None or _same_location(old, repository):
            return
        if now.name is None or secure.staged(repository.metadata.namespace, now.name) is None:
            yield Forbidden("a new token is required when changing the repository URL")

    return (
        name_not_reserved, finalizers_known, title_given, type_enabled, type_unchanged,
        block_of_the_type, url_well_formed, branch_well_formed, path_well_formed,
        local_path_permitted, sync_complete, target_unchanged, workflows_possible,
        options_of_the_type, identities_apart, nothing_rendered, credentials_unambiguous,
        token_of_the_url, webhook_url_well_formed,
    )  # fmt: skip


def _same_location(repository: Repository, other: Repository) -> bool:
    assert repository.spec.remote is not None, "asked for types with a URL"
    assert other.spec.remote is not None, "asked for types with a URL"
    return urls.normalised(repository.spec.remote.url) == urls.normalised(other.spec.remote.url)


def _wrong_with_remote(url: str, kind: str, options: Options) -> str:
    """Return the reason why a URL is not a URL of that type; "" if it is valid."""
    if kind == "git" and url.startswith("file://"):
        return urls.wrong_with_file_url(
            url, options.local_folders, anywhere=options.allow_private_hosts
        )
    if why := urls.wrong_with_url(url):
        return _worded(why, kind)
    return _wrong_with_place(url, kind)


def _worded(message: str, kind: str) -> str:
    """Return the error of a URL with the text for its type."""
    if kind == "git":
        return "invalid git URL format"
    if kind == "bitbucket":
        return _BITBUCKET
    return _GITHUB if message == urls.NO_PATH and kind.startswith("github") else message


def _wrong_with_place(url: str, kind: str) -> str:
    """Return the reason why a URL does not belong to that provider; "" if it does."""
    path, host = urls.path_of(url).removesuffix(".git"), urls.host_of(url)
    if kind == "github" and host not in ("github.com", "www.github.com"):
        return (
            'URL must point to github.com; use type "githubEnterprise" for self-managed GitHub '
            "Enterprise Server"
        )
    if kind in ("github", "githubEnterprise") and not re.fullmatch(r"[\w.\-]+/[\w.\-]+", path):
        return _GITHUB
    if kind == "bitbucket":
        is_there = host == "bitbucket.org" and urlsplit(url).scheme == "https"
        if not is_there or path.count("/") != 1:
            return _BITBUCKET
    return ""


@validator(Repository, field="metadata.name")
def name_not_reserved(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """Reject names that have another meaning in paths and user interfaces."""
    if repository.metadata.name in RESERVED:
        yield Invalid(RESERVED_TEXT)


@validator(Repository, field="metadata.finalizers")
def finalizers_known(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """Permit only finalizers that a controller removes, and not both of release and remove."""
    given = repository.metadata.finalizers
    before = old.metadata.finalizers if old is not None else []
    for name in given:
        if name not in FINALIZERS and name not in before:
            yield Invalid(f"unknown finalizer: {name}")
    if REMOVE in given and RELEASE in given:
        yield Invalid("cannot have both remove and release orphan resources finalizers")


@validator(Repository, field="spec.title")
def title_given(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """Check that a repository that syncs or writes has a title, because users select it by its
    title and a synced folder has this title. For other repositories, a given title must not be
    blank."""
    spec = repository.spec
    is_wanted = "title" in spec.model_fields_set or bool(spec.workflows)
    is_wanted = is_wanted or (spec.sync is not None and spec.sync.enabled)
    if is_wanted and not spec.title.strip():
        yield Required("a repository title must be given")


@validator(Repository, field="spec.type")
def type_unchanged(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """Refuse a change of the type, because the other fields depend on it."""
    if old is not None and old.spec.type != repository.spec.type:
        yield Forbidden("Changing repository type is not supported")


@validator(Repository, field="spec")
def block_of_the_type(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """Check that exactly the block with the name of the type is set."""
    kind = repository.spec.type
    if repository.spec.block_of(kind) is None:
        yield Required(_NO_BLOCK[kind], field=f"spec.{kind}")
    for other in TYPES:
        if other != kind and repository.spec.block_of(other) is not None:
            yield Invalid(_WRONG_BLOCK[other], field=f"spec.{other}")


@validator(Repository, field="spec")
def branch_well_formed(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """Check that the branch is a valid ref name, or empty for the default branch."""
    for kind, remote in _remotes_of(repository):
        if kind == "github" and not remote.branch:
            yield Required("a github branch is required", f"spec.{kind}.branch")
        elif urls.wrong_with_branch(remote.branch):
            yield Invalid("invalid branch name", f"spec.{kind}.branch")


@validator(Repository, field="spec")
def path_well_formed(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """Check that the path is a directory inside the repository."""
    for kind, remote in _remotes_of(repository):
        if why := urls.wrong_with_path(remote.path):
            yield Invalid(why, f"spec.{kind}.path")


@validator(Repository, field="spec.sync")
def sync_complete(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """Check that an enabled sync has a target, and that the interval is positive."""
    sync = repository.spec.sync
    if sync is None:
        return
    if sync.enabled and sync.target is None:
        text = "The target type is required when sync is enabled"
        yield Required(text, field="spec.sync.target")
    if sync.interval_seconds is not None and sync.interval_seconds < 1:
        yield Invalid("must be a positive number of seconds", field="spec.sync.intervalSeconds")


@validator(Repository, field="spec.sync.target")
def target_unchanged(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """Refuse a change of the sync target after a sync, because the created resources stay in their
    folders."""
    if old is None or not old.status.stats:
        return
    before = old.spec.sync.target if old.spec.sync is not None else None
    now = repository.spec.sync.target if repository.spec.sync is not None else None
    if before != now:
        yield Forbidden("Changing sync target after running sync is not supported")


@validator(Repository, field="spec.workflows")
def workflows_possible(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """Check that each workflow occurs one time, and that the type supports it."""
    seen = set()
    for position, workflow in enumerate(repository.spec.workflows):
        if workflow in seen:
            text = "stands there already; name each workflow once"
            yield Duplicate(text, field=f"spec.workflows[{position}]")
        elif workflow not in WORKFLOWS:
            yield Invalid("invalid workflow", value=workflow)
        elif workflow == "branch" and repository.spec.type == "local":
            yield Invalid("branch is only supported on git repositories", value=workflow)
        seen.add(workflow)


@validator(Repository, field="spec")
def options_of_the_type(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """Reject options that the type does not support."""
    spec = repository.spec
    given = {
        "branch": ("branch", spec.branch),
        "commit": ("commit", spec.commit),
        "pullRequest": ("pull request", spec.pull_request),
    }
    for member, (words, value) in given.items():
        if value is None:
            continue
        if spec.type == "local":
            text = f"{words} options are not supported on this repository type"
            yield Invalid(text, field=f"spec.{member}")
        elif spec.type == "git" and member == "pullRequest":
            text = "pull request options are not supported on git repositories"
            yield Invalid(text, field=f"spec.{member}")


@validator(Repository, field="spec.commit")
def identities_apart(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """Permit a signer only if commits are signed, and another author only if they are not."""
    commit = repository.spec.commit
    if commit is None:
        return
    signer = {
        "signerName": commit.signer_name,
        "signerEmail": commit.signer_email,
        "signerIsAuthor": commit.signer_is_author,
    }
    author = {"authorName": commit.author_name, "authorEmail": commit.author_email}
    wrong, text = (author, _SIGNED) if commit.signing_method else (signer, _UNSIGNED)
    for member, value in wrong.items():
        if value:
            yield Invalid(text, field=f"spec.commit.{member}")


@validator(Repository, field="spec", aliases=["spec.generateDashboardPreviews"])
def nothing_rendered(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """Reject options for previews, which are images that this server does not render."""
    spec = repository.spec
    if spec.type == "github":
        is_wanted = spec.github is not None and spec.github.generate_dashboard_previews
    else:
        is_wanted = spec.pull_request is not None and spec.pull_request.generate_dashboard_previews
    if is_wanted:
        text = "image rendering is not enabled"
        yield Invalid(text, field="spec.generateDashboardPreviews", value=True)


@validator(Repository, field="secure.token")
def credentials_unambiguous(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """Check that there is either a token or a connection. One of them is required for workflows. An
    existing object can have both, because the server writes the token of a connection."""
    has_token = repository.secure.token is not None
    connection = repository.spec.connection
    has_connection = connection is not None and connection.name != ""
    if has_token and has_connection and not repository.metadata.resource_version:
        text = "cannot have both connection and token defined"
        yield Invalid(text, field="spec.connection.name")
        yield Invalid(text)
    writes = repository.spec.workflows and repository.spec.type != "local"
    if writes and not has_token and not has_connection:
        text = "either a token or a connection should be provided"
        yield Required(text, field="spec.connection")
        yield Required(text)


@validator(Repository, field="spec.webhook.baseUrl")
def webhook_url_well_formed(repository: Repository, old: Repository | None) -> Iterator[Problem]:
    """Check the URL at which the provider can reach the server."""
    webhook = repository.spec.webhook
    if webhook is None or not webhook.base_url:
        return
    shown = urls.without_credentials(webhook.base_url)
    try:
        parts = urlsplit(webhook.base_url)
    except ValueError:
        yield Invalid("must be a valid URL", value=shown)
        return
    if parts.scheme not in ("http", "https"):
        yield Invalid("must use HTTP or HTTPS scheme", value=shown)
    if not parts.hostname:
        yield Invalid("must include a host", value=shown)
    elif parts.scheme in ("http", "https") and urls.wrong_with_http_url(webhook.base_url):
        yield Invalid("must be a valid URL", value=shown)
