"""The scheduler's state of nodes: their resources, the used amounts, their pods.

Follows pkg/scheduler/framework/types.go (NodeInfo) and pkg/api/v1/resource.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from inkube.client import Object
from inkube.controllers.workloads.claims import controller_of
from inkube.formats import caches, quantity

PODS = "pods"
CPU = "cpu"
_ALWAYS = "Always"
Amounts = dict[str, int]
"""Resource → amount: thousandths of cores for cpu, otherwise bytes or units."""


@caches.of_texts(4096)
def amount(name: str, text: str) -> int:
    """Return the quantity of a resource as an integer, rounded up; cpu in thousandths of cores."""
    found = quantity.parse(text)
    value, scale = found.value, found.scale + (3 if name == CPU else 0)
    return int(value * 10**scale) if scale >= 0 else int(-(-value // 10**-scale))


def amounts(texts: Object | None) -> Amounts:
    """Return the quantities of resources as integers (`amount`)."""
    return {name: amount(name, str(text)) for name, text in (texts or {}).items()}


def requests(spec: Object) -> Amounts:
    """Return the requests of a pod: the larger one of the sum of its containers, and the maximum
    during its init containers.

    Requests of the pod itself replace them. The overhead is added.
    """
    total: Counter[str] = Counter()
    for container in spec.get("containers") or ():
        total.update(_requests(container))
    beside: Counter[str] = Counter()
    most: Amounts = {}
    for container in spec.get("initContainers") or ():
        asked = _requests(container)
        if container.get("restartPolicy") == _ALWAYS:
            beside.update(asked)
            at_once = Counter(beside)
        else:
            at_once = Counter(beside)
            at_once.update(asked)
        for name, value in at_once.items():
            most[name] = max(most.get(name, 0), value)
    total.update(beside)
    for name, value in most.items():
        total[name] = max(total[name], value)
    for name, value in amounts((spec.get("resources") or {}).get("requests")).items():
        total[name] = value
    total.update(amounts(spec.get("overhead")))
    return dict(total)


def _requests(container: Object) -> Amounts:
    return amounts((container.get("resources") or {}).get("requests"))


def ports(spec: Object) -> frozenset[tuple[str, str, int]]:
    """Return the host ports of a pod as (address, protocol, port)."""
    found = set()
    for member in ("containers", "initContainers"):
        for container in spec.get(member) or ():
            if member == "initContainers" and container.get("restartPolicy") != _ALWAYS:
                continue
            for port in container.get("ports") or ():
                if port.get("hostPort"):
                    address = port.get("hostIP") or "0.0.0.0"  # noqa: S104 # as upstream says all
                    found.add((address, port.get("protocol") or "TCP", port["hostPort"]))
    return frozenset(found)


class PodOnNode:
    """A pod on a node, or a pod that will be on it, with the data for the filters."""

    __slots__ = (
        "anti_affinity", "labels", "namespace", "owner", "pod", "ports", "priority", "requests",
        "uid",
    )  # fmt: skip

    def __init__(self, pod: Object) -> None:
        meta, spec = pod["metadata"], pod["spec"]
        self.pod = pod
        self.uid: str = meta["uid"]
        self.namespace: str = meta["namespace"]
        self.labels: dict[str, str] = meta.get("labels") or {}
        owner = controller_of(pod)
        self.owner: str = owner["uid"] if owner is not None else ""
        self.priority: int = spec.get("priority") or 0
        self.requests = requests(spec)
        self.ports = ports(spec)
        affinity = (spec.get("affinity") or {}).get("podAntiAffinity") or {}
        self.anti_affinity: list[Object] = (
            affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or []
        )


class Node:
    """A node with its pods."""

    __slots__ = ("allocatable", "labels", "name", "object", "owners", "pods", "ports", "requested")

    def __init__(self, obj: Object, pods: Iterable[PodOnNode] = ()) -> None:
        self.pods: dict[str, PodOnNode] = {}
        self.requested: Counter[str] = Counter()
        self.ports: Counter[tuple[str, str, int]] = Counter()
        self.owners: Counter[str] = Counter()
        self.update(obj)
        for placed in pods:
            self.add(placed)

    def update(self, obj: Object) -> None:
        """Set the current state of the node."""
        self.object = obj
        self.name: str = obj["metadata"]["name"]
        self.labels: dict[str, str] = obj["metadata"].get("labels") or {}
        status = obj.get("status") or {}
        self.allocatable = amounts(status.get("allocatable") or status.get("capacity"))

    def add(self, pod: PodOnNode) -> None:
        """Add a pod to the node, or replace its earlier state."""
        self.remove(pod.uid)
        self.pods[pod.uid] = pod
        self.requested.update(pod.requests)
        self.ports.update(pod.ports)
        if pod.owner:
            self.owners[pod.owner] += 1

    def remove(self, uid: str) -> None:
        """Remove a pod from the node, if the node has it."""
        placed = self.pods.pop(uid, None)
        if placed is None:
            return
        self.requested.subtract(placed.requests)
        self.ports.subtract(placed.ports)
        if placed.owner:
            self.owners[placed.owner] -= 1
            if not self.owners[placed.owner]:
                del self.owners[placed.owner]

    def without(self, uids: set[str]) -> "Node":
        """Return a copy of the node without some pods."""
        return Node(self.object, (each for uid, each in self.pods.items() if uid not in uids))

    def with_pods(self, others: Iterable[PodOnNode]) -> "Node":
        """Return a copy of the node with further pods."""
        return Node(self.object, (*self.pods.values(), *others))

    @property
    def taints(self) -> list[Object]:
        """The taints of the node."""
        return self.object["spec"].get("taints") or []


class Nodes:
    """All nodes, sorted by name, and the node of each pod."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._node_of_pod: dict[str, str] = {}
        self._pods_without_node: dict[str, dict[str, PodOnNode]] = {}
        """Name of an unknown node → the pods on it, by uid."""
        self._ordered: list[Node] | None = None
        self._exclusive: dict[str, PodOnNode] = {}
        """Pods with required anti-affinity, by uid. The filters check these few for every pod."""
        self._nominated: dict[str, tuple[PodOnNode, str]] = {}
        """uid of a waiting pod → the pod, and the node on which room was made for it."""

    def nominate(self, pod: PodOnNode, name: str) -> None:
        """Keep room for a waiting pod on a node; withdraw its nomination if `name` is ""."""
        if name:
            self._nominated[pod.uid] = pod, name
        else:
            self._nominated.pop(pod.uid, None)

    def withdraw(self, uid: str) -> None:
        """Drop the nomination of a pod that is placed, deleted or waits no longer."""
        self._nominated.pop(uid, None)

    def promised(self, name: str, but: PodOnNode) -> list[PodOnNode]:
        """Return the pods nominated to a node whose room another pod must leave: those with at
        least its priority (addNominatedPods of pkg/scheduler/framework/runtime)."""
        return [
            pod
            for pod, node in self._nominated.values()
            if node == name and pod.priority >= but.priority and pod.uid != but.uid
        ]

    def outranked(self, name: str, by: PodOnNode) -> list[PodOnNode]:
        """Return the pods nominated to a node that have a lower priority than another pod."""
        return [
            pod
            for pod, node in self._nominated.values()
            if node == name and pod.priority < by.priority
        ]

    def exclusive(self) -> Iterator[tuple[Node, PodOnNode]]:
        """Yield the pods with required anti-affinity on known nodes, with their nodes."""
        for uid, placed in self._exclusive.items():
            node = self._nodes.get(self._node_of_pod[uid])
            if node is not None:
                yield node, placed

    def __iter__(self) -> Iterator[Node]:
        if self._ordered is None:
            self._ordered = [self._nodes[name] for name in sorted(self._nodes)]
        return iter(self._ordered)

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, name: str) -> Node | None:
        """Return the node with a name, or None if it is unknown."""
        return self._nodes.get(name)

    def update(self, obj: Object) -> None:
        """Add a node, or set its current state."""
        name = obj["metadata"]["name"]
        known = self._nodes.get(name)
        if known is not None:
            known.update(obj)
            return
        self._nodes[name] = Node(obj, self._pods_without_node.pop(name, {}).values())
        self._ordered = None

    def forget(self, name: str) -> None:
        """Remove a deleted node, but not its pods, which still exist."""
        gone = self._nodes.pop(name, None)
        if gone is not None:
            self._ordered = None
            if gone.pods:
                self._pods_without_node[name] = gone.pods

    def add_pod(self, pod: PodOnNode, name: str) -> None:
        """Record that a pod is on a node, or will be soon."""
        before = self._node_of_pod.get(pod.uid)
        if before is not None and before != name:
            self.remove(pod.uid)
        self._node_of_pod[pod.uid] = name
        if pod.anti_affinity:
            self._exclusive[pod.uid] = pod
        node = self._nodes.get(name)
        if node is not None:
            node.add(pod)
        else:
            self._pods_without_node.setdefault(name, {})[pod.uid] = pod

    def refresh(self, pod: Object) -> None:
        """Record the newest state of a pod whose node, labels and requests are the same."""
        uid = pod["metadata"]["uid"]
        name = self._node_of_pod.get(uid)
        if name is None:
            return
        node = self._nodes.get(name)
        placed = (node.pods if node is not None else self._pods_without_node.get(name, {})).get(uid)
        if placed is not None:
            placed.pod = pod

    def remove(self, uid: str) -> None:
        """Remove a pod that no longer uses resources."""
        name = self._node_of_pod.pop(uid, None)
        if name is None:
            return
        self._exclusive.pop(uid, None)
        node = self._nodes.get(name)
        if node is not None:
            node.remove(uid)
            return
        early = self._pods_without_node.get(name, {})
        early.pop(uid, None)
        if not early:
            self._pods_without_node.pop(name, None)
