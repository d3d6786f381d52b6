"""Deletes finished Jobs and their pods after ttlSecondsAfterFinished.

Follows pkg/controller/ttlafterfinished.
"""

from datetime import timedelta

from inkube.controllers.workloads import pods, writes
from inkube.controllers.workloads.cluster import Cluster
from inkube.controllers.workloads.jobs import state
from inkube.controllers.workloads.jobs.controller import JOBS
from inkube.kinds import Controller, Key, Result, Watch

NAME = "ttl-after-finished-controller"


def add(cluster: Cluster) -> None:
    """Run the controller that deletes finished Jobs."""
    jobs, client, clock = cluster.informer(JOBS), cluster.client(), cluster.clock

    async def reconcile(key: Key) -> Result | None:
        job = jobs.get(key)
        ttl = job["spec"].get("ttlSecondsAfterFinished") if job is not None else None
        if job is None or ttl is None or pods.is_deleting(job) or not state.is_finished(job):
            return None
        ended = max(
            pods.moment(found["lastTransitionTime"])
            for kind in state.FINAL.values()
            if (found := pods.condition(job, kind)) is not None and found["status"] == "True"
        )
        left = (ended + timedelta(seconds=ttl) - clock.now()).total_seconds()
        if left > 0:
            return Result(requeue_after=left)
        await writes.delete(client, JOBS, job, {"propagationPolicy": "Foreground"})
        return None

    cluster.manager.add(Controller(NAME, reconcile, (Watch(JOBS),)))
