"""Live checks of a Connection: GitHub knows the app, its key and installation, and lets it work."""

from collections.abc import AsyncIterator

from inkube.controllers.checks import Forbidden, Invalid, NotFound, Problem, Run, check
from inkube.controllers.provisioning.hosts import (
    NEEDED,
    AppNotFound,
    AppSession,
    InstallationNotFound,
    KeyRefused,
)
from inkube.controllers.provisioning.remotes import Remotes
from inkube.controllers.provisioning.repository_checks import CredentialsMissing, Vaults, app_of
from inkube.controllers.provisioning.types import Connection

_ALIASES = {"webhooks": "repository_hooks"}
"""GitHub's API has another name for what its settings call webhooks."""
_LEVELS = {"": 0, "none": 0, "read": 1, "write": 2, "admin": 3}


@check(Connection, field="spec.github.appID")
async def app_accepted(connection: Connection, run: Run[Connection]) -> AsyncIterator[Problem]:
    """GitHub knows the app and accepts what its key signed."""
    app_id = connection.spec.github.app_id if connection.spec.github is not None else ""
    try:
        session = await session_of(run)
        if session is not None:
            await session.permissions()
    except CredentialsMissing:
        detail = "the secret it names is not there; set the private key again"
        yield NotFound(detail, field="secure.privateKey")
    except AppNotFound:
        yield NotFound(f"app not found: {app_id}")
    except KeyRefused:
        yield Invalid(f"app {app_id} was refused with this private key")
        yield Invalid(
            f"private key is not one of app {app_id}; generate a new one in the app's settings",
            field="secure.privateKey",
        )


@check(Connection, field="spec.github.installationID", after=[app_accepted])
async def installation_exists(connection: Connection, run: Run[Connection]) -> Problem | None:
    """The app is installed there."""
    session = await session_of(run)
    if session is None or connection.spec.github is None:
        return None
    try:
        await session.installation_permissions()
    except InstallationNotFound:
        return Invalid(f"invalid installation ID: {connection.spec.github.installation_id}")
    return None


@check(Connection, field="spec.github.installationID", after=[installation_exists])
async def permissions_granted(
    connection: Connection, run: Run[Connection]
) -> AsyncIterator[Problem]:
    """App and installation may do what syncing takes; each missing permission is told once."""
    session = await session_of(run)
    if session is None:
        return
    of_app = await session.permissions()
    of_installation = await session.installation_permissions()
    for name, needed in NEEDED.items():
        if not _suffices(of_app, name, needed):
            detail = f"app lacks permission {name}: {needed}; grant it in the app's settings"
            yield Forbidden(detail, field="spec.github.appID")
        elif not _suffices(of_installation, name, needed):
            yield Forbidden(
                f"installation lacks permission {name}: {needed}; accept it in its settings"
            )


CHECKS = (app_accepted, installation_exists, permissions_granted)


def _suffices(granted: dict[str, str], name: str, needed: str) -> bool:
    level = granted.get(name) or granted.get(_ALIASES.get(name, name)) or ""
    return _LEVELS.get(level, 0) >= _LEVELS[needed]


async def session_of(run: Run[Connection]) -> AppSession | None:
    """The conversation this run's checks share; None where there is nobody to ask."""
    return await run.memo("session", lambda: _open(run))


async def _open(run: Run[Connection]) -> AppSession | None:
    if run.object.spec.type != "github":
        return None
    vaults: Vaults = run.env.services["vaults"]
    app = await app_of(run.object, run.env.client, vaults.connections)
    if app is None:
        return None
    remotes: Remotes = run.env.services["remotes"]
    return await remotes.app(app)
