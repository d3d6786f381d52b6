"""Connection as a kind: rules, checks, status, and the guard of its deletion."""

from collections.abc import AsyncIterator, Sequence

from inkube.client import Object, Selection, get_or_none
from inkube.controllers.provisioning import connection_checks as checks
from inkube.controllers.provisioning import connection_rules as rules
from inkube.controllers.provisioning.authorize import authorize
from inkube.controllers.provisioning.indexes import connections_by_app
from inkube.controllers.provisioning.outside.hosts import GITHUB
from inkube.controllers.provisioning.outside.remotes import REMOTES
from inkube.controllers.provisioning.outside.world_types import GitHost, GitHubApp
from inkube.controllers.provisioning.readings import repositories
from inkube.controllers.provisioning.repository import is_edit, ready_reason
from inkube.controllers.provisioning.repository_checks import VAULTS
from inkube.controllers.provisioning.tokens import Tokens
from inkube.controllers.provisioning.types import Connection, Repository
from inkube.kinds import (
    Change,
    Environment,
    FieldError,
    Forbidden,
    Key,
    KindModule,
    Problem,
    Report,
    Run,
    SecureValues,
    Watch,
)

MAX_NAMED = 5
"""The maximum number of repositories that the error of the deletion guard names; it counts all."""


def module(secure: SecureValues, tokens: Tokens) -> KindModule[Connection]:
    """Return the kind with its rules, checks and subresources."""

    async def findings(run: Run[Connection], errors: Sequence[FieldError]) -> list[Object]:
        return [] if errors else await tokens.of_connection(run)

    async def members(run: Run[Connection], errors: Sequence[FieldError]) -> Object:
        state = "Disconnected" if errors else "Connected"
        return {"state": state, **tokens.members(run.raw)}

    return KindModule(
        Connection,
        mutators=(rules.set_url, rules.forget_token),
        validators=rules.validators(secure),
        checks=checks.CHECKS,
        needs=(REMOTES, VAULTS),
        deletion_guards=(not_in_use,),
        secure=secure,
        create_on_update=True,
        unconditional_update=True,
        make_name=_name_prefix,
        subresources=(repositories, authorize(tokens)),
        report=Report(reason=ready_reason, members=members, findings=findings),
        watches=_watches,
    )


def _name_prefix(obj: Object) -> str:
    """`TYPE-`, the prefix of the name of a connection without a name; "" if it has no valid
    type."""
    spec = obj.get("spec")
    kind = spec.get("type") if isinstance(spec, dict) else None
    return f"{kind}-" if isinstance(kind, str) and kind else ""


async def not_in_use(connection: Connection, env: Environment) -> AsyncIterator[Problem]:
    """Reject the deletion of a connection that repositories use, unless the namespace is being
    deleted."""
    namespace = await get_or_none(env.client, "v1/namespaces", connection.metadata.namespace)
    if namespace is not None and "deletionTimestamp" in namespace["metadata"]:
        return
    selection = Selection(namespace=connection.metadata.namespace)
    listed = await env.client.list(Repository.gvr, selection)
    users = _users(connection, listed.items)
    if users:
        names = " ".join(users[:MAX_NAMED])
        yield Forbidden(
            f"cannot delete connection: referenced by {len(users)} repository(s): [{names}]"
        )


def _users(connection: Connection, repositories: Sequence[Object]) -> list[str]:
    return sorted(
        obj["metadata"]["name"]
        for obj in repositories
        if ((obj.get("spec") or {}).get("connection") or {}).get("name") == connection.metadata.name
        and not obj["metadata"].get("deletionTimestamp")
    )


def _watches(env: Environment) -> Sequence[Watch]:
    """Watch the app in the scripted world, and the host that serves all apps."""
    by_app = connections_by_app(env)

    def of_app(change: Change) -> list[Key]:
        return by_app.keys(change.object["metadata"]["name"])

    def of_host(change: Change) -> list[Key]:
        if not is_edit(change):
            return []
        host = change.object["metadata"]["name"]
        return by_app.keys("" if host == GITHUB else f"host {host}")

    return (Watch(GitHubApp.gvr, of_app), Watch(GitHost.gvr, of_host))
