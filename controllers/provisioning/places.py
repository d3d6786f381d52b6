"""Where the files of a Repository are, and asking for them with its credentials."""

import asyncio
from collections.abc import Sequence

from inkube.controllers.checks import Run
from inkube.controllers.provisioning.contents import (
    Contents,
    Edit,
    LocalContents,
    RefNotFound,
    TooMuch,
    Tree,
    Unsupported,
)
from inkube.controllers.provisioning.manifests import Scope
from inkube.controllers.provisioning.remotes import Remotes
from inkube.controllers.provisioning.repository_checks import target_of
from inkube.controllers.provisioning.types import Repository

REFUSALS = (RefNotFound, Unsupported, TooMuch)
"""What a place answers beside what any host may."""


def scope_of(repository: Repository) -> Scope:
    """Where its resources are made."""
    sync, metadata = repository.spec.sync, repository.metadata
    has_root = sync is not None and sync.target == "folder"
    return Scope(metadata.name, metadata.namespace, repository.spec.title, has_root)


async def contents(run: Run[Repository]) -> Contents:
    """The remote place. Raises NoRemote for a local repository."""
    remotes: Remotes = run.env.services["remotes"]
    return await run.memo("contents", lambda: _open(remotes, run))


async def _open(remotes: Remotes, run: Run[Repository]) -> Contents:
    return await remotes.contents(await target_of(run))


async def tree(run: Run[Repository], branch: str = "") -> Tree:
    """All files of a branch, the configured one by default."""
    spec = run.object.spec
    if spec.local is not None and spec.type == "local":
        if branch:
            raise Unsupported("local repository does not support ref")
        return await asyncio.to_thread(LocalContents(spec.local.path).tree)
    return await (await contents(run)).tree(branch or configured_branch(run.object))


async def commit(run: Run[Repository], branch: str, edits: Sequence[Edit], message: str) -> str:
    """Change files in one commit; the new head."""
    spec = run.object.spec
    if spec.local is not None and spec.type == "local":
        return await asyncio.to_thread(LocalContents(spec.local.path).write, edits)
    branch = branch or configured_branch(run.object)
    return await (await contents(run)).commit(branch, edits, message)


def configured_branch(repository: Repository) -> str:
    """The branch of its block."""
    return repository.spec.remote.branch if repository.spec.remote is not None else ""
