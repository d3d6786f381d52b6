"""Sets taints of nodes by their conditions, and marks nodes without heartbeats.

A simulated kubelet's node always counts as alive, even if a test moves the clock far ahead.
Follows pkg/controller/nodelifecycle/node_lifecycle_controller.go.
"""

from collections.abc import Iterator

from inkube.client import Object
from inkube.controllers.workloads import pods, templates, writes
from inkube.controllers.workloads.cluster import NODES, PODS, Cluster
from inkube.formats import format_time
from inkube.kinds import Change, Controller, Key, Result, Watch

NAME = "node-lifecycle-controller"
_COMPONENT = "node-controller"
LEASES = "coordination.k8s.io/v1/leases"
_LEASES_IN = "kube-node-lease"
_GRACE = 50.0
"""Seconds without a heartbeat after which the conditions of a node become Unknown."""
_STARTUP = 60.0
_PREFIX = "node.kubernetes.io/"
_PRESSURES = {
    "MemoryPressure": "memory-pressure",
    "DiskPressure": "disk-pressure",
    "PIDPressure": "pid-pressure",
    "NetworkUnavailable": "network-unavailable",
}
_WATCHED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
_OURS = frozenset(
    {
        *((_PREFIX + name, "NoSchedule") for name in _PRESSURES.values()),
        (_PREFIX + "unschedulable", "NoSchedule"),
        *(
            (_PREFIX + name, effect)
            for name in ("not-ready", "unreachable")
            for effect in ("NoSchedule", "NoExecute")
        ),
    }
)
_STOPPED = "Kubelet stopped posting node status."
_NEVER = "Kubelet never posted node status."


def wanted_taints(node: Object) -> list[tuple[str, str]]:
    """Return the taints of this controller that the node must have, (key, effect), in order."""
    found = []
    ready = pods.condition(node, "Ready")
    if ready is not None and ready["status"] != "True":
        name = "not-ready" if ready["status"] == "False" else "unreachable"
        found += [(_PREFIX + name, "NoExecute"), (_PREFIX + name, "NoSchedule")]
    for kind, name in _PRESSURES.items():
        condition = pods.condition(node, kind)
        if condition is not None and condition["status"] == "True":
            found.append((_PREFIX + name, "NoSchedule"))
    if node["spec"].get("unschedulable"):
        found.append((_PREFIX + "unschedulable", "NoSchedule"))
    return found


class Lifecycle:
    """Sets the taints of one node at a time, and marks nodes without heartbeats."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._clock = cluster.clock
        self._client = cluster.client()
        self._events = cluster.recorder(_COMPONENT)
        self._nodes = cluster.informer(NODES)
        self._leases = cluster.informer(LEASES)
        self._pods = cluster.informer(PODS)
        self._pods_on = cluster.pods_by_node()
        self._seen: dict[str, tuple[object, float]] = {}
        """uid → the newest heartbeat, and the monotonic time of its arrival."""

    def of_lease(self, change: Change) -> Iterator[Key]:
        """Yield the node of a lease."""
        if change.object["metadata"]["namespace"] == _LEASES_IN:
            yield Key("", change.object["metadata"]["name"])

    async def reconcile(self, key: Key) -> Result | None:
        """Register one node, check its heartbeats and set its taints."""
        node = self._nodes.get(key)
        if node is None:
            return None
        uid = node["metadata"]["uid"]
        if uid not in self._seen:
            live = {each["metadata"]["uid"] for each in self._nodes.items()}
            self._seen = {old: seen for old, seen in self._seen.items() if old in live}
            text = f"Node {key.name} event: Registered Node {key.name} in Controller"
            await self._events.normal(node, "RegisteredNode", text)
        left = self._left(node)
        if left is not None and left <= 0:
            changed = await self._mark_silent(node)
            if changed is None:
                return None
            node, left = changed, _GRACE
        await self._taint(node)
        return Result(requeue_after=left) if left is not None else None

    def _left(self, node: Object) -> float | None:
        """Return seconds until the node counts as lost, or None for a node of a
        simulated kubelet."""
        uid, now = node["metadata"]["uid"], self._clock.monotonic()
        lease = self._leases.get(Key(_LEASES_IN, node["metadata"]["name"]))
        renewed = ((lease or {}).get("spec") or {}).get("renewTime")
        beats = [each.get("lastHeartbeatTime") for each in _conditions(node)]
        sign = (renewed, *beats)
        known = self._seen.get(uid)
        if known is None or known[0] != sign:
            known = self._seen[uid] = (sign, now)
        if self._cluster.is_looked_after(node):
            return None
        grace = _GRACE if beats or renewed else _STARTUP
        return known[1] + grace - now

    async def _mark_silent(self, node: Object) -> Object | None:
        """Set the conditions of a node to Unknown, and Ready of its pods to False.

        Returns the node; None if it was deleted or changed meanwhile.
        """
        ready = pods.condition(node, "Ready")
        if ready is None or ready["status"] != "Unknown":
            now = format_time(self._clock.now())
            changed = templates.copy(node)
            status = changed.setdefault("status", {})
            for kind in _WATCHED:
                _make_unknown(status, kind, now)
            written = await writes.update(self._client, changed, subresource="status")
            if written is None:
                return None
            node = written
            text = f"Node {node['metadata']['name']} status is now: NodeNotReady"
            await self._events.normal(node, "NodeNotReady", text)
        await self._unready_pods(node["metadata"]["name"])
        return node

    async def _unready_pods(self, name: str) -> None:
        """Set Ready of the pods on a node to False (MarkPodsNotReady)."""
        now = format_time(self._clock.now())
        for key in self._pods_on.keys(name):
            pod = self._pods.get(key)
            if pod is None or not pods.is_ready(pod):
                continue
            changed = templates.copy(pod)
            for each in changed["status"]["conditions"]:
                if each["type"] == "Ready":
                    each |= {"status": "False", "lastTransitionTime": now}
                    if pod["metadata"].get("generation"):
                        each["observedGeneration"] = pod["metadata"]["generation"]
            if await writes.update(self._client, changed, subresource="status") is not None:
                await self._events.warning(pod, "NodeNotReady", "Node is not ready")

    async def _taint(self, node: Object) -> None:
        present = node["spec"].get("taints") or []
        wanted = wanted_taints(node)
        if pods.condition(node, "Ready") is None:  # admission's taint stays until Ready exists
            wanted += [(_PREFIX + "not-ready", "NoSchedule")]
        kept = [
            taint
            for taint in present
            if (taint["key"], taint["effect"]) not in _OURS
            or (taint["key"], taint["effect"]) in wanted
        ]
        has = {(taint["key"], taint["effect"]) for taint in present}
        now = format_time(self._clock.now())
        added = [
            {"key": name, "effect": effect, "timeAdded": now}
            for name, effect in wanted
            if (name, effect) not in has
        ]
        if kept != present or added:
            taints = kept + added
            changed = templates.copy(node)
            changed["spec"].pop("taints", None)
            if taints:
                changed["spec"]["taints"] = taints
            await writes.update(self._client, changed)


def _conditions(node: Object) -> list[Object]:
    found: list[Object] = (node.get("status") or {}).get("conditions") or []
    return found


def _make_unknown(status: Object, kind: str, now: str) -> None:
    conditions: list[Object] = status.setdefault("conditions", [])
    for each in conditions:
        if each["type"] == kind:
            each |= {
                "status": "Unknown",
                "reason": "NodeStatusUnknown",
                "message": _STOPPED,
                "lastTransitionTime": now,
            }
            return
    conditions.append(
        {
            "type": kind,
            "status": "Unknown",
            "reason": "NodeStatusNeverUpdated",
            "message": _NEVER,
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        }
    )


def add(cluster: Cluster) -> None:
    """Run the controller that taints nodes by their conditions."""
    lifecycle = Lifecycle(cluster)
    watches = (Watch(NODES), Watch(LEASES, lifecycle.of_lease), Watch(PODS, lambda change: ()))
    cluster.manager.add(Controller(NAME, lifecycle.reconcile, watches))
