"""Maintains the ConfigMap with the authority in every namespace. `core.accounts` has the accounts.

Follows pkg/controller/certificates/rootcacertpublisher.
"""

from collections.abc import Callable, Iterator

from inkube.client import Object, ignoring
from inkube.controllers.core import NAMESPACES, accounts
from inkube.controllers.workloads import writes
from inkube.controllers.workloads.cluster import Cluster
from inkube.kinds import Change, Controller, Key, Reason, Watch

CONFIG_MAPS = "v1/configmaps"
_ROOT = "kube-root-ca.crt"
_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
    "guaranteed across distributions of Kubernetes clusters."
)


def _named(name: str) -> Callable[[Change], Iterator[Key]]:
    """Return a function from a change of an object with this name to the key of its namespace."""

    def keys(change: Change) -> Iterator[Key]:
        metadata = change.object["metadata"]
        if metadata["name"] == name:
            yield Key("", metadata["namespace"])

    return keys


def _is_active(namespace: Object | None) -> bool:
    phase = ((namespace or {}).get("status") or {}).get("phase", "Active")
    return namespace is not None and phase == "Active"


async def _ensure(cluster: Cluster, body: Object) -> None:
    with ignoring(Reason.ALREADY_EXISTS):
        await cluster.client().create(body)


def add_accounts(cluster: Cluster) -> None:
    """Run serviceaccount-controller, as servers with the admission plugin ServiceAccount do."""
    accounts.add(cluster.manager, cluster.client())


def add_authority(cluster: Cluster) -> None:
    """Run root-ca-certificate-publisher-controller."""
    namespaces, maps = cluster.informer(NAMESPACES), cluster.informer(CONFIG_MAPS)

    async def reconcile(key: Key) -> None:
        if not _is_active(namespaces.get(key)):
            return
        data = {"ca.crt": cluster.server.authority()}
        metadata: Object = {
            "name": _ROOT,
            "namespace": key.name,
            "annotations": {"kubernetes.io/description": _DESCRIPTION},
        }
        body: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        present = maps.get(Key(key.name, _ROOT))
        if present is None:
            await _ensure(cluster, body)
            return
        meta = present["metadata"]
        told = (meta.get("annotations") or {}).get("kubernetes.io/description")
        if present.get("data") != data or told != _DESCRIPTION:
            own = {**(meta.get("annotations") or {}), **metadata["annotations"]}
            changed = {**present, "data": data, "metadata": {**meta, "annotations": own}}
            await writes.update(cluster.client(), changed)

    watches = (Watch(NAMESPACES), Watch(CONFIG_MAPS, _named(_ROOT)))
    cluster.manager.add(
        Controller("root-ca-certificate-publisher-controller", writes.patient(reconcile), watches)
    )
