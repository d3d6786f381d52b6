"""The capacity of nodes: their resources, the used amounts and host ports, their pods.

The scheduler and the kubelets count alike. Follows pkg/scheduler/framework/types.go (NodeInfo) and
pkg/api/v1/resource.
"""

from collections import Counter
from collections.abc import Iterable

from inkube.client import Object
from inkube.controllers.workloads.claims import controller_of
from inkube.formats import caches, quantity

PODS = "pods"
CPU = "cpu"
_ALWAYS = "Always"
_ANY_ADDRESS = "0.0.0.0"  # noqa: S104 # as upstream says all
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
                    address = port.get("hostIP") or _ANY_ADDRESS
                    found.add((address, port.get("protocol") or "TCP", port["hostPort"]))
    return frozenset(found)


def clash(mine: tuple[str, str, int], other: tuple[str, str, int]) -> bool:
    """Return whether two host ports exclude each other on a node."""
    same_address = _ANY_ADDRESS in (mine[0], other[0]) or mine[0] == other[0]
    return same_address and mine[1:] == other[1:]


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
