"""The state of a Job and its pods: counted and new pods, indexes, the Job's end. Pure.

Follows syncJob of pkg/controller/job/job_controller.go.
"""

from datetime import datetime, timedelta

from inkube.client import Object
from inkube.controllers.workloads import pods
from inkube.controllers.workloads.jobs import indexes, policies
from inkube.kinds import Backoff

FINALIZER = "batch.kubernetes.io/job-tracking"
RETRY = Backoff(first=10.0, longest=600.0)
FINAL = {"SuccessCriteriaMet": "Complete", "FailureTarget": "Failed"}
EndCondition = tuple[str, str, str]
"""The type, reason and message of an interim condition, a key of FINAL."""


def is_finished(job: Object) -> bool:
    """Return whether the Job is Complete or Failed."""
    return any(
        found is not None and found["status"] == "True"
        for found in (pods.condition(job, kind) for kind in FINAL.values())
    )


def is_tracked(pod: Object) -> bool:
    """Return whether the pod has the finalizer, so that the Job must still count it."""
    return FINALIZER in (pod["metadata"].get("finalizers") or ())


def finished_at(pod: Object) -> datetime:
    """Return the end of the pod's last container. If no container ended, return the time of its
    deletion, of the last transition of Ready, or of its creation."""
    status = pod.get("status") or {}
    ends = [
        pods.moment(ended["finishedAt"])
        for each in status.get("containerStatuses") or ()
        if (ended := (each.get("state") or {}).get("terminated")) and ended.get("finishedAt")
    ]
    if ends:
        return max(ends)
    ready = pods.condition(pod, "Ready")
    told = ready.get("lastTransitionTime") if ready is not None else None
    meta = pod["metadata"]
    return pods.moment(meta.get("deletionTimestamp") or told or meta["creationTimestamp"])


class State:
    """The pods of a Job by state, and the numbers and decisions about the Job."""

    def __init__(self, job: Object, owned_pods: list[Object], now: datetime) -> None:
        self.job = job
        self.spec: Object = job["spec"]
        self.status: Object = job.get("status") or {}
        self.pods = owned_pods
        self.now = now
        self.is_indexed = self.spec.get("completionMode") == "Indexed"
        self.completions: int | None = self.spec.get("completions")
        self.parallelism: int = self.spec.get("parallelism", 1)
        self.is_suspended = bool(self.spec.get("suspend"))
        self.waits_for_failed = self.spec.get("podReplacementPolicy") == "Failed"
        self.per_index: int | None = self.spec.get("backoffLimitPerIndex")
        uncounted = self.status.get("uncountedTerminatedPods") or {}
        self.uncounted_succeeded = set(uncounted.get("succeeded") or ())
        self.uncounted_failed = set(uncounted.get("failed") or ())
        self.active = [pod for pod in owned_pods if pods.is_active(pod)]
        self.terminating = [pod for pod in owned_pods if pods.is_terminating(pod)]
        self.failed_pods = [pod for pod in owned_pods if self.is_failed(pod)]
        self._count()

    def is_failed(self, pod: Object) -> bool:
        """Return whether the pod failed, or is in deletion with podReplacementPolicy other than
        Failed (isPodFailed)."""
        if pods.phase(pod) == "Failed":
            return True
        if self.waits_for_failed:
            return False
        return pods.is_deleting(pod) and pods.phase(pod) != "Succeeded"

    def _is_new(self, pod: Object) -> bool:
        uid = pod["metadata"]["uid"]
        return is_tracked(pod) and not (
            uid in self.uncounted_succeeded or uid in self.uncounted_failed
        )

    def _count(self) -> None:
        self.new_succeeded = [
            pod for pod in self.pods if pods.phase(pod) == "Succeeded" and self._is_new(pod)
        ]
        self.new_failed = [pod for pod in self.failed_pods if self._is_new(pod)]
        self.failed: int = (
            self.status.get("failed", 0)
            + len(self.uncounted_failed)
            + sum(policies.verdict_of(self.job, pod).counts for pod in self.new_failed)
        )
        self.done_indexes: set[int] = set()
        self.failed_indexes: set[int] = set()
        if self.is_indexed and self.completions is not None:
            self._count_indexes(self.completions)
            self.succeeded = len(self.done_indexes)
        else:
            self.succeeded = (
                self.status.get("succeeded", 0)
                + len(self.uncounted_succeeded)
                + len(self.new_succeeded)
            )

    def _count_indexes(self, completions: int) -> None:
        self.done_indexes = indexes.parse(self.status.get("completedIndexes", ""), completions)
        for pod in self.pods:
            index = indexes.of(pod)
            if pods.phase(pod) == "Succeeded" and index is not None and index < completions:
                self.done_indexes.add(index)
        if self.per_index is None:
            return
        self.failed_indexes = indexes.parse(self.status.get("failedIndexes", ""), completions)
        for pod in self.failed_pods:
            index = indexes.of(pod)
            if index is None or index in self.done_indexes or index >= completions:
                continue
            verdict = policies.verdict_of(self.job, pod)
            spent = verdict.counts and indexes.failures(pod) >= self.per_index
            if spent or verdict.action == "FailIndex":
                self.failed_indexes.add(index)

    def end_condition(self) -> EndCondition | None:
        """Return the interim condition with which the Job ends, or None while the Job continues."""
        for kind in FINAL:
            found = pods.condition(self.job, kind)
            if found is not None and found["status"] == "True":
                return kind, found["reason"], found["message"]
        failure = self._failure()
        if failure is not None:
            return "FailureTarget", *failure
        met = policies.success_message(self.job, self.done_indexes)
        if met:
            return "SuccessCriteriaMet", "SuccessPolicy", met
        return None

    def _failure(self) -> tuple[str, str] | None:
        for pod in self.failed_pods:
            message = policies.verdict_of(self.job, pod).message
            if message:
                return "PodFailurePolicy", message
        if self._is_past_limit():
            return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        left = self.seconds_left()
        if left is not None and left <= 0:
            return "DeadlineExceeded", "Job was active longer than specified deadline"
        if self.per_index is not None and self.completions is not None and self.failed_indexes:
            most = self.spec.get("maxFailedIndexes")
            if most is not None and len(self.failed_indexes) > most:
                return (
                    "MaxFailedIndexesExceeded",
                    "Job has exceeded the specified maximal number of failed indexes",
                )
            if len(self.failed_indexes) + len(self.done_indexes) >= self.completions:
                return "FailedIndexes", "Job has failed indexes"
        return None

    def _is_past_limit(self) -> bool:
        limit: int = self.spec.get("backoffLimit", 6)
        before = self.status.get("failed", 0)
        if self.failed > before and len(self.active) != self.parallelism and self.failed > limit:
            return True
        if self.spec["template"]["spec"].get("restartPolicy") != "OnFailure":
            return False
        restarts: int = sum(
            each.get("restartCount", 0)
            for pod in self.active
            for member in ("containerStatuses", "initContainerStatuses")
            for each in (pod.get("status") or {}).get(member) or ()
        )
        return restarts > 0 if limit == 0 else restarts >= limit

    def seconds_left(self) -> float | None:
        """Return seconds until activeDeadlineSeconds end, or None if the Job has no deadline, has
        no start time or is suspended."""
        deadline, start = self.spec.get("activeDeadlineSeconds"), self.status.get("startTime")
        if deadline is None or start is None or self.is_suspended:
            return None
        return (pods.moment(start) + timedelta(seconds=deadline) - self.now).total_seconds()

    def is_complete(self, active: int) -> bool:
        """Return whether enough pods succeeded and `active`, the number of active pods, is 0."""
        wanted = self.completions
        enough = self.succeeded > 0 if wanted is None else self.succeeded >= wanted
        return enough and active == 0

    def wanted_active(self) -> int:
        """Return the number of pods that must be active now."""
        if self.is_suspended:
            return 0
        if self.completions is None:
            return len(self.active) if self.succeeded > 0 else self.parallelism
        left = self.completions - self.succeeded - len(self.failed_indexes)
        return max(min(left, self.parallelism), 0)

    def retry_in(self) -> float:
        """Return seconds by which failures delay new pods; 0 without a delay."""
        if self.per_index is not None or not self.failed_pods:
            return 0.0
        last = max(
            (finished_at(pod) for pod in self.pods if pods.phase(pod) == "Succeeded"), default=None
        )
        times = [finished_at(pod) for pod in self.failed_pods]
        times = [time for time in times if last is None or time > last]
        return self._left(len(times), max(times, default=self.now))

    def _left(self, failures: int, last: datetime) -> float:
        if not failures:
            return 0.0
        end = last + timedelta(seconds=RETRY.delay(failures))
        return max((end - self.now).total_seconds(), 0.0)

    # --- indexes

    def last_failed(self) -> dict[int, Object]:
        """Return index → its last failed pod. The next pod of the index continues its count."""
        found: dict[int, Object] = {}
        for pod in self.failed_pods:
            index = indexes.of(pod)
            if index is None:
                continue
            known = found.get(index)
            if known is None or _tries(pod) > _tries(known):
                found[index] = pod
        return found

    def pending(self, count: int) -> tuple[list[int], float]:
        """Return the first `count` indexes that need a pod now, and seconds until a delayed index
        needs one (0: no such index)."""
        assert self.completions is not None, "an Indexed Job has completions"
        busy = {indexes.of(pod) for pod in self.active} | self.done_indexes | self.failed_indexes
        if self.waits_for_failed:
            busy |= {indexes.of(pod) for pod in self.terminating}
        last = self.last_failed() if self.per_index is not None else {}
        chosen: list[int] = []
        wait = 0.0
        for index in range(self.completions):
            if len(chosen) == count:
                break
            if index in busy:
                continue
            failed = last.get(index)
            left = self._left(_tries(failed) + 1, finished_at(failed)) if failed else 0.0
            if left <= 0:
                chosen.append(index)
            else:
                wait = min(wait, left) if wait else left
        return chosen, wait

    def surplus(self, active: list[Object]) -> list[Object]:
        """Return the active pods with a finished, invalid or duplicate index."""
        if not self.is_indexed or self.completions is None:
            return []
        seen: set[int] = set()
        found = []
        for pod in active:
            index = indexes.of(pod)
            gone = index is None or index >= self.completions or index in seen
            if gone or index in self.done_indexes | self.failed_indexes:
                found.append(pod)
            elif index is not None:
                seen.add(index)
        return found

    def may_be_counted(self, pod: Object, *, is_ending: bool) -> bool:
        """Return whether the pod can be counted, and its finalizer removed (canRemoveFinalizer)."""
        if "deletionTimestamp" in self.job["metadata"] or is_ending:
            return True
        if pods.phase(pod) == "Succeeded":
            return True
        if not self.is_failed(pod):
            return False
        index = indexes.of(pod)
        if self.per_index is None or index is None:
            return True
        if index in self.done_indexes | self.failed_indexes:
            return True
        replaced = any(indexes.of(each) == index for each in self.active)
        return replaced or self.last_failed().get(index) is not pod


def _tries(pod: Object) -> int:
    return indexes.failures(pod) + indexes.ignored_failures(pod)
