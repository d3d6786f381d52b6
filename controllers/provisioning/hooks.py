"""Webhooks of the provider: registered, updated and removed as the repository requires."""

import secrets

from inkube.client import Object
from inkube.controllers.provisioning.outside.hosts import (
    Hook,
    Hooks,
    NotAuthorized,
    RepositoryNotFound,
)
from inkube.controllers.provisioning.repository_checks import (
    VAULTS,
    branch_exists,
    connection_of,
    may_write,
    session_of,
)
from inkube.controllers.provisioning.types import GROUP, VERSION, Repository
from inkube.kinds import Forbidden, Key, Problem, Run, check

EVENTS = ("pull_request", "push")
TYPES = ("github", "githubEnterprise")
FIELD = "spec.webhook.baseUrl"
RESULT_KEY = "webhook"
"""The key under which a run remembers the outcome: the value of `status.webhook`, empty after a
removal."""
_GONE: Object = {}


def is_enabled(repository: Repository) -> bool:
    """Return whether the repository needs a webhook for changes at the provider."""
    spec = repository.spec
    if spec.type not in TYPES or spec.webhook is None or spec.webhook.disabled:
        return False
    is_used = bool(spec.workflows) or (spec.sync is not None and spec.sync.enabled)
    return is_used and spec.webhook.base_url.startswith(("http://", "https://"))


def url_of(repository: Repository) -> str:
    """Return the URL to which the provider sends events."""
    assert repository.spec.webhook is not None, "asked for those who want one"
    base, metadata = repository.spec.webhook.base_url.rstrip("/"), repository.metadata
    where = f"namespaces/{metadata.namespace}/repositories/{metadata.name}"
    return f"{base}/apis/{GROUP}/{VERSION}/{where}/webhook"


def new_secret(repository: Repository) -> list[Object]:
    """Return the JSON patch that sets the secret for signing events; [] if it is not needed or
    already set."""
    if not is_enabled(repository) or repository.secure.webhook_secret is not None:
        return []
    made = {"webhookSecret": {"create": secrets.token_hex(32)}}
    return [
        {"op": "test", "path": "/metadata/uid", "value": repository.metadata.uid},
        {"op": "add", "path": "/secure", "value": made},
    ]


async def secret_of(repository: Repository, run: Run[Repository]) -> str | None:
    """Return the secret for signing events; None if the repository has no secret."""
    held = repository.secure.webhook_secret
    if held is None or not held.name:
        return None
    vaults = run.env.service(VAULTS)
    key = Key(repository.metadata.namespace, repository.metadata.name)
    return await vaults.repositories.read(run.env.client, key, "webhookSecret", held.name)


@check(Repository, field=FIELD, after=[branch_exists, may_write])
async def webhook_registered(repository: Repository, run: Run[Repository]) -> Problem | None:
    """The provider has the correct webhook, or no webhook if it is not wanted."""
    hook, status = repository.status.webhook, repository.status
    known = hook.id if hook is not None else None
    if run.is_dry or (known is None and not is_enabled(repository)):
        return None
    session = await session_of(run)
    if not isinstance(session, Hooks):
        return None
    try:
        if not is_enabled(repository) or await _is_disabled(repository, run):
            if known is not None:
                await session.remove_hook(known)
                await _note(run, _GONE)
            return None
        secret, url = await secret_of(repository, run), url_of(repository)
        is_current = status.observed_generation == repository.metadata.generation
        if secret is None or (hook is not None and hook.url == url and is_current):
            return None
        made = await session.put_hook(Hook(url, EVENTS, secret), known)
    except NotAuthorized:
        return Forbidden("the webhook was refused: the credentials may not manage webhooks")
    except RepositoryNotFound:
        return Forbidden("the webhook was refused: the provider does not find the repository")
    now = int(run.env.clock.now().timestamp() * 1000)
    found: Object = {"id": made, "url": url, "subscribedEvents": list(EVENTS), "lastRotated": now}
    if hook is not None and hook.last_event:
        found["lastEvent"] = hook.last_event
    await _note(run, found)
    return None


async def _is_disabled(repository: Repository, run: Run[Repository]) -> bool:
    """Return whether the connection disables webhooks for its repositories."""
    connection = await connection_of(repository, run.env.client, run.memo)
    options = connection.spec.webhook if connection is not None else None
    return options is not None and options.disabled


async def _note(run: Run[Repository], status: Object) -> None:
    async def same() -> Object:
        return status

    await run.memo(RESULT_KEY, same)


def members(run: Run[Repository]) -> Object:
    """`status.webhook`, if this run changed it."""
    found = run.memo.known(RESULT_KEY)
    return {} if found is None else {"webhook": found or None}


async def remove(run: Run[Repository]) -> None:
    """Remove the webhook from the provider. Raises the errors of the session."""
    hook = run.object.status.webhook
    if hook is None or hook.id is None:
        return
    session = await session_of(run)
    if isinstance(session, Hooks):
        await session.remove_hook(hook.id)
