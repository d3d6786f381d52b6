"""CronJobs: a Job at each time of a schedule.

Follows pkg/controller/cronjob/cronjob_controllerv2.go. After several missed times, only the latest
gets a Job, if its deadline is not over.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from inkube.client import Object
from inkube.controllers.workloads import pods, templates, writes
from inkube.controllers.workloads.claims import controller_of, named_owners
from inkube.controllers.workloads.cluster import Cluster
from inkube.controllers.workloads.jobs import state
from inkube.controllers.workloads.jobs.controller import JOBS
from inkube.formats import controller_reference, cron, format_time
from inkube.kinds import Change, Controller, Key, Reason, Result, StatusError, Watch

NAME = "cronjob-controller"
CRON_JOBS = "batch/v1/cronjobs"
_SCHEDULED_ANNOTATION = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_SCHEDULE_MARGIN = timedelta(milliseconds=100)
"""The delay of a Job after its scheduled time (nextScheduleDelta)."""
_MAX_MISSED = 100


class Times(NamedTuple):
    """The latest missed time, the number of missed times, and the next time."""

    latest: datetime | None
    missed: int
    next: datetime | None


def times(schedule: cron.Schedule, zone: tzinfo, since: datetime, now: datetime) -> Times:
    """Return the latest missed time between `since` and `now`, the number of missed times, and the
    next time (mostRecentScheduleTime).

    Stops to count after `_MAX_MISSED` missed times, and then searches the latest one from `now`
    backward.
    """
    latest, missed = None, 0
    upcoming = schedule.after(since, zone)
    while upcoming is not None and upcoming <= now and missed <= _MAX_MISSED:
        latest, missed = upcoming, missed + 1
        upcoming = schedule.after(upcoming, zone)
    if upcoming is None or upcoming > now:
        return Times(latest, missed, upcoming)
    step = timedelta(hours=1)
    while True:  # too many: search the last time before now in growing steps
        found = schedule.after(now - step, zone)
        if found is not None and found <= now:
            break
        step *= 4
    while found is not None and found <= now:
        latest = found
        found = schedule.after(found, zone)
    return Times(latest, missed, found)


class CronJobController:
    """Creates the Jobs of one CronJob at a time, and deletes old ones."""

    def __init__(self, cluster: Cluster) -> None:
        self._clock = cluster.clock
        self._client = cluster.client()
        self._events = cluster.recorder(NAME)
        self._cron_jobs = cluster.informer(CRON_JOBS)
        self._jobs = cluster.informer(JOBS)
        self._jobs_by_owner = cluster.by_controller(JOBS)

    def of_job(self, change: Change) -> Iterator[Key]:
        """Yield the CronJob of a Job."""
        yield from named_owners(change, "CronJob")

    async def reconcile(self, key: Key) -> Result | None:
        """Record the ends of Jobs, delete old Jobs, and create the Job that is due."""
        cached = self._cron_jobs.get(key)
        if cached is None:
            return None
        owner = templates.copy(cached)
        found = [
            job
            for each in self._jobs_by_owner.keys(owner["metadata"]["uid"])
            if (job := self._jobs.get(each)) is not None
        ]
        before = templates.copy(owner.get("status") or {})
        await self._note_ends(owner, found)
        await self._clean_up(owner, found)
        wait = await self._run(owner, found)
        if (owner.get("status") or {}) != before:
            await writes.update(self._client, owner, subresource="status")
            await self._cron_jobs.caught_up()
        return Result(requeue_after=wait) if wait else None

    async def _note_ends(self, owner: Object, jobs: list[Object]) -> None:
        status: Object = owner.setdefault("status", {})
        active = {each["uid"]: each for each in status.get("active") or ()}
        there = {job["metadata"]["uid"]: job for job in jobs}
        for uid, job in there.items():
            name = job["metadata"]["name"]
            if uid not in active:
                if not state.is_finished(job):
                    text = f"Saw a job that the controller did not create or forgot: {name}"
                    await self._events.warning(owner, "UnexpectedJob", text)
            elif state.is_finished(job):
                del active[uid]
                kind = _end(job)
                text = f"Saw completed job: {name}, condition: {kind}"
                await self._events.normal(owner, "SawCompletedJob", text)
            ended = (job.get("status") or {}).get("completionTime")
            if ended and _end(job) == "Complete":
                last = status.get("lastSuccessfulTime")
                if last is None or pods.moment(last) < pods.moment(ended):
                    status["lastSuccessfulTime"] = ended
        for uid in [uid for uid in active if uid not in there]:
            name = active.pop(uid)["name"]
            text = f"Active job went missing: {name}"
            await self._events.normal(owner, "MissingJob", text)
        _set_active(status, list(active.values()))

    async def _clean_up(self, owner: Object, jobs: list[Object]) -> None:
        """Delete the oldest finished Jobs beyond the limits."""
        limits = (("Complete", "successfulJobsHistoryLimit"), ("Failed", "failedJobsHistoryLimit"))
        for kind, member in limits:
            limit = owner["spec"].get(member)
            ended = [job for job in jobs if _end(job) == kind and not pods.is_deleting(job)]
            if limit is None or len(ended) <= limit:
                continue
            ended.sort(key=lambda job: ((job["status"].get("startTime") or ""), _name(job)))
            for job in ended[: len(ended) - limit]:
                await self._delete(owner, job)

    async def _run(self, owner: Object, jobs: list[Object]) -> float:
        """Create the Job that is due. Returns seconds until the next check (0: no check)."""
        spec = owner["spec"]
        if pods.is_deleting(owner) or spec.get("suspend"):
            return 0.0
        zone = await self._zone(owner)
        if zone is None:
            return 0.0
        now = self._clock.now()
        try:
            schedule = cron.parse(spec["schedule"])
        except ValueError as error:
            text = f"unparseable schedule: {spec['schedule']!r}: {error}"
            await self._events.warning(owner, "UnparseableSchedule", text)
            return 0.0
        since, deadline = _since(owner, now), spec.get("startingDeadlineSeconds")
        found_times = times(schedule, zone, since, now)
        wait = 0.0
        if found_times.next is not None:
            wait = max((found_times.next + _SCHEDULE_MARGIN - now).total_seconds(), 0.001)
        due = found_times.latest
        if due is None:
            return wait
        if found_times.missed > _MAX_MISSED:
            text = f"too many missed start times: {found_times.missed}. Set or decrease "
            text += ".spec.startingDeadlineSeconds or check clock skew"
            await self._events.warning(owner, "TooManyMissedTimes", text)
        if deadline is not None and due + timedelta(seconds=deadline) < now:
            text = f"Missed scheduled time to start a job: {_rfc1123(due)}"
            await self._events.warning(owner, "MissSchedule", text)
            return wait
        await self._start(owner, jobs, due)
        return wait

    async def _zone(self, owner: Object) -> tzinfo | None:
        name = owner["spec"].get("timeZone") or "UTC"
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError):
            text = f'invalid timeZone: "{name}": unknown time zone {name}'
            await self._events.warning(owner, "UnknownTimeZone", text)
            return None

    async def _start(self, owner: Object, jobs: list[Object], scheduled_time: datetime) -> None:
        status, spec = owner["status"], owner["spec"]
        policy, active = spec.get("concurrencyPolicy"), status.get("active") or []
        name = f"{owner['metadata']['name']}-{int(scheduled_time.timestamp()) // 60}"
        if any(each["name"] == name for each in active) or (
            status.get("lastScheduleTime") == format_time(scheduled_time)
        ):
            return
        if policy == "Forbid" and active:
            text = "Not starting job because prior execution is running and concurrency policy is"
            await self._events.normal(owner, "JobAlreadyActive", f"{text} Forbid")
            return
        if policy == "Replace":
            for job in jobs:
                if any(each["uid"] == job["metadata"]["uid"] for each in active):
                    await self._delete(owner, job)
        try:
            job = await self._client.create(_job(owner, name, scheduled_time))
        except StatusError as error:
            if error.reason != Reason.ALREADY_EXISTS:
                if not writes.is_ending(error):
                    text = f"Error creating job: {error.message}"
                    await self._events.warning(owner, "FailedCreate", text)
                raise
            job = await self._client.get(JOBS, name, owner["metadata"]["namespace"])
            if (controller_of(job) or {}).get("uid") != owner["metadata"]["uid"]:
                return  # of somebody else, who updates the status
            # else of an earlier attempt that ended before its status was written
        else:
            await self._jobs.wait_for_write(job)
            await self._events.normal(owner, "SuccessfulCreate", f"Created job {name}")
        meta = job["metadata"]
        made = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": name,
            "namespace": meta["namespace"],
            "resourceVersion": meta["resourceVersion"],
            "uid": meta["uid"],
        }
        _set_active(status, [*(status.get("active") or ()), made])
        status["lastScheduleTime"] = format_time(scheduled_time)

    async def _delete(self, owner: Object, job: Object) -> None:
        if await writes.delete(self._client, JOBS, job, {"propagationPolicy": "Background"}):
            status = owner["status"]
            uid = job["metadata"]["uid"]
            left = [each for each in status.get("active") or () if each["uid"] != uid]
            _set_active(status, left)
            await self._events.normal(owner, "SuccessfulDelete", f"Deleted job {_name(job)}")


def _name(job: Object) -> str:
    return str(job["metadata"]["name"])


def _end(job: Object) -> str:
    """Return `Complete` or `Failed` for a finished Job, or "" while the Job runs."""
    for kind in state.FINAL.values():
        found = pods.condition(job, kind)
        if found is not None and found["status"] == "True":
            return kind
    return ""


def _set_active(status: Object, active: list[Object]) -> None:
    if active:
        status["active"] = active
    else:
        status.pop("active", None)


def _since(owner: Object, now: datetime) -> datetime:
    """Return the time since which missed times count: the last schedule, the creation or the
    deadline."""
    last = (owner.get("status") or {}).get("lastScheduleTime")
    since = pods.moment(last or owner["metadata"]["creationTimestamp"])
    deadline = owner["spec"].get("startingDeadlineSeconds")
    return max(since, now - timedelta(seconds=deadline)) if deadline is not None else since


def _rfc1123(moment: datetime) -> str:
    return moment.strftime("%a, %d %b %Y %H:%M:%S %z")


def _job(owner: Object, name: str, scheduled_time: datetime) -> Object:
    """Return the Job for a scheduled time (getJobFromTemplate2)."""
    template = templates.copy(owner["spec"]["jobTemplate"])
    meta = template.get("metadata") or {}
    annotations = {
        **(meta.get("annotations") or {}),
        _SCHEDULED_ANNOTATION: _timestamp(scheduled_time),
    }
    metadata: Object = {
        "name": name,
        "namespace": owner["metadata"]["namespace"],
        "annotations": annotations,
        "ownerReferences": [controller_reference(owner)],
    }
    if meta.get("labels"):
        metadata["labels"] = meta["labels"]
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template["spec"]}


def _timestamp(scheduled_time: datetime) -> str:
    """Return a time in RFC 3339, in the time zone of the schedule."""
    text = scheduled_time.isoformat(timespec="seconds")
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


def add(cluster: Cluster) -> None:
    """Run the controller of CronJobs."""
    controller = CronJobController(cluster)
    watches = (Watch(CRON_JOBS), Watch(JOBS, controller.of_job))
    cluster.manager.add(Controller(NAME, writes.patient(controller.reconcile), watches))
