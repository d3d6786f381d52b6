"""What the controllers of workloads share: clients by name, caches with indexes, time and chance.

Made once by `workloads.add`; `Outside` is what the composition root gives of the server.
"""

import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from inkube.controllers.client import Client, Object
from inkube.controllers.core import Kind
from inkube.controllers.events import Recorder
from inkube.controllers.informer import Index, Informer
from inkube.controllers.manager import Manager
from inkube.controllers.workloads.configuration import Workloads
from inkube.controllers.workloads.rosters import Rosters

PODS = "v1/pods"
NODES = "v1/nodes"
MANAGER = "kube-controller-manager"


@dataclass(frozen=True, slots=True)
class Outside:
    """What controllers need of the server beside a client."""

    client_as: Callable[[str], Client]
    """The in-process client whose writes are owned by that field manager."""
    bind: Callable[[Object, str], Awaitable[None]]
    """Puts a pod on the node of that name, as POST to its `binding` does."""
    issue_token: Callable[[Object, Object], str]
    """A token without end for a ServiceAccount, bound to a Secret."""
    authority: Callable[[], str]
    """The authority of the server's certificate, as PEM."""
    sign: Callable[[Object], str]
    """The certificate of a CertificateSigningRequest, as base64 of PEM. Raises ValueError with what
    its signer refuses."""
    find_kind: Callable[[str, str], Kind | None]
    """(apiVersion, kind) → what serves it now."""
    serve_metrics: Callable[[], None]
    """Serves metrics.k8s.io from now on."""


class Usage(Protocol):
    """What pods use, as the simulated kubelets measure it."""

    def of(self, pod: Object) -> dict[str, dict[str, float]] | None:
        """Container → resource → amount (cores, bytes); None when nothing is measured."""
        ...


class Cluster:
    """What all controllers of workloads share: clients, informers, indexes.

    Bounded by what the informers hold.
    """

    def __init__(self, manager: Manager, config: Workloads, outside: Outside) -> None:
        self.manager = manager
        self.config = config
        self.outside = outside
        self.clock = manager.clock
        self.random = random.Random(config.seed)  # noqa: S311 # jitter needs no secrecy
        self.usage: Usage | None = None
        """Set by the simulated kubelets when metrics are served."""
        self.containers: Any = None
        """Who answers for logs and commands (`kubelet.containers.Containers`), set by kubelets."""
        self.is_looked_after: Callable[[Object], bool] = lambda node: False
        """Whether a simulated kubelet cares for a node, so that its lease needs no look."""
        self._clients: dict[str, Client] = {}

    def client(self, manager: str = MANAGER) -> Client:
        """The client that writes as this field manager."""
        if manager not in self._clients:
            self._clients[manager] = self.outside.client_as(manager)
        return self._clients[manager]

    def recorder(self, component: str, manager: str = MANAGER) -> Recorder:
        """The recorder of a component's events."""
        return Recorder(self.client(manager), self.clock, component)

    def informer(self, resource: str) -> Informer:
        """The shared cache of a resource."""
        return self.manager.informers.of(resource)

    def owned(self, resource: str) -> Index:
        """The objects of a resource by the uid of their controller; "" for those without one."""
        return self.informer(resource).index("controller", _controller_uid)

    def rosters(self) -> Rosters:
        """The pods of each controller, counted."""
        return self.informer(PODS).summary("rosters", Rosters, Rosters)

    def pods_on(self) -> Index:
        """Pods by the node they are bound to."""
        return self.informer(PODS).index("node", _node)

    def in_namespace(self, resource: str) -> Index:
        """The objects of a resource by namespace."""
        return self.informer(resource).index("namespace", _namespace)


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
