"""Live checks of a Repository, in the order of their errors."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from inkube import kinds
from inkube.client import Client, get_or_none
from inkube.controllers.provisioning import outside
from inkube.controllers.provisioning.outside.hosts import (
    App,
    Credentials,
    NotAuthorized,
    RepositoryNotFound,
    Session,
    Target,
)
from inkube.controllers.provisioning.outside.remotes import REMOTES
from inkube.controllers.provisioning.overlaps import overlaps_of
from inkube.controllers.provisioning.repository_rules import field_of
from inkube.controllers.provisioning.types import Connection, Repository
from inkube.kinds import (
    Duplicate,
    Environment,
    Forbidden,
    Invalid,
    Key,
    Memo,
    NotFound,
    OutsideError,
    Problem,
    Run,
    SecureValues,
    Service,
    check,
)

OVERLAPS = "overlaps"
"""The key under which a run remembers overlapping repositories."""


class NoRemote(Exception):
    """A local repository, which has no remote host."""


class CredentialsMissing(Exception):
    """The object refers to a secret that does not exist."""


@dataclass(frozen=True, slots=True)
class Vaults:
    """The stores of the secure values of both kinds."""

    repositories: SecureValues
    connections: SecureValues


VAULTS: Service[Vaults] = Service("vaults")


def _field(member: str) -> Any:
    return lambda repository: field_of(repository, member)


@check(Repository, field="spec.connection.name")
async def connection_healthy(
    repository: Repository, client: Client, memo: Memo
) -> AsyncIterator[Problem]:
    """The Connection exists in the namespace, has the right type, and is healthy."""
    if repository.spec.connection is None:
        return
    connection = await connection_of(repository, client, memo)
    if connection is None:
        yield NotFound("connection not found")
    elif connection.spec.type.removesuffix("OAuth") != repository.spec.type:
        kind = repository.spec.type
        yield Invalid(f"connection is for {connection.spec.type}, the repository is of type {kind}")
    elif connection.status.health is None or not connection.status.health.healthy:
        yield Invalid("connection is not healthy")


@check(
    Repository,
    field=_field("url"),
    after=[connection_healthy],
    failure="failed to check if repository exists",
)
async def repository_reachable(repository: Repository, run: Run[Repository]) -> Problem | None:
    """Check that the host responds and has the repository. A host can hide a repository from
    rejected credentials."""
    try:
        await (await session_of(run)).default_branch()
    except NotAuthorized as error:
        return Invalid("repository not found") if error.is_missing else None
    except RepositoryNotFound:
        return Invalid("repository not found")
    except (NoRemote, CredentialsMissing):
        return None
    return None


def _authorization_failure(repository: Repository) -> str | None:
    """Return the text for a host that does not say whether it accepts the credentials. Without
    credentials, `repository_reachable` alone reports such a host."""
    has_credentials = repository.secure.token is not None or repository.spec.connection is not None
    return "failed to check if authorized" if has_credentials else None


@check(Repository, field="secure.token", after=[connection_healthy], failure=_authorization_failure)
async def credentials_accepted(repository: Repository, run: Run[Repository]) -> Problem | None:
    """Check that the host accepts the token. `repository_reachable` reports a host that does not
    respond."""
    try:
        await (await session_of(run)).default_branch()
    except CredentialsMissing:
        return NotFound("the secret it names is not there; set the token again")
    except NotAuthorized:
        return Invalid("not authorized")
    except (RepositoryNotFound, OutsideError, NoRemote):
        return None
    return None


@check(
    Repository,
    field=_field("branch"),
    after=[repository_reachable, credentials_accepted],
    failure="failed to check if branch exists",
)
async def branch_exists(repository: Repository, run: Run[Repository]) -> Problem | None:
    """Check that the branch exists, or the default branch if no branch is set."""
    try:
        session = await session_of(run)
        if await head_of(run, session) is not None:
            return None
        names = await _names(session)
    except NoRemote:
        return None
    except (NotAuthorized, RepositoryNotFound) as error:
        return _later(error)
    if names == []:
        return Invalid(
            "repository has no branches; push at least one commit before configuring sync"
        )
    return Invalid("branch not found", supported=names or ())


@check(
    Repository,
    field="secure.token",
    after=[repository_reachable, credentials_accepted],
    failure="failed to check if authorized",
)
async def may_write(repository: Repository, run: Run[Repository]) -> Problem | None:
    """Check that the credentials permit writes, if the repository has workflows."""
    if not repository.spec.workflows:
        return None
    try:
        session = await session_of(run)
        if await session.may_write():
            return None
    except NoRemote:
        return None
    except (NotAuthorized, RepositoryNotFound) as error:
        return _later(error)
    return Forbidden("write permission denied")


@check(
    Repository,
    field="spec.workflows",
    after=[branch_exists, may_write],
    failure="failed to check if branch is protected",
)
async def branch_open(repository: Repository, run: Run[Repository]) -> Problem | None:
    """Check that protection rules permit direct pushes to the branch, if the workflow `write` is
    enabled."""
    if "write" not in repository.spec.workflows:
        return None
    try:
        session = await session_of(run)
        branch = await branch_of(run, session)
        if not await session.is_protected(branch):
            return None
    except NoRemote:
        return None
    except (NotAuthorized, RepositoryNotFound) as error:
        return _later(error)
    return Invalid(f"the branch {branch} has protection rules that prevent direct pushes")


async def _names(session: Session) -> list[str] | None:
    """Return all branches; None if the host does not list them."""
    try:
        return await session.branch_names()
    except RepositoryNotFound:
        return None


def _later(error: NotAuthorized | RepositoryNotFound) -> Problem:
    """Return the problem of credentials that were accepted at first and are rejected by a later
    request."""
    is_denied = isinstance(error, NotAuthorized) and not error.is_denied
    text = "authentication failed" if is_denied else "permission denied"
    return Invalid(text, field="secure.token")


@check(Repository, field="spec.local.path")
async def directory_exists(repository: Repository) -> Problem | None:
    """Check that the directory exists on the server."""
    local = repository.spec.local
    if repository.spec.type != "local" or local is None:
        return None
    found = await asyncio.to_thread(os.path.isdir, local.path)
    return None if found else Invalid("directory not found")


@check(Repository, field=_field("path"))
async def nobody_else_syncs(
    repository: Repository, env: Environment, run: Run[Repository]
) -> Problem | None:
    """Check that no other repository syncs the same files, because both would overwrite each
    other."""
    branch = await _branch(run)
    found = await run.memo(OVERLAPS, lambda: overlaps_of(repository, env, run.old, branch))
    if not found:
        return None
    return Duplicate(f"repository {found[0].name} already syncs this path of the same branch")


CHECKS = (
    connection_healthy,
    repository_reachable,
    credentials_accepted,
    branch_exists,
    may_write,
    branch_open,
    directory_exists,
    nobody_else_syncs,
)


async def session_of(run: Run[Repository]) -> Session:
    """Return the session that the checks of this run share. Raises NoRemote, CredentialsMissing,
    OutsideError."""
    return await run.memo("session", lambda: _open(run))


async def head_of(run: Run[Repository], session: Session) -> str | None:
    """Return the commit of the branch to sync; None if the branch does not exist."""
    branch = await branch_of(run, session)
    return await session.head(branch) if branch else None


async def _open(run: Run[Repository]) -> Session:
    remotes = run.env.service(REMOTES)
    return await remotes.repository(await target_of(run))


async def target_of(run: Run[Repository]) -> Target:
    """Return the host to use, with the credentials. Raises NoRemote, CredentialsMissing."""
    remote = run.object.spec.remote
    if remote is None:
        raise NoRemote
    server_url = str(getattr(remote, "server_url", ""))
    return Target(run.object.spec.type, remote.url, await _credentials(run), server_url)


async def _credentials(run: Run[Repository]) -> Credentials:
    """Return the credentials of the connection, if the repository has one. Its `secure.token` is
    then a token that the server created from the connection. Raises CredentialsMissing."""
    repository, client = run.object, run.env.client
    vaults = run.env.service(VAULTS)
    user = str(getattr(repository.spec.remote, "token_user", ""))
    email = str(getattr(repository.spec.remote, "email", ""))
    if repository.spec.connection is not None and repository.spec.connection.name:
        connection = await connection_of(repository, client, run.memo)
        if connection is None:
            return Credentials(user=user)
        app = await app_of(connection, client, vaults.connections)
        token = await _token_of(connection, client, vaults.connections) if app is None else ""
        return Credentials(token=token, user=user, app=app)
    held = repository.secure.token
    if held is None or not held.name:
        return Credentials(user=user)
    key = Key(repository.metadata.namespace, repository.metadata.name)
    value = await vaults.repositories.read(client, key, "token", held.name)
    if value is None:
        raise CredentialsMissing
    run.secrets.note(value)
    return Credentials(token=value, user=user, email=email)


async def _token_of(connection: Connection, client: Client, vault: SecureValues) -> str:
    """Return the token from a user's authorization of a connection; "" before the authorization.
    Raises CredentialsMissing."""
    held = connection.secure.token
    if held is None or not held.name:
        return ""
    key = Key(connection.metadata.namespace, connection.metadata.name)
    value = await vault.read(client, key, "token", held.name)
    if value is None:
        raise CredentialsMissing
    return value


async def app_of(connection: Connection, client: Client, vault: SecureValues) -> App | None:
    """Return the app of a connection; None without an app or private key. Raises
    CredentialsMissing."""
    app, held = connection.spec.app, connection.secure.private_key
    if app is None or held is None or not held.name:
        return None
    key = Key(connection.metadata.namespace, connection.metadata.name)
    value = await vault.read(client, key, "privateKey", held.name)
    if value is None:
        raise CredentialsMissing
    return App(app.app_id, app.installation_id, _pem(value), connection.spec.server_url)


def _pem(value: str) -> str:
    """Return the PEM in a value. A referenced Secret can contain the PEM without base64; a created
    value cannot."""
    try:
        return outside.appkeys.pem_of(value)
    except ValueError:
        return value


async def connection_of(repository: Repository, client: Client, memo: Memo) -> Connection | None:
    """Return the connection of a repository; None if it does not exist or is not set."""

    async def fetch() -> Connection | None:
        reference = repository.spec.connection
        if reference is None or not reference.name:
            return None
        namespace = repository.metadata.namespace
        found = await get_or_none(client, Connection.gvr, reference.name, namespace)
        return None if found is None else kinds.parse(Connection, found)

    return await memo("connection", fetch)


async def branch_of(run: Run[Repository], session: Session) -> str:
    """Return the branch to sync. If no branch is set: the default branch of the host, else main,
    master or the first branch."""
    remote = run.object.spec.remote
    if remote is not None and remote.branch:
        return remote.branch
    return await run.memo("default branch", lambda: _default_branch(session))


async def _default_branch(session: Session) -> str:
    default = await session.default_branch()
    if default and await session.head(default) is not None:
        return default
    names = await _names(session) or []
    return next((name for name in ("main", "master") if name in names), next(iter(names), ""))


async def _branch(run: Run[Repository]) -> str:
    """Return the branch to compare with other repositories; "" if the default branch cannot be
    read."""
    remote = run.object.spec.remote
    if remote is None or remote.branch:
        return remote.branch if remote is not None else ""
    try:
        return await branch_of(run, await session_of(run))
    except (NotAuthorized, RepositoryNotFound, OutsideError, NoRemote, CredentialsMissing):
        return ""
