"""The scheduler's state of all nodes and their pods."""

from collections.abc import Iterator

from inkube.client import Object
from inkube.controllers.workloads.capacity import Node, PodOnNode


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
