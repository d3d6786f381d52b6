"""`repositories/NAME/jobs`: creates a job from a bare JobSpec, and lists recent jobs with their
results."""

import re
from datetime import datetime, timedelta
from typing import Any

from inkube import kinds
from inkube.client import Object, Selection
from inkube.controllers.provisioning.jobs import sync
from inkube.controllers.provisioning.jobs.types import OF_THE_DEAD, ORIGINAL_UID, HistoricJob, Job
from inkube.controllers.provisioning.types import GROUP, Repository
from inkube.kinds import Environment, Key, Question, Reason, Reply, StatusError, Subresource, status

RECENT = timedelta(minutes=10)
FORBIDDEN = "write operations are not allowed for this repository"
NO_BRANCHES = "branch workflow is not allowed for this repository"
_UID = re.compile(r"[A-Za-z0-9\-]+")
_BLOCKS = ("pull", "push", "pr", "migrate", "delete", "move", "fixFolderMetadata")
_WRITING = ("push", "migrate", "delete", "move", "fixFolderMetadata")


async def _serve(question: Question, env: Environment) -> Reply:
    if question.verb == "create":
        if question.rest:
            raise status.bad_request("can not post to a job UID")
        return await _create(question, env)
    if question.rest:
        return Reply(await _finished_job(question, env))
    repository = await _repository(question, env)
    jobs = await _recent(question, env, repository["metadata"]["name"])
    listed = [_as_job(job, question) for job in jobs]
    body = {"kind": "JobList", "apiVersion": question.api_version, "metadata": {}}
    return Reply({**body, "items": listed})


jobs = Subresource("jobs", _serve, kind="Job", verbs=("get", "create"))


async def _create(question: Question, env: Environment) -> Reply:
    spec = _spec(question)
    repository = await _repository(question, env)
    _check_allowed(spec, repository)
    suffix = "sync" if spec["action"] in ("pull", "migrate") else spec["action"]
    if spec["action"] == "pr":
        suffix = f"pr-{spec['pr'].get('pr', 0)}"
    name = sync.job_name(question.name, (suffix or "job").lower())
    made = await env.client.create(sync.job(name, question.namespace, spec))
    return Reply({**made, "apiVersion": question.api_version}, code=202)


def _spec(question: Question) -> Object:
    """Return the JobSpec of the body, with its repository and action set. Raises StatusError
    400."""
    unreadable = status.bad_request("error decoding provisioning.Job from request")
    try:
        spec = question.document()
    except StatusError as error:
        raise unreadable from error
    if not isinstance(spec, dict):
        raise unreadable
    blocks = [name for name in _BLOCKS if spec.get(name) is not None]
    if len(blocks) > 1:
        raise status.bad_request("multiple job types found")
    action = spec.get("action") or (blocks[0] if blocks else "")
    found: Object = {**spec, "action": action, "repository": question.name}
    if action == "pull":
        found.setdefault("pull", {})
    try:
        kinds.parse(Job, {"metadata": {}, "spec": found})
    except kinds.Unreadable as error:
        raise unreadable from error
    return found


async def _repository(question: Question, env: Environment) -> Object:
    found = await sync.stored(env, Repository, Key(question.namespace, question.name))
    if found is None:
        raise status.not_found(GROUP, Repository.gvr.resource, question.name)
    return found


def _check_allowed(spec: Object, repository: Object) -> None:
    """Reject a job that is not possible in the present state of the repository. Raises
    StatusError."""
    action, name = spec["action"], repository["metadata"]["name"]
    is_going = bool(repository["metadata"].get("deletionTimestamp"))
    if action == "pr":
        raise status.bad_request(
            "pull request jobs cannot be created via the API; they are triggered by webhooks"
        )
    if action in OF_THE_DEAD:
        if not is_going:
            why = "repository exists and is not being deleted; use the normal delete flow"
            raise StatusError(409, Reason.CONFLICT, why)
        return
    if is_going:
        why = "cannot create jobs for a repository marked for deletion"
        raise StatusError(409, Reason.CONFLICT, why)
    health = (repository.get("status") or {}).get("health") or {}
    if not health.get("healthy"):
        raise status.unknown("The repository configuration is not healthy", code=424)
    workflows = repository["spec"].get("workflows") or []
    if action in _WRITING and not workflows:
        raise status.forbidden(GROUP, Repository.gvr.resource, name, FORBIDDEN)
    options = spec.get(action) or {}
    if (options.get("branch") or options.get("ref")) and "branch" not in workflows:
        raise status.forbidden(GROUP, Repository.gvr.resource, name, NO_BRANCHES)


async def _finished_job(question: Question, env: Environment) -> Object:
    uid = "/".join(question.rest)
    if not _UID.fullmatch(uid):
        raise status.bad_request(f"invalid job uid: {uid}")
    selection = Selection(question.namespace, labels=f"{ORIGINAL_UID}={uid}")
    for job in (await env.client.list(HistoricJob.gvr, selection)).items:
        if job["spec"].get("repository") == question.name:
            return _as_job(job, question)
    raise status.not_found(GROUP, Job.gvr.resource, uid)


async def _recent(question: Question, env: Environment, repository: str) -> list[Object]:
    """Return the historic jobs of the last minutes (RECENT), the newest first."""
    after = env.clock.now() - RECENT
    listed = await env.client.list(HistoricJob.gvr, Selection(question.namespace))
    found = [
        (created, job)
        for job in listed.items
        if job["spec"].get("repository") == repository
        and (created := datetime.fromisoformat(job["metadata"]["creationTimestamp"])) >= after
    ]

    def newest(pair: tuple[Any, Object]) -> tuple[Any, int]:
        return pair[0], int(pair[1]["metadata"]["resourceVersion"])

    return [job for _, job in sorted(found, key=newest, reverse=True)]


def _as_job(job: Object, question: Question) -> Object:
    return {**job, "apiVersion": question.api_version, "kind": "Job"}
