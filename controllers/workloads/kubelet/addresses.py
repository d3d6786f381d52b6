"""Addresses of nodes and pods. An address is unique while its object exists."""

from collections import deque
from collections.abc import Iterable
from ipaddress import IPv4Network

from inkube.client import Object
from inkube.kinds import Change

PODS = IPv4Network("10.244.0.0/16")
NODES = IPv4Network("172.18.0.0/16")
FIRST_NODE = "kube-node-"


class _Pool:
    """Addresses of a network by uid or name. Unused addresses are assigned before released ones."""

    def __init__(self, network: IPv4Network, *, skip: int) -> None:
        self._network = network
        self._next = skip
        self._free: deque[str] = deque()
        self._by_owner: dict[str, str] = {}
        self._assigned: set[str] = set()

    def get(self, owner: str) -> str | None:
        """Return the owner's address, if it has one."""
        return self._by_owner.get(owner)

    def of(self, owner: str) -> str:
        """Return the owner's address, assigned at the first call. Raises ValueError if all are in
        use."""
        found = self._by_owner.get(owner)
        return found if found is not None else self.assign(owner, self._unused())

    def assign(self, owner: str, address: str) -> str:
        """Record an address of the owner, and return it."""
        self._by_owner[owner] = address
        self._assigned.add(address)
        return address

    def release(self, owner: str) -> None:
        """Release the address of a deleted owner."""
        address = self._by_owner.pop(owner, None)
        if address is not None:
            self._assigned.discard(address)
            self._free.append(address)

    def _unused(self) -> str:
        while self._next < self._network.num_addresses - 1:
            address = str(self._network[self._next])
            self._next += 1
            if address not in self._assigned:
                return address
        while self._free:
            address = self._free.popleft()
            if address not in self._assigned:
                return address
        raise ValueError(f"every address of {self._network} is in use")


class Addresses:
    """The addresses of all nodes and pods (`stages.functions.Addresses`). It
    follows their changes."""

    def __init__(self) -> None:
        self._pods = _Pool(PODS, skip=2)
        self._nodes = _Pool(NODES, skip=256)

    def node(self, name: str) -> str:
        """Return the address of a node; that of `kube-node-1` is 172.18.0.11."""
        number = name.removeprefix(FIRST_NODE)
        if number != name and number.isdecimal() and 0 < int(number) < 240:
            return str(NODES[10 + int(number)])
        return self._nodes.of(name)

    def pod(self, node: str, *, host_network: bool, uid: str) -> str:
        """Return the address of a pod: its own, or its node's."""
        return self.node(node) if host_network else self._pods.of(uid)

    def on_pod_change(self, change: Change) -> None:
        """Record the address that a pod already has, or release that of a deleted pod."""
        own = change.object["metadata"].get("uid", "")
        if change.new is None:
            self._pods.release(own)
            return
        address = (change.new.get("status") or {}).get("podIP")
        if address and self._pods.get(own) is None and not _uses_host_network(change.new):
            self._pods.assign(own, address)

    def on_node_change(self, change: Change) -> None:
        """Record the address that a node already has, or release that of a deleted node."""
        name = change.object["metadata"]["name"]
        if change.new is None:
            self._nodes.release(name)
            return
        for address in _internal(change.new):
            if self._nodes.get(name) is None and not name.startswith(FIRST_NODE):
                self._nodes.assign(name, address)


def _uses_host_network(pod: Object) -> bool:
    return bool((pod.get("spec") or {}).get("hostNetwork"))


def _internal(node: Object) -> Iterable[str]:
    for one in (node.get("status") or {}).get("addresses") or ():
        if one.get("type") == "InternalIP":
            yield one["address"]
