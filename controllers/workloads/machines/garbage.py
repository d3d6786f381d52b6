"""Deletes pods on deleted nodes, unscheduled pods in deletion, and too many terminal pods.

Follows pkg/controller/podgc, which checks every 20 s. Here, changes cause the checks.
"""

from collections.abc import Iterator

from inkube.client import Object
from inkube.controllers.workloads import pods, writes
from inkube.controllers.workloads.cluster import NODES, PODS, Cluster
from inkube.formats import format_time
from inkube.kinds import Change, Controller, Key, Result, Watch

NAME = "pod-garbage-collector-controller"
_QUARANTINE = 40.0
"""Seconds between the deletion of a node and the deletion of its pods."""
_ENDED_AT_MOST = 12_500
_MESSAGE = "PodGC: node no longer exists"


class PodGarbage:
    """Deletes pods, one key at a time, and records missing nodes and terminal pods."""

    def __init__(self, cluster: Cluster) -> None:
        self._clock = cluster.clock
        self._client = cluster.client()
        self._nodes = cluster.informer(NODES)
        self._pods = cluster.informer(PODS)
        self._pods_on = cluster.pods_by_node()
        self._gone: dict[str, float] = {}
        """Name of a missing node → monotonic time since which it is missing."""
        self._ended: dict[Key, None] = {}
        """Terminal pods, in the order in which they ended."""

    def of_node(self, change: Change) -> Iterator[Key]:
        """Yield the pods of a deleted node."""
        name = change.object["metadata"]["name"]
        if change.new is not None:
            self._gone.pop(name, None)
        else:
            yield from self._pods_on.keys(name)

    def of_pod(self, change: Change) -> Iterator[Key]:
        """Yield the pod if it can be garbage, and the oldest terminal pod if too many exist."""
        key, new = Key.of(change.object), change.new
        if new is None:
            self._ended.pop(key, None)
            return
        if pods.is_terminal(new):
            self._ended.setdefault(key)
            if len(self._ended) > _ENDED_AT_MOST:
                yield next(iter(self._ended))
        name = new["spec"].get("nodeName")
        is_orphan = name and self._nodes.is_synced and self._nodes.get(Key("", name)) is None
        if is_orphan or (not name and pods.is_deleting(new)):
            yield key

    async def reconcile(self, key: Key) -> Result | None:
        """Delete one pod without a grace period if it is garbage."""
        pod = self._pods.get(key)
        if pod is None:
            return None
        name = pod["spec"].get("nodeName")
        if not name:
            if pods.is_deleting(pod):
                await self._delete(pod)
            return None
        if self._nodes.get(Key("", name)) is None:
            now = self._clock.monotonic()
            left = self._gone.setdefault(name, now) + _QUARANTINE - now
            if left > 0:
                return Result(requeue_after=left)
            await self._delete(pod, orphaned=True)
        elif len(self._ended) > _ENDED_AT_MOST and key in self._ended:
            await self._delete(pod)
        return None

    async def _delete(self, pod: Object, *, orphaned: bool = False) -> None:
        if not pods.is_terminal(pod):
            now = format_time(self._clock.now())
            status: Object = pod.get("status") or {}
            if orphaned:
                status = pods.disrupted(pod, "DeletionByPodGC", _MESSAGE, now)
            status = {**status, "phase": "Failed"}
            if pod["metadata"].get("generation"):
                status["observedGeneration"] = pod["metadata"]["generation"]
            await writes.write_status(self._client, pod, status)
        await writes.delete(self._client, PODS, pod, {"gracePeriodSeconds": 0})


def add(cluster: Cluster) -> None:
    """Run the controller that deletes pods of deleted nodes and too many terminal pods."""
    garbage = PodGarbage(cluster)
    watches = (Watch(NODES, garbage.of_node), Watch(PODS, garbage.of_pod))
    cluster.manager.add(Controller(NAME, garbage.reconcile, watches))
