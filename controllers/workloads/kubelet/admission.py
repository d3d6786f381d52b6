"""The admission of pods to a simulated node: a kubelet rejects a bound pod that does not fit.

A scheduler only binds pods that fit, but pods can also name their node, and other schedulers can be
wrong. Follows pkg/kubelet/lifecycle/predicate.go and Kubelet.rejectPod.
"""

from typing import NamedTuple

from inkube.client import Object
from inkube.controllers.workloads import matching, pods
from inkube.controllers.workloads.capacity import CPU, PODS, Amounts, Node, PodOnNode, clash
from inkube.controllers.workloads.cluster import NODES, Cluster
from inkube.controllers.workloads.devices import extended
from inkube.controllers.workloads.kubelet import preemption
from inkube.kinds import Change, Key

_STANDARD = (CPU, "memory", "ephemeral-storage")
_NO_EXECUTE = ("NoExecute",)


class Rejection(NamedTuple):
    """The reason and the message of a pod that a kubelet rejects."""

    reason: str
    message: str


class Admission:
    """The admitted pods of each simulated node. Its memory is bounded by the number of pods."""

    def __init__(self, cluster: Cluster) -> None:
        self._nodes_by_name = cluster.informer(NODES)
        self._nodes: dict[str, Node] = {}
        self._admitted: dict[str, str] = {}
        """uid of an admitted pod → the name of its node."""

    def on_pod_change(self, change: Change) -> None:
        """Release what a pod used that ended, and record a pod that ran before this server."""
        if change.old is not None and (change.new is None or pods.is_terminal(change.new)):
            self._release(change.old["metadata"]["uid"])
        pod = change.new
        if pod is None or pods.is_terminal(pod) or not (pod.get("status") or {}).get("startTime"):
            return
        if pod["metadata"]["uid"] not in self._admitted and pod["spec"].get("nodeName"):
            self._admit(PodOnNode(pod), pod["spec"]["nodeName"])

    def rejection(self, pod: Object) -> Rejection | None:
        """Return why the node of a new pod rejects it, or None after its admission."""
        uid, name = pod["metadata"]["uid"], pod["spec"]["nodeName"]
        found = self._nodes_by_name.get(Key("", name))
        is_new = not (pod.get("status") or {}).get("startTime") and not pods.is_terminal(pod)
        if found is None or not is_new or uid in self._admitted or pods.is_deleting(pod):
            return None
        node = self._node(name)
        node.update(found)
        placed = PodOnNode(pod)
        why = _lacking(placed, node) or _mismatch(placed, node)
        if why is None:
            self._admit(placed, name)
        return why

    def victims(self, pod: Object) -> list[Object]:
        """Return the pods that end so that a rejected critical pod fits; none if the pod is not
        critical, or resources are not all that it lacks."""
        placed, node = PodOnNode(pod), self._node(pod["spec"]["nodeName"])
        if not preemption.is_critical(placed) or _mismatch(placed, node) is not None:
            return []
        chosen = preemption.victims(placed, node.pods.values(), _shortfall(placed, node))
        return [each.pod for each in chosen]

    def release(self, pod: Object) -> None:
        """Release what a pod used that ends now."""
        self._release(pod["metadata"]["uid"])

    def admitted(self, pod: Object) -> Object | None:
        """Return an admitted pod with the resources that it got, or None."""
        uid = pod["metadata"]["uid"]
        name = self._admitted.get(uid)
        return None if name is None else self._nodes[name].pods[uid].pod

    def allocated(self, pod: Object) -> Object:
        """Return the pod with the resources that its node gave it, which a resize can change."""
        return self.admitted(pod) or pod

    def resize(self, pod: Object) -> Rejection | None:
        """Give an admitted pod the resources of its newest state. Returns why that is impossible,
        on this node (Infeasible) or now (Deferred)."""
        placed = PodOnNode(pod)
        node = self._nodes[self._admitted[placed.uid]]
        current = self._nodes_by_name.get(Key("", node.name))
        if current is not None:
            node.update(current)
        for name in ("memory", CPU):
            wanted, room = placed.requests.get(name, 0), node.allocatable.get(name, 0)
            if wanted > room:
                text = f"{name}, requested: {wanted}, capacity: {room}"
                return Rejection("Infeasible", f"Node didn't have enough capacity: {text}")
        lacking = _lacking(placed, node.without({placed.uid}))
        if lacking is not None:
            return lacking._replace(reason="Deferred")
        node.add(placed)
        return None

    def _node(self, name: str) -> Node:
        node = self._nodes.get(name)
        if node is None:
            node = self._nodes[name] = Node({"metadata": {"name": name}})
        return node

    def _admit(self, placed: PodOnNode, name: str) -> None:
        self._admitted[placed.uid] = name
        self._node(name).add(placed)

    def _release(self, uid: str) -> None:
        name = self._admitted.pop(uid, None)
        if name is None:
            return
        node = self._nodes[name]
        node.remove(uid)
        if not node.pods:
            del self._nodes[name]


def _lacking(placed: PodOnNode, node: Node) -> Rejection | None:
    """Return the first resource that the node lacks. Extended resources that it does not have at
    all are not its concern (removeMissingExtendedResources). A node that has reported nothing yet
    lacks nothing."""
    for name in _shortfall(placed, node):
        value = 1 if name == PODS else placed.requests[name]
        capacity = node.allocatable.get(name, 0)
        return Rejection(
            f"OutOf{name}",
            f"Node didn't have enough resource: {name}, requested: {value}, "
            f"used: {_used(node, name)}, capacity: {capacity}",
        )
    return None


def _shortfall(placed: PodOnNode, node: Node) -> Amounts:
    """Return how much of each resource the node lacks for a pod, in the order of the checks."""
    if not node.allocatable:
        return {}
    wanted: Amounts = {PODS: 1}
    wanted |= {name: placed.requests.get(name, 0) for name in _STANDARD}
    from_devices = extended.backed(placed.pod)
    wanted |= {
        name: value
        for name, value in placed.requests.items()
        if name in node.allocatable and name not in from_devices
    }
    lacking = {
        name: value - (node.allocatable.get(name, 0) - _used(node, name))
        for name, value in wanted.items()
        if value
    }
    return {name: value for name, value in lacking.items() if value > 0}


def _used(node: Node, name: str) -> int:
    return len(node.pods) if name == PODS else node.requested[name]


def _mismatch(placed: PodOnNode, node: Node) -> Rejection | None:
    """Return the first predicate that fails, apart from resources."""
    spec = placed.pod["spec"]
    if not matching.fits_node(spec, node.object):
        return _failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
    taken = [port for port, count in node.ports.items() if count > 0]
    if any(clash(mine, other) for mine in placed.ports for other in taken):
        return _failed("NodePorts", "node(s) didn't have free ports for the requested pod ports")
    if matching.untolerated_taint(spec.get("tolerations") or [], node.taints, _NO_EXECUTE):
        return _failed("TaintToleration", "node(s) had untolerated taint(s)")
    return None


def _failed(predicate: str, why: str) -> Rejection:
    return Rejection(predicate, f"Predicate {predicate} failed: {why}")
