"""Live checks of a Connection: GitHub accepts the app, its key and installation, and grants the
needed permissions."""

from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Any

from inkube.controllers.provisioning.outside.hosts import (
    REQUIRED_PERMISSIONS,
    AppNotFound,
    AppSession,
    InstallationNotFound,
    KeyRefused,
    KeyUnreadable,
    NotAuthorized,
    RepositoryNotFound,
)
from inkube.controllers.provisioning.outside.remotes import REMOTES
from inkube.controllers.provisioning.repository_checks import VAULTS, CredentialsMissing, app_of
from inkube.controllers.provisioning.types import Connection
from inkube.kinds import (
    Forbidden,
    InternalError,
    Invalid,
    NotFound,
    OutsideError,
    Problem,
    Run,
    Unavailable,
    check,
)

INSTALLATION = "spec.installationID"
HOOKS = "webhooks"
_ALIASES = {HOOKS: "repository_hooks"}
"""The names in GitHub's API that differ from the names in its settings."""
_LEVELS = {"": 0, "none": 0, "read": 1, "write": 2, "admin": 3}


def _field(member: str) -> Any:
    return lambda connection: f"{connection.spec.block}.{member}"


@check(Connection, field=_field("appID"))
async def app_accepted(connection: Connection, run: Run[Connection]) -> AsyncIterator[Problem]:
    """Check that GitHub knows the app and accepts tokens that are signed with its key."""
    key = "secure.privateKey"
    try:
        session = await session_of(run)
        if session is not None:
            await session.permissions()
    except CredentialsMissing:
        yield NotFound("the secret it names is not there; set the private key again", field=key)
    except AppNotFound:
        yield NotFound("app not found")
    except KeyUnreadable:
        yield Invalid("invalid private key", field=key)
    except KeyRefused:
        yield Invalid("verify appID is correct")
        yield Invalid("verify privateKey is correct", field=key)
    except (NotAuthorized, RepositoryNotFound) as error:
        yield _refused(connection, error)
    except Unavailable as error:
        if error.code != HTTPStatus.SERVICE_UNAVAILABLE:
            raise
        yield InternalError("github is unavailable")


def _refused(connection: Connection, error: NotAuthorized | RepositoryNotFound) -> Problem:
    """Return the finding for a host that refuses every request: the user updates the credentials,
    or the app."""
    if isinstance(error, RepositoryNotFound):
        return NotFound("app not found", field=f"{connection.spec.block}.appID")
    text = "permission denied" if error.is_denied else "authentication failed"
    return Invalid(text, field="secure.privateKey")


@check(Connection, field=_field("installationID"), after=[app_accepted], aliases=[INSTALLATION])
async def installation_exists(connection: Connection, run: Run[Connection]) -> Problem | None:
    """The app has the installation. The field is the one that the front ends of the documents
    expect, for every type of connection."""
    session = await session_of(run)
    if session is None or connection.spec.app is None:
        return None
    try:
        await session.installation_permissions()
    except InstallationNotFound:
        found = connection.spec.app.installation_id
        right = await _installations(session)
        return Invalid(f"invalid installation ID: {found}", INSTALLATION, found, right)
    except (NotAuthorized, RepositoryNotFound) as error:
        return _refused(connection, error)
    return None


async def _installations(session: AppSession) -> list[str]:
    """Return the installation IDs that a form can offer; [] if GitHub does not list them."""
    try:
        return await session.installations()
    except (KeyRefused, NotAuthorized, RepositoryNotFound, OutsideError):
        return []


@check(Connection, field=_field("installationID"), after=[installation_exists])
async def permissions_granted(
    connection: Connection, run: Run[Connection]
) -> AsyncIterator[Problem]:
    """App and installation have the permissions that a sync needs; problems of the app come
    first."""
    session = await session_of(run)
    if session is None:
        return
    try:
        of_app = await session.permissions()
        of_installation = await session.installation_permissions()
    except (NotAuthorized, RepositoryNotFound) as error:
        yield _refused(connection, error)
        return
    options = connection.spec.webhook
    has_hooks = options is None or not options.disabled
    wanted = {
        name: level for name, level in REQUIRED_PERMISSIONS.items() if has_hooks or name != HOOKS
    }
    lacking = {name for name, needed in wanted.items() if not _suffices(of_app, name, needed)}
    for name in wanted:
        if name in lacking:
            text = _lacks("GitHub App", of_app, name)
            yield Forbidden(text, field=f"{connection.spec.block}.appID")
    for name, needed in wanted.items():
        if name not in lacking and not _suffices(of_installation, name, needed):
            text = _lacks("GitHub App installation", of_installation, name)
            yield Forbidden(f"{text}. Accept the updated permissions at {connection.spec.url}")


def _lacks(subject: str, permissions: dict[str, str], name: str) -> str:
    needs = f"requires '{REQUIRED_PERMISSIONS[name]}', has '{_level(permissions, name)}'"
    return f"{subject} lacks required '{name}' permission: {needs}"


CHECKS = (app_accepted, installation_exists, permissions_granted)


def _suffices(permissions: dict[str, str], name: str, required: str) -> bool:
    return _LEVELS.get(_level(permissions, name), 0) >= _LEVELS[required]


def _level(permissions: dict[str, str], name: str) -> str:
    return permissions.get(name) or permissions.get(_ALIASES.get(name, name)) or ""


async def session_of(run: Run[Connection]) -> AppSession | None:
    """Return the session that the checks of this run share; None without an app or private key."""
    return await run.memo("session", lambda: _open(run))


async def _open(run: Run[Connection]) -> AppSession | None:
    if run.object.spec.app is None:
        return None
    vaults = run.env.service(VAULTS)
    app = await app_of(run.object, run.env.client, vaults.connections)
    if app is None:
        return None
    remotes = run.env.service(REMOTES)
    return await remotes.app(app)
