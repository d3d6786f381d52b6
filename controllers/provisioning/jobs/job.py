"""Job and HistoricJob as kinds: the execution of a job, and the record of its outcome.

Jobs of one repository run one after the other. A finished job is replaced with a HistoricJob, which
is removed after a while.
"""

from datetime import datetime

from inkube.client import Object, Selection, ignoring
from inkube.controllers.provisioning.jobs import actions, sync
from inkube.controllers.provisioning.jobs import rules as job_rules
from inkube.controllers.provisioning.jobs.actions import Outcome
from inkube.controllers.provisioning.jobs.types import (
    CLAIM,
    CLAIM_OWNER,
    OF_THE_DEAD,
    ORIGINAL_UID,
    HistoricJob,
    Job,
)
from inkube.controllers.provisioning.options import Options
from inkube.controllers.provisioning.outside.hosts import NotAuthorized, RepositoryNotFound
from inkube.controllers.provisioning.places import REFUSALS
from inkube.controllers.provisioning.pulls import Pulls
from inkube.controllers.provisioning.repository_checks import CredentialsMissing
from inkube.controllers.provisioning.types import GROUP, VERSION, Repository
from inkube.kinds import (
    Controller,
    Environment,
    Key,
    KindModule,
    OutsideError,
    Progress,
    Result,
    Run,
    Watch,
    Work,
)

OWNER = "inkube"


def modules(pulls: Pulls, options: Options) -> tuple[KindModule[Job], KindModule[HistoricJob]]:
    """Return both kinds."""
    work = Work(
        JobRunner(pulls).carry_out,
        turn=_repository_of,
        labels=lambda now: {CLAIM: str(now), CLAIM_OWNER: OWNER},
        put_away=_move_to_history,
    )
    return (
        KindModule(Job, validators=job_rules.VALIDATORS, work=work),
        KindModule(HistoricJob, extra_controllers=lambda env: [_expiry(options, env)]),
    )


def _repository_of(obj: Object) -> Key:
    return Key(obj["metadata"]["namespace"], obj["spec"].get("repository", ""))


class JobRunner:
    """Runs jobs."""

    def __init__(self, pulls: Pulls) -> None:
        self._pulls = pulls

    async def carry_out(self, job: Job, progress: Progress, env: Environment) -> Object:
        """Run a job and return its final status. Errors of outside systems become errors of the
        job."""
        outcome = await self._outcome(job, progress, env)
        return {"state": outcome.state, "message": outcome.message, **outcome.members()}

    async def _outcome(self, job: Job, progress: Progress, env: Environment) -> Outcome:
        place = Key(job.metadata.namespace, job.spec.repository)
        repository = await sync.stored(env, Repository, place)
        if repository is None:
            return Outcome.failed(f"repository {place.name} not found")
        is_going = bool(repository["metadata"].get("deletionTimestamp"))
        if is_going and job.spec.action not in OF_THE_DEAD:
            return Outcome.failed(f"repository {place.name} is being deleted")
        is_pull = job.spec.action == "pull"
        if is_pull:
            started: Object = {"state": "working", "job": job.metadata.name, "message": []}
            started |= {"started": sync.now(env)}
            if job.spec.pull is not None and job.spec.pull.incremental:
                started |= {"incremental": True}
            await sync.report(repository, env, started)
        run = Run(repository, env, model=Repository)
        try:
            outcome = await actions.carry_out(job.spec, run, self._pulls, progress)
        except OutsideError as error:
            outcome = Outcome.failed(f"{error.service}: {error.reason}")
        except (NotAuthorized, CredentialsMissing):
            outcome = Outcome.failed("not authorized")
        except RepositoryNotFound:
            outcome = Outcome.failed("repository not found")
        except REFUSALS as error:
            outcome = Outcome.failed(str(error) or "ref not found")
        finally:
            await run.memo.close()
        if outcome.pulled is not None or is_pull:
            await self._report(repository, job, outcome, env)
        return outcome

    async def _report(
        self, repository: Object, job: Job, outcome: Outcome, env: Environment
    ) -> None:
        """Write `status.sync` and `status.stats` after a pull."""
        metadata = repository["metadata"]
        key = Key(metadata["namespace"], metadata["name"])
        now = sync.now(env)
        pulled = actions.record_pull(self._pulls, key, repository, outcome, now)
        sync_status: Object = {"state": outcome.state, "job": job.metadata.name}
        sync_status |= {"started": job.status.started or now, "finished": now}
        sync_status["message"] = outcome.errors or []
        if outcome.state == "error" and not outcome.errors:
            sync_status["message"] = [outcome.message]
        if outcome.head and outcome.state != "error":
            sync_status["lastRef"] = outcome.head
        if job.spec.pull is not None and job.spec.pull.incremental:
            sync_status["incremental"] = True
        stats = pulled.counts() if outcome.pulled is not None else None
        await sync.report(repository, env, sync_status, stats, self._pulls.most_resources)


async def _move_to_history(obj: Object, env: Environment) -> None:
    """Replace a finished Job with a HistoricJob."""
    metadata = obj["metadata"]
    selection = Selection(metadata["namespace"], labels=f"{ORIGINAL_UID}={metadata['uid']}")
    if not (await env.client.list(HistoricJob.gvr, selection)).items:
        labels = dict(metadata.get("labels") or {})
        for label in (CLAIM, CLAIM_OWNER):
            labels.pop(label, None)
        await env.client.create(
            {
                "apiVersion": f"{GROUP}/{VERSION}",
                "kind": "HistoricJob",
                "metadata": {
                    "generateName": f"{metadata['name']}-",
                    "namespace": metadata["namespace"],
                    "labels": {**labels, ORIGINAL_UID: metadata["uid"]},
                },
                "spec": obj["spec"],
                "status": obj["status"],
            }
        )
    await env.client.delete(Job.gvr, metadata["name"], metadata["namespace"])


def _expiry(options: Options, env: Environment) -> Controller:
    """Remove HistoricJobs that are older than the configured time."""

    async def reconcile(key: Key) -> Result | None:
        obj = await sync.stored(env, HistoricJob, key)
        if obj is None:
            return None
        created = datetime.fromisoformat(obj["metadata"]["creationTimestamp"])
        left = options.job_history - (env.clock.now() - created).total_seconds()
        if left > 0:
            return Result(left)
        with ignoring(404):
            await env.client.delete(HistoricJob.gvr, key.name, key.namespace)
        return None

    watch = Watch(HistoricJob.gvr, lambda change: [] if change.old else [Key.of(change.object)])
    return Controller(f"{HistoricJob.gvr.resource}.{GROUP} expiry", reconcile, (watch,))
