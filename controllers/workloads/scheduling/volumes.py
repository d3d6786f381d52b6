"""Volumes for the scheduler: whether claims are bound, and whether their volumes can be on a node.

For claims of a class with WaitForFirstConsumer, the scheduler starts the binding: it reserves a
volume, or writes the node for the provisioner. The pod waits until the claim is bound. Follows
pkg/scheduler/framework/plugins/volumebinding.
"""

from collections.abc import Callable, Iterator

from inkube.client import Client, Object
from inkube.controllers.core import claims_of
from inkube.controllers.workloads import templates, writes
from inkube.controllers.workloads.cluster import Cluster
from inkube.controllers.workloads.volumes import CLAIMS, CLASSES, VOLUMES, matches
from inkube.controllers.workloads.volumes.matches import SELECTED_NODE, annotations
from inkube.kinds import Key

_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_NONE_FITS = "node(s) didn't find available persistent volumes to bind"
_ELSEWHERE = "node(s) didn't match PersistentVolume's node affinity"
_UNBOUND = "pod has unbound immediate PersistentVolumeClaims"


class Volumes:
    """Reads claims, volumes and classes from caches, and writes reservations."""

    def __init__(self, cluster: Cluster, client: Client) -> None:
        self._client = client
        self._claims = cluster.informer(CLAIMS)
        self._volumes = cluster.informer(VOLUMES)
        self._classes = cluster.informer(CLASSES)

    def problem(self, pod: Object) -> str:
        """Return the reason why the claims prevent scheduling on all nodes, or ""
        if they do not."""
        unbound = False
        for name, claim in self._of(pod):
            if claim is None:
                return f'persistentvolumeclaim "{name}" not found'
            if "deletionTimestamp" in claim["metadata"]:
                return f'persistentvolumeclaim "{name}" is being deleted'
            unbound = unbound or not (matches.is_bound(claim) or self._waits(claim))
        return _UNBOUND if unbound else ""

    def filter(self, pod: Object) -> Callable[[Object], str] | None:
        """Node → the reason why the claims cannot be on it, or ""; None for a pod without
        claims."""
        claims = [claim for _, claim in self._of(pod) if claim is not None]
        return (lambda node: self._refusal(claims, node)) if claims else None

    async def reserve(self, pod: Object, node: Object) -> bool:
        """Start the binding of the pod's unbound claims on a node. Returns whether all claims were
        bound before."""
        ready = True
        taken: set[str] = set()
        for _, claim in self._of(pod):
            if claim is None or matches.is_bound(claim):
                continue
            ready = False
            volume = self._match(claim, node, taken)
            name = node["metadata"]["name"]
            if volume is not None:
                taken.add(volume["metadata"]["name"])
                if not (volume["spec"].get("claimRef") or {}).get("uid"):
                    changed = templates.copy(volume)
                    matches.reserve(changed, claim)
                    await writes.update(self._client, changed)
            elif annotations(claim).get(SELECTED_NODE) != name:
                changed = templates.copy(claim)
                own = annotations(claim)
                changed["metadata"]["annotations"] = {**own, SELECTED_NODE: name}
                await writes.update(self._client, changed)
        return ready

    def _of(self, pod: Object) -> Iterator[tuple[str, Object | None]]:
        namespace = pod["metadata"]["namespace"]
        for name in claims_of(pod):
            yield name, self._claims.get(Key(namespace, name))

    def _refusal(self, claims: list[Object], node: Object) -> str:
        taken: set[str] = set()
        for claim in claims:
            if matches.is_bound(claim):
                volume = self._volumes.get(Key("", claim["spec"]["volumeName"]))
                if volume is not None and not matches.may_be_on(volume, node):
                    return _ELSEWHERE
                continue
            wanted = annotations(claim).get(SELECTED_NODE)
            if wanted and wanted != node["metadata"]["name"]:
                return _ELSEWHERE
            found = self._match(claim, node, taken)
            if found is not None:
                taken.add(found["metadata"]["name"])
            elif not self._is_provisioned(claim):
                return _NONE_FITS
        return ""

    def _match(self, claim: Object, node: Object, assigned: set[str]) -> Object | None:
        free = (each for each in self._volumes.items() if each["metadata"]["name"] not in assigned)
        return matches.best_volume(claim, free, node)

    def _class(self, claim: Object) -> Object | None:
        return self._classes.get(Key("", matches.class_of(claim)))

    def _waits(self, claim: Object) -> bool:
        """Return whether the class of the claim has WaitForFirstConsumer."""
        found = self._class(claim)
        return found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"

    def _is_provisioned(self, claim: Object) -> bool:
        """Return whether the class of the claim has a provisioner that can create a volume."""
        found = self._class(claim)
        return found is not None and found["provisioner"] != _NO_PROVISIONER
