"""Leases of simulated nodes, in `kube-node-lease`.

A kubelet renews every 10 s; here a lease is renewed just before it would be over, which many idle
nodes hardly feel. Nobody may conclude from a lease's age that a simulated node is lost after a test
has moved the clock: `Cluster.is_looked_after` tells.
"""

from collections.abc import Callable, Iterable

from inkube.controllers.client import Object
from inkube.controllers.informer import Change, Key
from inkube.controllers.manager import Controller, Result, Watch
from inkube.controllers.workloads.cluster import NODES, Cluster
from inkube.schemas import meta
from inkube.schemas.status import StatusError

LEASES = "coordination.k8s.io/v1/leases"
NAMESPACE = "kube-node-lease"
DURATION = 40
"""`leaseDurationSeconds` of the kubelet."""
RENEW = 30.0


class Leases:
    """Makes and renews the lease of each node that is looked after."""

    def __init__(self, cluster: Cluster, manages: Callable[[Object], bool]) -> None:
        self._cluster = cluster
        self._client = cluster.client("kubelet")
        self._manages = manages

    def add(self) -> None:
        """Let the manager run it."""
        watch = Watch(NODES, keys=self._keys)
        self._cluster.manager.add(Controller("kubelet-leases", self._reconcile, (watch,)))

    def _keys(self, change: Change) -> Iterable[Key]:
        """A node that came, or whose annotation changed."""
        before = change.old is not None and self._manages(change.old)
        after = change.new is not None and self._manages(change.new)
        return (Key.of(change.object),) if after and not before else ()

    async def _reconcile(self, key: Key) -> Result | None:
        node = self._cluster.informer(NODES).get(key)
        if node is None or not self._manages(node):
            return None
        own = node["metadata"]
        spec = {
            "holderIdentity": own["name"],
            "leaseDurationSeconds": DURATION,
            "renewTime": meta.format_micro_time(self._cluster.clock.now()),
        }
        owner = {"apiVersion": "v1", "kind": "Node", "name": own["name"], "uid": own["uid"]}
        patch = {"metadata": {"ownerReferences": [owner]}, "spec": spec}
        try:
            await self._client.patch(LEASES, own["name"], NAMESPACE, patch=patch)
        except StatusError as error:
            if error.code != 404:
                raise
            await self._client.create({
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {
                    "name": own["name"],
                    "namespace": NAMESPACE,
                    "ownerReferences": [owner],
                },
                "spec": spec,
            })  # fmt: skip
        return Result(requeue_after=RENEW)
