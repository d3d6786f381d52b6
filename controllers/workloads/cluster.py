"""The shared parts of the controllers of workloads: clients, caches with indexes, clock, random.

The module creates them once for each server.
"""

import random
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from inkube.client import Client, Object
from inkube.controllers.workloads.configuration import Workloads
from inkube.controllers.workloads.rosters import Rosters
from inkube.kinds import Index, Informer, Manager, Recorder, ServerAccess

PODS = "v1/pods"
NODES = "v1/nodes"
MANAGER = "kube-controller-manager"


class Usage(Protocol):
    """The usage of pods, as the simulated kubelets measure it."""

    def of(self, pod: Object) -> dict[str, dict[str, float]] | None:
        """Return container → resource → amount (cores, bytes), or None for a pod without measured
        usage."""
        ...


class Cluster:
    """The shared parts of all controllers of workloads: clients, informers, indexes.

    The memory of the indexes is bounded by the objects of the informers.
    """

    def __init__(self, manager: Manager, config: Workloads, server: ServerAccess) -> None:
        self.manager = manager
        self.config = config
        self.server = server
        self.clock = manager.clock
        self.random = random.Random(config.seed)  # noqa: S311 # jitter needs no secrecy
        self.usage: Usage | None = None
        """The simulated kubelets set it when metrics are served."""
        self.containers: Any = None
        """`kubelet.containers.Containers`, for logs and commands. The simulated kubelets set it."""
        self.is_looked_after: Callable[[Object], bool] = lambda node: False
        """Whether a simulated kubelet serves a node, so that its lease does not matter."""
        self._clients: dict[str, Client] = {}

    def runs(self, name: str) -> bool:
        """Return whether the controller with this name runs."""
        return self.config.runs(name)

    def client(self, manager: str = MANAGER) -> Client:
        """Return the client for the writes of a field manager."""
        if manager not in self._clients:
            self._clients[manager] = self.server.client_as(manager)
        return self._clients[manager]

    def recorder(self, component: str, manager: str = MANAGER) -> Recorder:
        """Return the recorder of a component's events."""
        names = self.manager.event_names
        return Recorder(self.client(manager), self.clock, names, component)

    def informer(self, resource: str) -> Informer:
        """Return the shared cache of a resource."""
        return self.manager.informers.of(resource)

    def by_controller(self, resource: str) -> Index:
        """Return the objects of a resource by the uid of their controller. Objects without a
        controller are at `none/NAMESPACE`."""
        return self.informer(resource).index(_controller_uid)

    def claimable(self, resource: str) -> Callable[[Object], list[Object]]:
        """Return a function of an owner: the objects that it controls, and those in its namespace
        without a controller."""
        cache, by_owner = self.informer(resource), self.by_controller(resource)

        def find(owner: Object) -> list[Object]:
            meta = owner["metadata"]
            keys = by_owner.keys(meta["uid"]) + by_owner.keys(f"none/{meta['namespace']}")
            return [found for found in map(cache.get, keys) if found is not None]

        return find

    def rosters(self) -> Rosters:
        """Return the rosters of pods by controller."""
        return self.informer(PODS).summary("rosters", Rosters, Rosters)

    def pods_by_node(self) -> Index:
        """Return the pods by the name of the node to which they are bound."""
        return self.informer(PODS).index(_node)

    def in_namespace(self, resource: str) -> Index:
        """Return the objects of a resource by namespace."""
        return self.informer(resource).index(_namespace)


def _controller_uid(obj: Object) -> Iterable[str]:
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            yield reference.get("uid", "")
            return
    yield f"none/{obj['metadata'].get('namespace', '')}"


def _node(pod: Object) -> Iterable[str]:
    name = (pod.get("spec") or {}).get("nodeName")
    return (name,) if name else ()


def _namespace(obj: Object) -> Iterable[str]:
    return (obj["metadata"].get("namespace", ""),)
