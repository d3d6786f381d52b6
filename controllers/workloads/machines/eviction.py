"""Deletes pods on nodes with NoExecute taints that they do not tolerate, or no longer tolerate.

Follows pkg/controller/tainteviction.
"""

from collections.abc import Iterator

from inkube.client import Object
from inkube.controllers.workloads import matching, pods, writes
from inkube.controllers.workloads.cluster import NODES, PODS, Cluster
from inkube.formats import format_time
from inkube.kinds import Change, Controller, Key, Result, Watch

NAME = "taint-eviction-controller"
_MESSAGE = "Taint manager: deleting due to NoExecute taint"


def stay(pod: Object, taints: list[Object]) -> float | None:
    """Return seconds for which the pod tolerates the taints; None: no limit
    (GetMinTolerationTime)."""
    tolerations = pod["spec"].get("tolerations") or []
    seconds: list[float] = []
    for taint in taints:
        fitting = [each for each in tolerations if matching.is_tolerated(each, taint)]
        if not fitting:
            return 0.0
        seconds += [
            max(float(each["tolerationSeconds"]), 0.0)
            for each in fitting
            if each.get("tolerationSeconds") is not None
        ]
    return min(seconds, default=None)


class Eviction:
    """Deletes one pod at a time, when the time for which it tolerates the taints is over."""

    def __init__(self, cluster: Cluster) -> None:
        self._clock = cluster.clock
        self._client = cluster.client()
        self._events = cluster.recorder(NAME)
        self._nodes = cluster.informer(NODES)
        self._pods = cluster.informer(PODS)
        self._pods_on = cluster.pods_by_node()
        self._since: dict[str, float] = {}
        """uid of a pod that tolerates its taints for a time → the monotonic time of the start."""

    def of_node(self, change: Change) -> Iterator[Key]:
        """Yield the pods on a node whose taints changed."""
        before = _taints(change.old) if change.old is not None else []
        after = _taints(change.new) if change.new is not None else []
        if before != after:
            yield from self._pods_on.keys(change.object["metadata"]["name"])

    def of_pod(self, change: Change) -> Iterator[Key]:
        """Yield the pod, if it is new on a node with taints, or has other tolerations."""
        old, new = change.old, change.new
        if new is None:
            self._since.pop(change.object["metadata"]["uid"], None)
            return
        name = new["spec"].get("nodeName")
        if not name or (
            old is not None
            and old["spec"].get("nodeName") == name
            and old["spec"].get("tolerations") == new["spec"].get("tolerations")
        ):
            return
        node = self._nodes.get(Key("", name))
        if node is not None and _taints(node):
            yield Key.of(new)

    async def reconcile(self, key: Key) -> Result | None:
        """Delete one pod, now or when its time is over, or cancel its deletion."""
        pod = self._pods.get(key)
        if pod is None or pods.is_deleting(pod):
            return None
        uid, now = pod["metadata"]["uid"], self._clock.monotonic()
        node = self._nodes.get(Key("", pod["spec"].get("nodeName") or ""))
        taints = _taints(node) if node is not None else []
        left = stay(pod, taints) if taints else None
        if left is None:
            if self._since.pop(uid, None) is not None:
                text = f"Cancelling deletion of Pod {key.namespace}/{key.name}"
                await self._events.normal(pod, "TaintManagerEviction", text)
            return None
        if left > 0:
            left -= now - self._since.setdefault(uid, now)
            if left > 0:
                return Result(requeue_after=left)
        text = f"Marking for deletion Pod {key.namespace}/{key.name}"
        await self._events.normal(pod, "TaintManagerEviction", text)
        moment = format_time(self._clock.now())
        status = pods.disrupted(pod, "DeletionByTaintManager", _MESSAGE, moment)
        await writes.write_status(self._client, pod, status)
        await writes.delete(self._client, PODS, pod)
        self._since.pop(uid, None)
        return None


def _taints(node: Object) -> list[Object]:
    taints = node["spec"].get("taints") or ()
    return [taint for taint in taints if taint.get("effect") == "NoExecute"]


def add(cluster: Cluster) -> None:
    """Run the controller that deletes pods on nodes with taints that they do not tolerate."""
    eviction = Eviction(cluster)
    watches = (Watch(NODES, eviction.of_node), Watch(PODS, eviction.of_pod))
    cluster.manager.add(Controller(NAME, eviction.reconcile, watches))
