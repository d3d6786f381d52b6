"""The location of the files of a Repository, and access to them with its credentials."""

import asyncio
from collections.abc import Sequence

from inkube.client import Object
from inkube.controllers.provisioning.manifests import Scope
from inkube.controllers.provisioning.outside.contents import (
    Contents,
    Edit,
    LocalContents,
    RefNotFound,
    TooMuch,
    Tree,
    Unsupported,
)
from inkube.controllers.provisioning.outside.remotes import REMOTES, Remotes
from inkube.controllers.provisioning.repository_checks import target_of
from inkube.controllers.provisioning.types import Repository
from inkube.kinds import Run

REFUSALS = (RefNotFound, Unsupported, TooMuch)
"""The errors of a location, in addition to the errors of any host."""


def scope_of(repository: Repository) -> Scope:
    """Return the context of the resources of a repository."""
    sync, metadata = repository.spec.sync, repository.metadata
    has_root = sync is not None and sync.target == "folder"
    return Scope(metadata.name, metadata.namespace, repository.spec.title, has_root)


def urls_of(repository: Repository, ref: str = "", path: str = "") -> Object:
    """Return the provider's pages for a file or a branch, a comparison and a new pull request; {}
    for types without such pages."""
    remote, kind = repository.spec.remote, repository.spec.type
    pages = _PAGES.get(kind)
    if remote is None or pages is None:
        return {}
    blob, tree, compare, propose = pages
    names = {"url": remote.url, "branch": ref or remote.branch, "base": remote.branch}
    found = {"repositoryURL": remote.url}
    if path:
        whole = "/".join(filter(None, [repository.spec.path, path]))
        found["sourceURL"] = blob.format(**names, path=whole)
    elif ref:
        found["sourceURL"] = tree.format(**names)
    if ref and ref != remote.branch:
        found["compareURL"] = compare.format(**names)
        found["newPullRequestURL"] = propose.format(**names)
    return found


_GITHUB = (
    "{url}/blob/{branch}/{path}",
    "{url}/tree/{branch}",
    "{url}/compare/{base}...{branch}",
    "{url}/compare/{base}...{branch}?quick_pull=1",
)
_GITLAB_REQUEST = "merge_request[source_branch]={branch}&merge_request[target_branch]={base}"
_PAGES = {
    "github": _GITHUB,
    "githubEnterprise": _GITHUB,
    "gitlab": (
        "{url}/-/blob/{branch}/{path}",
        "{url}/-/tree/{branch}",
        "{url}/-/compare/{base}...{branch}",
        "{url}/-/merge_requests/new?" + _GITLAB_REQUEST,
    ),
    "bitbucket": (
        "{url}/src/{branch}/{path}",
        "{url}/src/{branch}",
        "{url}/branches/compare/{branch}%0D{base}",
        "{url}/pull-requests/new?source={branch}&dest={base}",
    ),
}
"""URL templates: a file, a branch, a comparison of two branches, the form for a pull request."""


async def contents(run: Run[Repository]) -> Contents:
    """Return the remote location. Raises NoRemote for a local repository."""
    remotes = run.env.service(REMOTES)
    return await run.memo("contents", lambda: _open(remotes, run))


async def _open(remotes: Remotes, run: Run[Repository]) -> Contents:
    return await remotes.contents(await target_of(run))


async def tree(run: Run[Repository], branch: str = "") -> Tree:
    """Return all files of a branch, by default of the configured one. Raises Unsupported for a
    branch of a local repository."""
    spec = run.object.spec
    if spec.local is not None and spec.type == "local":
        if branch:
            raise Unsupported("local repository does not support ref")
        return await asyncio.to_thread(LocalContents(spec.local.path).tree)
    return await (await contents(run)).tree(branch or configured_branch(run.object))


async def commit(run: Run[Repository], branch: str, edits: Sequence[Edit], message: str) -> str:
    """Change files in one commit and return the new head."""
    spec = run.object.spec
    if spec.local is not None and spec.type == "local":
        return await asyncio.to_thread(LocalContents(spec.local.path).write, edits)
    branch = branch or configured_branch(run.object)
    base = configured_branch(run.object)
    return await (await contents(run)).commit(branch, edits, message, base)


def configured_branch(repository: Repository) -> str:
    """Return the branch in the block of the type of the repository; "" for a local repository."""
    return repository.spec.remote.branch if repository.spec.remote is not None else ""
