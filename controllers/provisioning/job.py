"""Jobs at work: claimed, carried out, told about, kept as HistoricJobs for a while.

Jobs of one repository run one after the other. A job that a stopped server left at work begins
anew; one that was finished and not yet put away is put away.
"""

import asyncio
import logging
from datetime import datetime
from weakref import WeakValueDictionary

from inkube.controllers.checks import OutsideError, Run
from inkube.controllers.client import Object, Selection
from inkube.controllers.environment import Environment
from inkube.controllers.informer import Key
from inkube.controllers.kinds import KindModule
from inkube.controllers.manager import Controller, Result, Watch
from inkube.controllers.provisioning import actions, job_rules, sync
from inkube.controllers.provisioning.actions import Outcome
from inkube.controllers.provisioning.hosts import NotAuthorized, RepositoryNotFound
from inkube.controllers.provisioning.job_types import (
    CLAIM,
    CLAIM_OWNER,
    ORIGINAL_UID,
    HistoricJob,
    Job,
)
from inkube.controllers.provisioning.options import Options
from inkube.controllers.provisioning.places import REFUSALS
from inkube.controllers.provisioning.repository_checks import CredentialsMissing
from inkube.controllers.provisioning.stock import Stock
from inkube.controllers.provisioning.types import GROUP, VERSION, Repository
from inkube.schemas import models
from inkube.schemas.status import StatusError

logger = logging.getLogger(__name__)
OWNER = "inkube"
CONCURRENCY = 64
"""Jobs mostly wait: for a host, or for the job before them."""


def modules(stock: Stock, options: Options) -> tuple[KindModule[Job], KindModule[HistoricJob]]:
    """Both kinds."""
    return (
        KindModule(
            Job,
            validators=job_rules.VALIDATORS,
            extra_controllers=lambda env: [Runner(stock, env).controller()],
        ),
        KindModule(HistoricJob, extra_controllers=lambda env: [_expiry(options, env)]),
    )


class Runner:
    """Carries jobs out."""

    def __init__(self, stock: Stock, env: Environment) -> None:
        self._stock = stock
        self._env = env
        self._turns: WeakValueDictionary[Key, asyncio.Lock] = WeakValueDictionary()

    def controller(self) -> Controller:
        """Runs every job once."""
        watch = Watch(Job.gvr, lambda change: [] if change.old else [Key.of(change.object)])
        name = f"{Job.gvr.resource}.{GROUP} runner"
        return Controller(name, self.reconcile, (watch,), concurrency=CONCURRENCY)

    async def reconcile(self, key: Key) -> Result | None:
        """Carry out one job, when it is its turn."""
        obj = await sync.found(self._env, Job, key)
        if obj is None:
            return None
        place = Key(key.namespace, obj["spec"].get("repository", ""))
        turn = self._turns.setdefault(place, asyncio.Lock())
        try:
            async with turn:
                obj = await sync.found(self._env, Job, key)
                if obj is not None:
                    await self._carry_out(obj, place)
        except StatusError as error:
            if error.code != 404:  # else somebody deleted it meanwhile: that is how jobs are ended
                raise
        return None

    async def _carry_out(self, obj: Object, place: Key) -> None:
        if sync.is_done(obj):
            await self._put_away(obj)
            return
        if not (obj.get("status") or {}).get("state"):
            obj = await self._tell(obj, {"state": "pending"})
        now = self._now()
        labels = {CLAIM: str(now), CLAIM_OWNER: OWNER}
        obj = await self._patch(obj, {"metadata": {"labels": labels}}, "")
        obj = await self._tell(obj, {"state": "working", "started": now})
        outcome = await self._outcome(obj, place)
        before = obj["status"]
        final = {"state": outcome.state, "message": outcome.message, "finished": self._now()}
        final |= {"progress": 100, "progressUpdates": before.get("progressUpdates", 0) + 1}
        obj = await self._tell(obj, {**final, **outcome.members()})
        await self._put_away(obj)

    async def _outcome(self, obj: Object, place: Key) -> Outcome:
        """What came of it; what the outside world does wrong is the job's error."""
        repository = await sync.found(self._env, Repository, place)
        if repository is None:
            return Outcome.failed(f"repository {place.name} not found")
        typed, is_pull = models.parse(Job, obj), obj["spec"]["action"] == "pull"
        if is_pull:
            started: Object = {"state": "working", "job": typed.metadata.name, "message": []}
            started |= {"started": self._now()}
            if typed.spec.pull is not None and typed.spec.pull.incremental:
                started |= {"incremental": True}
            await sync.report(repository, self._env, started)
        run = Run(repository, self._env, model=Repository)
        try:
            outcome = await actions.carry_out(typed.spec, run, self._stock)
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
        if outcome.pulled or is_pull:
            await self._report(repository, typed, outcome)
        return outcome

    async def _report(self, repository: Object, job: Job, outcome: Outcome) -> None:
        """`status.sync` and `status.stats` after a pull."""
        metadata = repository["metadata"]
        key = Key(metadata["namespace"], metadata["name"])
        pulled = actions.noted(self._stock, key, repository, outcome, self._now())
        started = job.status.started or self._now()
        sync_status = {"state": outcome.state, "job": job.metadata.name, "started": started}
        sync_status |= {"finished": self._now(), "message": outcome.errors or []}
        if outcome.state == "error" and not outcome.errors:
            sync_status["message"] = [outcome.message]
        if outcome.head and outcome.state != "error":
            sync_status["lastRef"] = outcome.head
        if job.spec.pull is not None and job.spec.pull.incremental:
            sync_status["incremental"] = True
        stats = pulled.counts() if outcome.pulled else None
        await sync.report(repository, self._env, sync_status, stats)

    async def _put_away(self, obj: Object) -> None:
        """A HistoricJob instead of the Job."""
        metadata, env = obj["metadata"], self._env
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

    async def _tell(self, obj: Object, status: Object) -> Object:
        return await self._patch(obj, {"status": status}, "status")

    async def _patch(self, obj: Object, patch: Object, subresource: str) -> Object:
        """Change the very job that was read, not a younger one of its name."""
        metadata = obj["metadata"]
        patch = {**patch, "metadata": {**patch.get("metadata", {}), "uid": metadata["uid"]}}
        return await self._env.client.patch(
            Job.gvr, metadata["name"], metadata["namespace"], patch=patch, subresource=subresource
        )

    def _now(self) -> int:
        return int(self._env.clock.now().timestamp() * 1000)


def _expiry(options: Options, env: Environment) -> Controller:
    """Removes what was kept long enough."""

    async def reconcile(key: Key) -> Result | None:
        obj = await sync.found(env, HistoricJob, key)
        if obj is None:
            return None
        created = datetime.fromisoformat(obj["metadata"]["creationTimestamp"])
        left = options.job_history - (env.clock.now() - created).total_seconds()
        if left > 0:
            return Result(left)
        try:
            await env.client.delete(HistoricJob.gvr, key.name, key.namespace)
        except StatusError as error:
            if error.code != 404:
                raise
        return None

    watch = Watch(HistoricJob.gvr, lambda change: [] if change.old else [Key.of(change.object)])
    return Controller(f"{HistoricJob.gvr.resource}.{GROUP} expiry", reconcile, (watch,))
