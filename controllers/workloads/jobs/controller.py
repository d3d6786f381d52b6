"""The Job controller: creates pods, counts each finished pod exactly once, and ends the Job.

It writes the uid of a finished pod to the status, then removes the pod's finalizer, then counts the
pod. In this order, every pod is counted exactly once. Follows pkg/controller/job/job_controller.go.
"""

import asyncio
from collections.abc import Iterator

from inkube.client import Object
from inkube.controllers.workloads import pods, templates, writes
from inkube.controllers.workloads.claims import (
    Claims,
    adopters,
    controller_of,
    named_owners,
    own_selector,
)
from inkube.controllers.workloads.cluster import PODS, Cluster
from inkube.controllers.workloads.jobs import indexes, policies, state
from inkube.controllers.workloads.jobs.state import FINAL, FINALIZER, EndCondition, State
from inkube.formats import format_time
from inkube.kinds import Change, Controller, Key, Result, StatusError, Watch

NAME = "job-controller"
JOBS = "batch/v1/jobs"
_OURS = "kubernetes.io/job-controller"
_REACHED = ("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods")
_ORPHAN = "pods"
"""`Key.resource` of a pod whose Job was deleted."""


class JobController:
    """Creates and counts the pods of one Job at a time."""

    def __init__(self, cluster: Cluster) -> None:
        self._clock = cluster.clock
        self._client = cluster.client()
        self._events = cluster.recorder(NAME)
        self._jobs = cluster.informer(JOBS)
        self._pods = cluster.informer(PODS)
        self._claimable = cluster.claimable(PODS)
        self._pods_by_owner = cluster.by_controller(PODS)
        self._claims = Claims(self._client, PODS, JOBS)

    def of_pod(self, change: Change) -> Iterator[Key]:
        """Yield the Jobs of a pod, or those that can adopt it; the pod itself if it has the
        finalizer."""
        namespace = change.object["metadata"]["namespace"]
        new = change.new
        yield from named_owners(change, "Job")
        if new is not None and state.is_tracked(new):
            yield Key(namespace, new["metadata"]["name"], _ORPHAN)
        yield from map(Key.of, adopters(change, self._jobs, own_selector))

    def of_job(self, change: Change) -> Iterator[Key]:
        """Yield the Job of a change, and the pods of a deleted Job."""
        yield Key.of(change.object)
        if change.new is None:
            for key in self._pods_by_owner.keys(change.object["metadata"]["uid"]):
                yield key._replace(resource=_ORPHAN)

    async def reconcile(self, key: Key) -> Result | None:
        """Reconcile a Job, or a pod whose Job was deleted."""
        if key.resource:
            await self._sync_orphan_pod(key)
            return None
        job = self._jobs.get(key)
        if job is None or (job["spec"].get("managedBy") or _OURS) != _OURS:
            return None
        found = await self._claim_pods(job)
        if state.is_finished(job):
            await self._remove_finalizers([pod for pod in found if state.is_tracked(pod)])
            return None
        return await self._sync(templates.copy(job), found)

    async def _claim_pods(self, job: Object) -> list[Object]:
        selector = job["spec"].get("selector") or {}
        return await self._claims.claim(job, selector, self._claimable(job))

    async def _sync_orphan_pod(self, key: Key) -> None:
        """Remove the finalizer of a pod without a Job that would count it (syncOrphanPod)."""
        pod = self._pods.get(Key(key.namespace, key.name))
        if pod is None or not state.is_tracked(pod):
            return
        reference = controller_of(pod)
        if reference is not None:
            job = self._jobs.get(Key(key.namespace, reference["name"]))
            if reference["kind"] != "Job" or (
                job is not None and job["metadata"]["uid"] == reference["uid"]
            ):
                return
        await self._remove_finalizers([pod])

    async def _sync(self, job: Object, owned_pods: list[Object]) -> Result | None:
        now = self._clock.now()
        status: Object = job.setdefault("status", {})
        changed = False
        if not job["spec"].get("suspend") and status.get("startTime") is None:
            status["startTime"] = format_time(now)
            changed = True
        look = State(job, owned_pods, now)
        ending, active, wait = look.end_condition(), look.active, 0.0
        if ending is not None:
            active = await self._delete(job, look, active)
        elif "deletionTimestamp" not in job["metadata"]:
            active, wait = await self._manage(job, look)
            if look.is_complete(len(active)):
                ending = _REACHED
            else:
                changed |= await self._note_suspension(job, now=format_time(now))
        numbers = {
            "active": len(active),
            "ready": sum(map(pods.is_ready, active)),
            "terminating": len(look.terminating) + len(look.active) - _kept(look.active, active),
        }
        for member, number in numbers.items():
            if status.get(member, 0 if member == "active" else None) != number:
                status[member] = number
                changed = True
        if not status.get("active"):
            status.pop("active", None)
        await self._track(job, look, ending, changed=changed)
        left = look.seconds_left()
        waits = [seconds for seconds in (wait, left or 0.0) if seconds > 0]
        return Result(requeue_after=min(waits)) if waits else None

    # --- pods

    async def _manage(self, job: Object, job_state: State) -> tuple[list[Object], float]:
        """Create or delete pods (manageJob). Returns the active pods after it, and seconds until
        the next check (0: no check)."""
        active, wanted = job_state.active, job_state.wanted_active()
        surplus = job_state.surplus(active) if not job_state.is_suspended else list(active)
        names = {pod["metadata"]["uid"] for pod in surplus}
        others = [pod for pod in active if pod["metadata"]["uid"] not in names]
        excess = max(len(active) - wanted - len(surplus), 0)
        surplus += pods.by_deletion(others, {})[:excess]
        if surplus:
            await self._remove_finalizers([pod for pod in surplus if state.is_tracked(pod)])
            return await self._delete(job, job_state, surplus), 0.0
        missing = wanted - len(active)
        if job_state.waits_for_failed:
            missing -= len(job_state.terminating)
        missing = min(missing, writes.BURST)
        if missing <= 0:
            return active, 0.0
        wait = job_state.retry_in()
        if wait > 0:
            return active, wait
        chosen: list[int | None] = [None] * missing
        if job_state.is_indexed:
            numbers, wait = job_state.pending(missing)
            chosen = list(numbers)
        return active + await self._create(job, job_state, chosen), wait

    async def _delete(self, job: Object, job_state: State, surplus: list[Object]) -> list[Object]:
        """Delete surplus pods. Returns the remaining active pods."""

        async def delete(pod: Object) -> None:
            if await writes.delete(self._client, PODS, pod):
                text = f"Deleted pod: {pod['metadata']['name']}"
                await self._events.normal(job, "SuccessfulDelete", text)

        await writes.all_of(surplus[: writes.BURST], delete)
        if surplus:
            await self._pods.caught_up()
        gone = {pod["metadata"]["uid"] for pod in surplus}
        return [pod for pod in job_state.active if pod["metadata"]["uid"] not in gone]

    async def _create(
        self, job: Object, job_state: State, indexes_to_create: list[int | None]
    ) -> list[Object]:
        made: list[Object] = []
        last = job_state.last_failed() if job_state.per_index is not None else {}

        async def create(number: int) -> None:
            body = self._pod(job, indexes_to_create[number], last)
            try:
                pod = await self._client.create(body)
            except StatusError as error:
                message = f"Error creating: {error.message}"
                await self._events.warning(job, "FailedCreate", message)
                raise
            made.append(pod)
            text = f"Created pod: {pod['metadata']['name']}"
            await self._events.normal(job, "SuccessfulCreate", text)

        _, failure = await writes.in_batches(len(indexes_to_create), create)
        if made:
            await self._pods.caught_up()
        if failure is not None and not writes.is_ending(failure):
            raise failure
        return made

    def _pod(self, job: Object, index: int | None, last: dict[int, Object]) -> Object:
        body = templates.pod(job["spec"]["template"], job)
        meta = body["metadata"]
        meta["finalizers"] = [*(meta.get("finalizers") or ()), FINALIZER]
        if index is None:
            return body
        name = job["metadata"]["name"]
        meta["generateName"] = f"{name}-{index}-"
        annotations = {**(meta.get("annotations") or {}), indexes.INDEX: str(index)}
        if job["spec"].get("backoffLimitPerIndex") is not None:
            annotations |= _counts(job, last.get(index))
        meta["annotations"] = annotations
        meta["labels"] = {**(meta.get("labels") or {}), indexes.INDEX: str(index)}
        body["spec"]["hostname"] = f"{name}-{index}"
        for member in ("initContainers", "containers"):
            for container in body["spec"].get(member) or ():
                env = container.get("env") or []
                if all(each["name"] != "JOB_COMPLETION_INDEX" for each in env):
                    container["env"] = [*env, _ENV]
        return body

    async def _remove_finalizers(self, counted_pods: list[Object]) -> set[str]:
        """Remove the finalizers of pods. Returns the uids of the pods without the finalizer."""
        results = await asyncio.gather(*(self._remove_finalizer(pod) for pod in counted_pods))
        if counted_pods:
            await self._pods.caught_up()
        return {pod["metadata"]["uid"] for pod, ok in zip(counted_pods, results, strict=True) if ok}

    async def _remove_finalizer(self, pod: Object) -> bool:
        meta = pod["metadata"]
        left = [name for name in meta.get("finalizers") or () if name != FINALIZER]
        body = {"metadata": {"uid": meta["uid"], "finalizers": left or None}}
        try:
            await self._client.patch(PODS, meta["name"], meta["namespace"], patch=body)
        except StatusError as error:
            if error.code in (404, 409, 422):
                return error.code == 404
            raise
        return True

    # --- status

    async def _note_suspension(self, job: Object, *, now: str) -> bool:
        status = job["status"]
        present = pods.condition(job, "Suspended")
        if job["spec"].get("suspend"):
            if present is not None and present["status"] == "True":
                return False
            _set(status, "Suspended", "True", "JobSuspended", "Job suspended", now=now)
            status.pop("startTime", None)
            await self._events.normal(job, "Suspended", "Job suspended")
            return True
        if present is None or present["status"] == "False":
            return False
        _set(status, "Suspended", "False", "JobResumed", "Job resumed", now=now)
        status["startTime"] = now
        await self._events.normal(job, "Resumed", "Job resumed")
        return True

    async def _track(
        self, job: Object, job_state: State, ending: EndCondition | None, *, changed: bool
    ) -> None:
        """Count finished pods, and write the status (trackJobStatusAndRemoveFinalizers)."""
        status = job["status"]
        now = format_time(self._clock.now())
        uncounted: dict[str, list[str]] = {
            member: list((status.get("uncountedTerminatedPods") or {}).get(member) or ())
            for member in ("succeeded", "failed")
        }
        tracked = {pod["metadata"]["uid"] for pod in job_state.pods if state.is_tracked(pod)}
        changed |= _count(status, uncounted, tracked, is_indexed=job_state.is_indexed)
        is_failing = ending is not None and ending[0] == "FailureTarget"
        to_remove = []
        uncounted_pods = [pod for pod in job_state.pods if pod["metadata"]["uid"] in tracked]
        for pod in sorted(uncounted_pods, key=state.finished_at):
            uid = pod["metadata"]["uid"]
            if not job_state.may_be_counted(pod, is_ending=ending is not None):
                continue
            to_remove.append(pod)
            if pods.phase(pod) == "Succeeded":
                is_new = uid not in uncounted["succeeded"]
                if not job_state.is_indexed and is_new:
                    uncounted["succeeded"].append(uid)
                changed = True
            elif (job_state.is_failed(pod) or is_failing) and uid not in uncounted["failed"]:
                if policies.verdict_of(job, pod).counts:
                    uncounted["failed"].append(uid)
                changed = True
        _write_indexes(status, job_state)
        if ending is not None and pods.condition(job, ending[0]) is None:
            _set(status, ending[0], "True", ending[1], ending[2], now=now)
            changed = True
        _write_uncounted(status, uncounted)
        if changed:
            job = await self._write(job)
        status = job["status"]
        removed = await self._remove_finalizers(to_remove)
        changed = _count(status, uncounted, tracked - removed, is_indexed=job_state.is_indexed)
        _write_uncounted(status, uncounted)
        left = any(uncounted.values()) or bool(status.get("terminating"))
        is_done = ending is not None and not left
        if is_done and ending is not None:
            _set(status, FINAL[ending[0]], "True", ending[1], ending[2], now=now)
            if ending[0] == "SuccessCriteriaMet":
                status["completionTime"] = now
        if changed or is_done:
            await self._write(job)
        if is_done and ending is not None:
            await self._record_end(job, ending)

    async def _write(self, job: Object) -> Object:
        """Write the status and return the Job. Raises StatusError if the Job changed meanwhile."""
        written = await self._client.update(job, subresource="status")
        await self._jobs.wait_for_write(written)
        return written

    async def _record_end(self, job: Object, ending: EndCondition) -> None:
        if ending[0] == "FailureTarget":
            await self._events.warning(job, ending[1], ending[2])
            return
        wanted = job["spec"].get("completions")
        if wanted is not None and job["status"].get("succeeded", 0) > wanted:
            text = "Too many succeeded pods running after completion count reached"
            await self._events.warning(job, "TooManySucceededPods", text)
        await self._events.normal(job, "Completed", "Job completed")


_ENV: Object = {
    "name": "JOB_COMPLETION_INDEX",
    "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{indexes.INDEX}']"}},
}


def _kept(before: list[Object], after: list[Object]) -> int:
    uids = {pod["metadata"]["uid"] for pod in after}
    return sum(pod["metadata"]["uid"] in uids for pod in before)


def _counts(job: Object, failed: Object | None) -> dict[str, str]:
    """Return the annotations of a new pod with the failures of its index
    (addIndexFailureCountAnnotation)."""
    if failed is None:
        return {indexes.FAILURES: "0"}
    counted, ignored = indexes.failures(failed), indexes.ignored_failures(failed)
    if policies.verdict_of(job, failed).counts:
        counted += 1
    else:
        ignored += 1
    return {indexes.FAILURES: str(counted)} | (
        {indexes.IGNORED_FAILURES_ANNOTATION: str(ignored)} if ignored else {}
    )


def _set(status: Object, kind: str, value: str, reason: str, message: str, *, now: str) -> None:
    """Set a condition of a Job, in place. A new condition is added at the end."""
    made: Object = {
        "type": kind,
        "status": value,
        "lastProbeTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }
    conditions: list[Object] = status.setdefault("conditions", [])
    for index, present in enumerate(conditions):
        if present["type"] == kind:
            conditions[index] = made
            return
    conditions.append(made)


def _count(
    status: Object, uncounted: dict[str, list[str]], tracked: set[str], *, is_indexed: bool
) -> bool:
    """Count the pods without a finalizer, in place (cleanUncountedPodsWithoutFinalizers).

    Returns whether a pod was counted.
    """
    changed = False
    for member, uids in uncounted.items():
        done = [uid for uid in uids if uid not in tracked]
        if not done:
            continue
        changed = True
        uncounted[member] = [uid for uid in uids if uid in tracked]
        if member == "failed" or not is_indexed:
            status[member] = status.get(member, 0) + len(done)
    return changed


def _write_indexes(status: Object, job_state: State) -> None:
    if not job_state.is_indexed:
        return
    if job_state.done_indexes:
        status["succeeded"] = len(job_state.done_indexes)
        status["completedIndexes"] = indexes.text_of(job_state.done_indexes)
    if job_state.per_index is not None:
        status["failedIndexes"] = indexes.text_of(job_state.failed_indexes)


def _write_uncounted(status: Object, uncounted: dict[str, list[str]]) -> None:
    status["uncountedTerminatedPods"] = {name: uids for name, uids in uncounted.items() if uids}


def add(cluster: Cluster) -> None:
    """Run the Job controller."""
    controller = JobController(cluster)
    cluster.manager.add(
        Controller(
            NAME,
            writes.patient(controller.reconcile),
            (Watch(JOBS, controller.of_job), Watch(PODS, controller.of_pod)),
            sums_up=True,
        )
    )
