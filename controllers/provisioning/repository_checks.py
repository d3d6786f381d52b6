"""Live checks of a Repository, in the order in which their errors are told."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from inkube.controllers import provisioning
from inkube.controllers.checks import (
    Duplicate,
    Forbidden,
    Invalid,
    NotFound,
    OutsideError,
    Problem,
    Run,
    check,
)
from inkube.controllers.client import Client
from inkube.controllers.environment import Environment, Memo
from inkube.controllers.informer import Key
from inkube.controllers.provisioning.hosts import (
    App,
    Credentials,
    NotAuthorized,
    RepositoryNotFound,
    Session,
    Target,
)
from inkube.controllers.provisioning.remotes import Remotes
from inkube.controllers.provisioning.repository_rules import field_of
from inkube.controllers.provisioning.rivals import rivals_of
from inkube.controllers.provisioning.types import Connection, Repository
from inkube.controllers.secure import SecureValues
from inkube.schemas import models
from inkube.schemas.status import StatusError

RIVALS = "rivals"
"""What a run remembers its rivals by."""


class NoRemote(Exception):
    """A local repository: there is nobody to ask."""


class CredentialsMissing(Exception):
    """The object names a secret that is not there."""


@dataclass(frozen=True, slots=True)
class Vaults:
    """Where the secure values of both kinds are."""

    repositories: SecureValues
    connections: SecureValues


def _field(member: str) -> Any:
    return lambda repository: field_of(repository, member)


@check(Repository, field="spec.connection.name")
async def connection_healthy(
    repository: Repository, client: Client, memo: Memo
) -> AsyncIterator[Problem]:
    """A Connection of that name exists in the namespace, fits, and its own checks passed."""
    if repository.spec.connection is None:
        return
    connection = await _connection(repository, client, memo)
    if connection is None:
        yield NotFound("connection not found")
    elif connection.spec.type != repository.spec.type:
        kind = repository.spec.type
        yield Invalid(f"connection is for {connection.spec.type}, the repository is of type {kind}")
    elif connection.status.health is None or not connection.status.health.healthy:
        yield Invalid("connection is not healthy")


@check(Repository, field="secure.token", after=[connection_healthy])
async def credentials_accepted(repository: Repository, run: Run[Repository]) -> Problem | None:
    """The host knows the token; that it cannot be asked is the next check's to tell."""
    try:
        await (await session_of(run)).default_branch()
    except CredentialsMissing:
        return NotFound("the secret it names is not there; set the token again")
    except NotAuthorized:
        return Invalid("not authorized")
    except (RepositoryNotFound, OutsideError, NoRemote):
        return None
    return None


@check(Repository, field=_field("url"), after=[credentials_accepted])
async def repository_reachable(repository: Repository, run: Run[Repository]) -> Problem | None:
    """The host answers and has the repository."""
    try:
        await (await session_of(run)).default_branch()
    except (RepositoryNotFound, NotAuthorized):
        return Invalid("repository not found")
    except NoRemote:
        return None
    return None


@check(Repository, field=_field("branch"), after=[repository_reachable])
async def branch_exists(repository: Repository, run: Run[Repository]) -> Problem | None:
    """The branch, or the default branch when none is named."""
    try:
        session = await session_of(run)
    except NoRemote:
        return None
    if await head_of(run, session) is None:
        return Invalid("branch not found")
    return None


@check(Repository, field="secure.token", after=[repository_reachable])
async def may_write(repository: Repository, run: Run[Repository]) -> Problem | None:
    """Workflows write, so the credentials must be allowed to."""
    if not repository.spec.workflows:
        return None
    try:
        session = await session_of(run)
    except NoRemote:
        return None
    return None if await session.may_write() else Forbidden("write permission denied")


@check(Repository, field="spec.local.path")
async def directory_exists(repository: Repository) -> Problem | None:
    """The server has that directory."""
    local = repository.spec.local
    if repository.spec.type != "local" or local is None:
        return None
    found = await asyncio.to_thread(os.path.isdir, local.path)
    return None if found else Invalid("directory not found")


@check(Repository, field=_field("path"))
async def nobody_else_syncs(
    repository: Repository, env: Environment, run: Run[Repository]
) -> Problem | None:
    """Two repositories over the same files would overwrite each other."""
    branch = await _branch(run)
    found = await run.memo(RIVALS, lambda: rivals_of(repository, env, run.old, branch))
    if not found:
        return None
    return Duplicate(f"repository {found[0].name} already syncs this path of the same branch")


CHECKS = (
    connection_healthy,
    credentials_accepted,
    repository_reachable,
    branch_exists,
    may_write,
    directory_exists,
    nobody_else_syncs,
)


async def session_of(run: Run[Repository]) -> Session:
    """What this run's checks share. Raises NoRemote, CredentialsMissing, OutsideError."""
    return await run.memo("session", lambda: _open(run))


async def head_of(run: Run[Repository], session: Session) -> str | None:
    """The commit of the branch to sync; None when there is no such branch."""
    branch = await _branch_of(run, session)
    return await session.head(branch) if branch else None


async def _open(run: Run[Repository]) -> Session:
    remotes: Remotes = run.env.services["remotes"]
    return await remotes.repository(await target_of(run))


async def target_of(run: Run[Repository]) -> Target:
    """Whom to ask, with which credentials. Raises NoRemote, CredentialsMissing."""
    remote = run.object.spec.remote
    if remote is None:
        raise NoRemote
    return Target(run.object.spec.type, remote.url, await _credentials(run))


async def _credentials(run: Run[Repository]) -> Credentials:
    repository, client = run.object, run.env.client
    vaults: Vaults = run.env.services["vaults"]
    user = str(getattr(repository.spec.remote, "token_user", ""))
    if repository.secure.token is not None and repository.secure.token.name:
        key = Key(repository.metadata.namespace, repository.metadata.name)
        name = repository.secure.token.name
        token = await vaults.repositories.read(client, key, "token", name)
        if token is None:
            raise CredentialsMissing
        return Credentials(token=token, user=user)
    connection = await _connection(repository, client, run.memo)
    app = await app_of(connection, client, vaults.connections) if connection is not None else None
    return Credentials(user=user, app=app)


async def app_of(connection: Connection, client: Client, vault: SecureValues) -> App | None:
    """The app a connection logs in as; None for other types. Raises CredentialsMissing."""
    app, held = connection.spec.github, connection.secure.private_key
    if app is None or held is None or not held.name:
        return None
    key = Key(connection.metadata.namespace, connection.metadata.name)
    value = await vault.read(client, key, "privateKey", held.name)
    if value is None:
        raise CredentialsMissing
    return App(app.app_id, app.installation_id, _pem(value))


def _pem(value: str) -> str:
    """A referenced Secret may hold the PEM as it is, which a created value may not."""
    try:
        return provisioning.appkeys.pem_of(value)
    except ValueError:
        return value


async def _connection(repository: Repository, client: Client, memo: Memo) -> Connection | None:
    async def ask() -> Connection | None:
        reference = repository.spec.connection
        if reference is None or not reference.name:
            return None
        try:
            found = await client.get(Connection.gvr, reference.name, repository.metadata.namespace)
        except StatusError as error:
            if error.code == 404:
                return None
            raise
        return models.parse(Connection, found)

    return await memo("connection", ask)


async def _branch_of(run: Run[Repository], session: Session) -> str:
    remote = run.object.spec.remote
    return (remote.branch if remote is not None else "") or await session.default_branch()


async def _branch(run: Run[Repository]) -> str:
    """The branch to compare with others'; "" when the default branch cannot be looked up."""
    remote = run.object.spec.remote
    if remote is None or remote.branch:
        return remote.branch if remote is not None else ""
    try:
        return await _branch_of(run, await session_of(run))
    except (NotAuthorized, RepositoryNotFound, OutsideError, NoRemote, CredentialsMissing):
        return ""
