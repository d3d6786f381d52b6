"""Leases of simulated nodes, in `kube-node-lease`.

A kubelet renews its lease every 10 s. Here, a lease is renewed every 30 s, shortly before it
expires, so that many idle nodes cost little. A test can move the clock, so the age of a lease does
not show that a simulated node is lost: use `Cluster.is_looked_after`.
"""

from collections.abc import Callable, Iterable

from inkube.client import Object
from inkube.controllers.workloads.cluster import NODES, Cluster
from inkube.formats import format_micro_time
from inkube.kinds import Change, Controller, Key, Result, StatusError, Watch

LEASES = "coordination.k8s.io/v1/leases"
NAMESPACE = "kube-node-lease"
DURATION = 40
"""`leaseDurationSeconds` of the kubelet."""
RENEW = 30.0


class Leases:
    """Creates and renews the lease of each simulated node."""

    def __init__(self, cluster: Cluster, manages: Callable[[Object], bool]) -> None:
        self._cluster = cluster
        self._client = cluster.client("kubelet")
        self._manages = manages

    def add(self) -> None:
        """Add the controller to the manager."""
        watch = Watch(NODES, keys=self._keys)
        self._cluster.manager.add(Controller("kubelet-leases", self._reconcile, (watch,)))

    def _keys(self, change: Change) -> Iterable[Key]:
        """Return the node of a change if it became simulated."""
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
            "renewTime": format_micro_time(self._cluster.clock.now()),
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
