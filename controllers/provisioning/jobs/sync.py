"""Automatic syncs of repositories: which pull jobs are created, and when.

A full pull starts if a healthy repository was never read, if its spec changed, or if it was
unhealthy. After that, each commit of this server starts an incremental pull, and so does each
interval if the branch has moved.
`status.sync` follows the job.
"""

from typing import Any

from inkube.client import Object, get_or_none, ignoring
from inkube.controllers.provisioning import places, quotas
from inkube.controllers.provisioning.jobs.types import REPOSITORY, Job
from inkube.controllers.provisioning.options import Options
from inkube.controllers.provisioning.outside.hosts import NotAuthorized, RepositoryNotFound
from inkube.controllers.provisioning.pulls import Pulls
from inkube.controllers.provisioning.repository_checks import (
    CredentialsMissing,
    head_of,
    session_of,
)
from inkube.controllers.provisioning.types import GROUP, VERSION, Repository
from inkube.kinds import (
    FINAL,
    Change,
    Controller,
    Environment,
    Finding,
    Key,
    OutsideError,
    Reason,
    Result,
    Run,
    Watch,
    conditions,
)

UNHEALTHY = "Repository is unhealthy"
_LABEL = 63
"""The maximum length of the value of a label, in characters."""


def controller(pulls: Pulls, options: Options, env: Environment) -> Controller:
    """Return a controller that creates the pull jobs."""

    async def reconcile(key: Key) -> Result | None:
        return await _reconcile(key, pulls, options, env)

    return Controller(f"{Repository.gvr.resource}.{GROUP} sync", reconcile, _watches())


def _watches() -> tuple[Watch, ...]:
    def of_repository(change: Change) -> list[Key]:
        old, new = change.old, change.new
        if old is not None and new is not None and _concern(old) == _concern(new):
            return []
        return [Key.of(change.object)]

    def of_job(change: Change) -> list[Key]:
        spec, namespace = change.object.get("spec") or {}, change.object["metadata"]["namespace"]
        return [Key(namespace, spec.get("repository", ""))] if change.new is None else []

    return Watch(Repository.gvr, of_repository), Watch(Job.gvr, of_job)


def _concern(obj: Object) -> tuple[Any, ...]:
    reported, metadata = obj.get("status") or {}, obj["metadata"]
    health = (reported.get("health") or {}).get("healthy")
    state = (reported.get("sync") or {}).get("state")
    observed = reported.get("observedGeneration")
    return metadata["generation"], metadata.get("deletionTimestamp"), health, state, observed


async def _reconcile(key: Key, pulls: Pulls, options: Options, env: Environment) -> Result | None:
    obj = await stored(env, Repository, key)
    if obj is None:
        pulls.forget(key)
        return None
    reported, metadata = obj.get("status") or {}, obj["metadata"]
    wanted = (obj["spec"].get("sync") or {}).get("enabled")
    if metadata.get("deletionTimestamp") or not wanted:
        return None
    if reported.get("observedGeneration") != metadata["generation"]:
        return None
    if not (reported.get("health") or {}).get("healthy"):
        pulls.forget(key)
        return None
    name = job_name(key.name, "sync")
    if await stored(env, Job, Key(key.namespace, name)) is not None:
        return None
    pulled, sync = pulls.of(key, metadata["uid"]), reported.get("sync") or {}
    if pulled is None or pulled.generation != metadata["generation"]:
        await request_pull(obj, env, is_incremental=False)
        return None
    if pulls.take_request(key):
        await request_pull(obj, env, is_incremental=True)
        return None
    if sync.get("state") in ("pending", "working"):
        if sync.get("job") and await stored(env, Job, Key(key.namespace, sync["job"])) is not None:
            return None  # a job of a client: its end triggers this again
        # the job was deleted before it finished
        await request_pull(obj, env, is_incremental=False)
        return None
    interval = float(obj["spec"]["sync"].get("intervalSeconds") or options.min_sync_interval)
    passed = env.clock.now().timestamp() - sync.get("finished", 0) / 1000
    if passed < interval:
        return Result(interval - passed)
    if sync.get("state") == "error":
        await request_pull(obj, env, is_incremental=False)
        return None
    if await _has_new_head(obj, sync.get("lastRef", ""), env):
        await request_pull(obj, env, is_incremental=True)
        return None
    return Result(interval)


async def _has_new_head(obj: Object, last: str, env: Environment) -> bool:
    run = Run(obj, env, model=Repository)
    try:
        if run.object.spec.remote is None:
            return (await places.tree(run)).head != last
        return await head_of(run, await session_of(run)) != last
    except (OutsideError, NotAuthorized, RepositoryNotFound, CredentialsMissing):
        return False  # the checks of the repository report it
    except places.REFUSALS:
        return False
    finally:
        await run.memo.close()


async def request_pull_after_write(obj: Object, env: Environment, pulls: Pulls) -> None:
    """Create a pull job after a commit on the configured branch. If one runs, another one follows
    it."""
    key = Key(obj["metadata"]["namespace"], obj["metadata"]["name"])
    pulls.request(key)  # before the look, because the job can end meanwhile
    if await stored(env, Job, Key(key.namespace, job_name(key.name, "sync"))) is None:
        pulls.take_request(key)
        await request_pull(obj, env, is_incremental=True)


async def request_pull(obj: Object, env: Environment, *, is_incremental: bool) -> None:
    """Create the pull job of a repository, unless it exists."""
    name = job_name(obj["metadata"]["name"], "sync")
    spec = {
        "action": "pull",
        "repository": obj["metadata"]["name"],
        "pull": {"incremental": is_incremental},
    }
    namespace = obj["metadata"]["namespace"]
    if await stored(env, Job, Key(namespace, name)) is not None:
        return
    # reported before the create, because the reports of the job must come later
    await report(obj, env, {"state": "pending", "scheduled": now(env), "job": name, "message": []})
    with ignoring(Reason.ALREADY_EXISTS):
        await env.client.create(job(name, namespace, spec))


async def report(
    obj: Object,
    env: Environment,
    sync: Object,
    stats: list[Object] | None = None,
    most_resources: int = 0,
) -> None:
    """Write `status.sync`, and `status.stats` if it is given. The last head stays if `sync` has no
    head.

    After the sync has finished, the condition SyncStatus contains its result.
    """
    metadata = obj["metadata"]
    fresh = await stored(env, Repository, Key(metadata["namespace"], metadata["name"]))
    if fresh is None or fresh["metadata"]["uid"] != metadata["uid"]:
        return
    obj = fresh
    before = ((obj.get("status") or {}).get("sync")) or {}
    if "lastRef" in before:
        sync = {"lastRef": before["lastRef"], **sync}
    patch: list[Object] = [
        {"op": "test", "path": "/metadata/uid", "value": metadata["uid"]},
        {"op": "add", "path": "/status/sync", "value": sync},
    ]
    if sync["state"] in FINAL:
        findings = [_finding(sync)]
        if stats is not None:
            quota = quotas.of_resources(stats, most_resources)
            findings = [quota, _finding(sync, quota)]
        changed = conditions(obj, findings, env.clock.now())
        patch.append({"op": "add", "path": "/status/conditions", "value": changed})
    if stats is not None:
        patch.append({"op": "add", "path": "/status/stats", "value": stats})
    await env.client.patch(
        Repository.gvr,
        metadata["name"],
        metadata["namespace"],
        patch=patch,
        type="json",
        subresource="status",
    )


def _finding(sync: Object, quota: Finding | None = None) -> Finding:
    if quota is not None and not quota.is_true:
        return Finding("SyncStatus", False, "SyncQuotaExceeded", quota.message)
    if sync["state"] == "error":
        return Finding("SyncStatus", False, "SyncFailed", "; ".join(sync["message"]))
    return Finding("SyncStatus", True, "SyncSuccessful", "the last sync was successful")


def job(name: str, namespace: str, spec: Object) -> Object:
    """Return a Job that the server creates."""
    labels = {REPOSITORY: spec["repository"]} if len(spec["repository"]) <= _LABEL else {}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": spec,
    }


def job_name(repository: str, suffix: str) -> str:
    """Return the name of a job of a repository; only one job with the same suffix exists at a
    time."""
    return f"{repository[: 252 - len(suffix)]}-{suffix}"


def now(env: Environment) -> int:
    """Return milliseconds since the epoch."""
    return int(env.clock.now().timestamp() * 1000)


async def stored(env: Environment, model: Any, key: Key) -> Object | None:
    """Return the current object; None if it does not exist."""
    return await get_or_none(env.client, model, key.name, key.namespace)
