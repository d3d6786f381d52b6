"""Limits: repositories in a namespace, and resources in a repository.

The creation of a repository above the limit is rejected. If the limit is lowered later, every
repository of the namespace is unhealthy until enough of them are deleted. A repository with too
many resources stays healthy, because only its next pull can find fewer resources.
"""

from collections.abc import AsyncIterator, Iterable

from inkube.client import Object, Selection
from inkube.controllers.provisioning import indexes
from inkube.controllers.provisioning.options import Options
from inkube.controllers.provisioning.types import Repository
from inkube.formats import fielderrors
from inkube.kinds import (
    Change,
    Check,
    Environment,
    Finding,
    Forbidden,
    Guard,
    Key,
    Problem,
    Run,
    check,
)

COUNT_KEY = "repositories of the namespace"
"""The key under which a run remembers the number of repositories."""
EXCEEDED = fielderrors.QUOTA_EXCEEDED
_MAX_CHECKED_NEIGHBOURS = 100
"""Up to this limit of repositories, each change of their number triggers a check of all
repositories in the namespace."""
_UNLIMITED = Finding("NamespaceQuota", True, "QuotaUnlimited", "No quota limits configured")


def room_for(options: Options) -> Guard:
    """Return a guard that limits the repositories in a namespace. A repository with the sync target
    `instance` must be the only one."""

    async def guard(repository: Repository, env: Environment) -> AsyncIterator[Problem]:
        sync = repository.spec.sync
        target = sync.target if sync is not None else None
        most = options.max_repositories
        if not most and target not in ("instance", "folder"):
            return
        listed = await env.client.list(Repository.gvr, Selection(repository.metadata.namespace))
        alive = [obj for obj in listed.items if not obj["metadata"].get("deletionTimestamp")]
        if most and len(alive) >= most:
            yield Forbidden(f"Maximum number of {most} repositories reached")
        whole = _names(obj for obj in alive if _target(obj) == "instance")
        if target == "instance" and alive:
            yield Forbidden(
                "Instance repository can only be created when no other repositories exist. "
                f"Found: {_names(alive)[0]}",
                field="spec.sync.target",
            )
        elif target == "folder" and whole:
            yield Forbidden(
                f"Cannot create folder repository when instance repository exists: {whole[0]}",
                field="spec.sync.target",
            )

    return guard


def _target(obj: Object) -> str:
    return str(((obj.get("spec") or {}).get("sync") or {}).get("target") or "")


def _names(objects: Iterable[Object]) -> list[str]:
    return sorted(obj["metadata"]["name"] for obj in objects)


def quota_check(options: Options) -> Check[Repository]:
    """Return the check that the namespace does not exceed its limit."""

    @check(Repository, field="spec")
    async def within_quota(repository: Repository, run: Run[Repository]) -> Problem | None:
        most = options.max_repositories
        if not most or run.is_dry:
            return None
        namespace = repository.metadata.namespace
        count = await run.memo(COUNT_KEY, lambda: _count(run.env, namespace))
        if count <= most:
            return None
        return Forbidden(f"namespace quota exceeded: {count}/{most} repositories", code=EXCEEDED)

    return within_quota


async def _count(env: Environment, namespace: str) -> int:
    if env.informers.is_running:
        await env.informers.of(Repository.gvr).caught_up()
        return indexes.repositories_by_namespace(env).count(namespace)
    listed = await env.client.list(Repository.gvr, Selection(namespace))
    return sum(not obj["metadata"].get("deletionTimestamp") for obj in listed.items)


def conditions(run: Run[Repository], options: Options) -> list[Finding]:
    """Return the conditions NamespaceQuota and ResourceQuota."""
    stats = (run.raw.get("status") or {}).get("stats") or []
    return [
        _of_namespace(run.memo.known(COUNT_KEY), options.max_repositories),
        of_resources(stats, options.max_resources_per_repository),
    ]


def _of_namespace(count: int | None, limit: int) -> Finding:
    if not limit or count is None:
        return _UNLIMITED
    return _compared("namespace", count, limit, "repositories")


def of_resources(stats: list[Object], limit: int) -> Finding:
    """Return the condition ResourceQuota, for the counts of the last pull."""
    if not limit:
        return _UNLIMITED._replace(type="ResourceQuota")
    return _compared("Resource", sum(each["count"] for each in stats), limit, "resources")


def _compared(scope: str, count: int, limit: int, plural: str) -> Finding:
    """Return the condition of a count and its limit. `scope` is spelled as in its messages."""
    there, kind = f"{count}/{limit} {plural}", f"{scope.capitalize()}Quota"
    if count > limit:
        return Finding(kind, False, EXCEEDED, f"{scope} quota exceeded: {there}")
    if count == limit:
        return Finding(kind, True, "QuotaReached", f"{scope} quota reached: {there}")
    within = "Within" if scope[0].isupper() else "within"
    return Finding(kind, True, "WithinQuota", f"{within} quota: {there}")


def status_of(options: Options) -> Object:
    """`status.quota`; missing limits are omitted."""
    found = {
        "maxRepositories": options.max_repositories,
        "maxResourcesPerRepository": options.max_resources_per_repository,
    }
    return {name: value for name, value in found.items() if value}


def neighbours_of(change: Change, options: Options, env: Environment) -> list[Key]:
    """Return the repositories whose NamespaceQuota changes because a repository was created or
    deleted.

    With a limit above _TOLD, only changes near the limit trigger checks; the repositories read
    other numbers at their next check.
    """
    most = options.max_repositories
    if not most or _is_counted(change.old) == _is_counted(change.new):
        return []
    index = indexes.repositories_by_namespace(env)
    namespace = change.object["metadata"].get("namespace", "")
    if most > _MAX_CHECKED_NEIGHBOURS and not most - 1 <= index.count(namespace) <= most + 1:
        return []
    return index.keys(namespace)


def _is_counted(obj: Object | None) -> bool:
    return obj is not None and not obj["metadata"].get("deletionTimestamp")
