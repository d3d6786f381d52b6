"""Repository as a kind: rules, checks, status, and the changes that trigger another check."""

from collections.abc import Sequence
from typing import Any

from inkube.client import Object
from inkube.controllers.provisioning import hooks, indexes, overlaps, quotas, readings
from inkube.controllers.provisioning import repository_checks as checks
from inkube.controllers.provisioning import repository_rules as rules
from inkube.controllers.provisioning.deletion import finalizers
from inkube.controllers.provisioning.files import files
from inkube.controllers.provisioning.jobs import sync
from inkube.controllers.provisioning.jobs.requests import jobs
from inkube.controllers.provisioning.jobs.sync import UNHEALTHY
from inkube.controllers.provisioning.options import Options
from inkube.controllers.provisioning.outside.remotes import REMOTES
from inkube.controllers.provisioning.outside.world_sessions import WorldSession
from inkube.controllers.provisioning.outside.world_types import GitHost, GitHubApp
from inkube.controllers.provisioning.overlaps import Overlap
from inkube.controllers.provisioning.pulls import Pulls
from inkube.controllers.provisioning.settings import settings
from inkube.controllers.provisioning.tokens import Tokens
from inkube.controllers.provisioning.types import Connection, Repository
from inkube.controllers.provisioning.webhook import webhook
from inkube.formats import fielderrors
from inkube.kinds import (
    HEALTH,
    SERVICE_UNAVAILABLE,
    Change,
    Environment,
    FieldError,
    Finding,
    Key,
    KindModule,
    Report,
    Run,
    SecureValues,
    Watch,
    reason_of,
)

AUTHENTICATION_FAILED = "AuthenticationFailed"
RATE_LIMITED = "RateLimited"


def module(
    options: Options, secure: SecureValues, pulls: Pulls, tokens: Tokens
) -> KindModule[Repository]:
    """Return the kind with its rules, checks, subresources and controllers."""

    async def findings(run: Run[Repository], errors: Sequence[FieldError]) -> list[Object]:
        if errors:
            return []
        found = await _default_branch(run) + hooks.new_secret(run.object)
        return found or await tokens.of_repository(run)

    async def members(run: Run[Repository], errors: Sequence[FieldError]) -> Object:
        found = _sync_of(run, errors) | hooks.members(run) | tokens.members(run.raw)
        return {**found, "quota": quotas.status_of(options)}

    def conditions(run: Run[Repository], errors: Sequence[FieldError]) -> list[Finding]:
        return [
            *quotas.conditions(run, options),
            _path_conflict(run.memo.known(checks.OVERLAPS) or ()),
        ]

    return KindModule(
        Repository,
        mutators=rules.mutators(options),
        validators=rules.validators(options, secure),
        checks=(*checks.CHECKS, hooks.webhook_registered, quotas.quota_check(options)),
        needs=(REMOTES, checks.VAULTS),
        secure=secure,
        creation_guards=(quotas.room_for(options),),
        create_on_update=True,
        unconditional_update=True,
        endpoints=(settings(options), readings.stats(pulls)),
        subresources=(
            files(pulls),
            readings.refs,
            readings.resources(pulls),
            readings.history,
            jobs,
            webhook,
        ),
        finalizers=finalizers(pulls),
        extra_controllers=lambda env: [sync.controller(pulls, options, env)],
        report=Report(
            reason=ready_reason,
            error=_error_of,
            members=members,
            findings=findings,
            interval=_interval,
            is_watched=_is_watched,
            conditions=conditions,
        ),
        watches=lambda env: _watches(env, options),
    )


def ready_reason(errors: Sequence[FieldError]) -> str:
    """Return the reason of the Ready condition."""
    if any(error.code == fielderrors.QUOTA_EXCEEDED for error in errors):
        return quotas.EXCEEDED
    if any(error.field.startswith("secure.") and not _is_outage(error) for error in errors):
        return AUTHENTICATION_FAILED
    if any(error.code == fielderrors.RATE_LIMITED for error in errors):
        return RATE_LIMITED
    if any(_is_outage(error) for error in errors):
        return SERVICE_UNAVAILABLE
    return reason_of(errors)


def _is_outage(error: FieldError) -> bool:
    is_unasked = error.code in (fielderrors.OUTAGE, fielderrors.RATE_LIMITED)
    return error.type == fielderrors.Type.INTERNAL or is_unasked


def _error_of(errors: Sequence[FieldError]) -> str:
    """`health.error`: "hook" if only the webhook has errors."""
    return "hook" if all(error.field == hooks.FIELD for error in errors) else HEALTH


async def _default_branch(run: Run[Repository]) -> list[Object]:
    """Return the JSON patch that sets an empty branch to the default branch; [] if a branch is
    set."""
    remote = run.object.spec.remote
    if remote is None or remote.branch:
        return []
    branch = await checks.branch_of(run, await checks.session_of(run))
    block = f"/spec/{run.object.spec.type}"
    return [
        {"op": "test", "path": f"{block}/url", "value": remote.url},
        {"op": "add", "path": f"{block}/branch", "value": branch},
    ]


def _sync_of(run: Run[Repository], errors: Sequence[FieldError]) -> Object:
    """`status.sync`, if the health of the repository changes it; {} otherwise."""
    options = run.object.spec.sync
    if options is None or not options.enabled:
        return {}
    before = (run.raw.get("status") or {}).get("sync") or {}
    is_told = before.get("message") == [UNHEALTHY]
    if errors and not is_told:
        return {"sync": {**before, "state": "error", "message": [UNHEALTHY]}}
    return {"sync": {**before, "message": []}} if is_told and not errors else {}


def _path_conflict(overlaps: Sequence[Overlap]) -> Finding:
    same = ", ".join(other.name for other in overlaps if other.is_duplicate)
    others = ", ".join(other.name for other in overlaps if not other.is_duplicate)
    texts = [f"duplicate repository path: {same}"] if same else []
    if others:
        texts.append(f"repository path conflicts with existing repository: {others}")
    if texts:
        return Finding("PathConflict", False, "PathConflict", "; ".join(texts))
    text = "no other repository shares this URL, branch, and path"
    return Finding("PathConflict", True, "NoPathConflict", text)


async def _is_watched(run: Run[Repository]) -> bool:
    """Return whether the check only used the scripted world, with values that only a write of the
    object changes."""
    spec, metadata, token = run.object.spec, run.object.metadata, run.object.secure.token
    if spec.remote is None or spec.connection is not None:
        return False
    if token is not None and token.name:
        vaults = run.env.service(checks.VAULTS)
        if not await vaults.repositories.owns(Key(metadata.namespace, metadata.name), token.name):
            return False
    return isinstance(await checks.session_of(run), WorldSession)


def _interval(repository: Repository, interval: float) -> float:
    sync = repository.spec.sync
    if sync is None or not sync.enabled or not sync.interval_seconds:
        return interval
    return min(interval, float(sync.interval_seconds))


def _watches(env: Environment, options: Options) -> Sequence[Watch]:
    """Watch the objects that the errors of a repository depend on: connections, other repositories,
    the world."""
    by_host = indexes.repositories_by_host(env)
    by_connection = indexes.repositories_by_connection(env)
    by_app = indexes.connections_by_app(env)

    def of_connection(change: Change) -> list[Key]:
        return by_connection.keys(_name(change.object)) if _is_news(change) else []

    def of_host(change: Change) -> list[Key]:
        if not is_edit(change):
            return []
        return by_host.keys(change.object["metadata"]["name"])

    def of_app(change: Change) -> list[Key]:
        connections = by_app.keys(change.object["metadata"]["name"])
        return [
            key
            for connection in connections
            for key in by_connection.keys(f"{connection.namespace}/{connection.name}")
        ]

    return (
        Watch(Repository.gvr, lambda change: overlaps.neighbours_of(change, env)),
        Watch(Repository.gvr, lambda change: quotas.neighbours_of(change, options, env)),
        Watch(Connection.gvr, of_connection),
        Watch(GitHost.gvr, of_host),
        Watch(GitHubApp.gvr, of_app),
    )


def is_edit(change: Change) -> bool:
    """Return whether the spec of a host changed, not only the recorded webhooks."""
    if change.old is None or change.new is None:
        return True
    return bool(change.old.get("spec") != change.new.get("spec"))


def _name(obj: Object) -> str:
    return f"{obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"


def _is_news(change: Change) -> bool:
    """Return whether the connection changed in a way that affects its repositories."""
    if change.old is None or change.new is None:
        return True
    return _concern(change.old) != _concern(change.new)


def _concern(obj: Object) -> tuple[Any, ...]:
    health = (obj.get("status") or {}).get("health") or {}
    return health.get("healthy"), obj.get("spec"), obj.get("secure")
