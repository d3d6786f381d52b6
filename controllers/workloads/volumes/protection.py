"""Claims that pods use, and volumes that are bound, do not go: a finalizer holds them.

Admission puts the finalizers on; here they are taken off. Follows
pkg/controller/volume/{pvcprotection,pvprotection}.
"""

from collections.abc import Iterator

from inkube.controllers.client import Client, Object
from inkube.controllers.informer import Change, Key
from inkube.controllers.manager import Controller, Watch
from inkube.controllers.workloads import pods, templates, writes
from inkube.controllers.workloads.cluster import PODS, Cluster
from inkube.controllers.workloads.volumes import CLAIMS, VOLUMES, matches

CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"


async def _release(client: Client, obj: Object, finalizer: str) -> None:
    changed = templates.copy(obj)
    changed["metadata"]["finalizers"].remove(finalizer)
    await writes.update(client, changed)


def _is_held(obj: Object | None, finalizer: str) -> bool:
    if obj is None or not pods.is_deleting(obj):
        return False
    return finalizer in (obj["metadata"].get("finalizers") or ())


def add_claims(cluster: Cluster) -> None:
    """Run persistentvolumeclaim-protection-controller."""
    claims, client, users = cluster.informer(CLAIMS), cluster.client(), cluster.informer(PODS)
    index = users.index("claim", _used)

    async def reconcile(key: Key) -> None:
        claim = claims.get(key)
        if claim is None or not _is_held(claim, CLAIM_FINALIZER):
            return
        found = (users.get(each) for each in index.keys(f"{key.namespace}/{key.name}"))
        if not any(pod is not None and not pods.is_terminal(pod) for pod in found):
            await _release(client, claim, CLAIM_FINALIZER)

    def of_pod(change: Change) -> Iterator[Key]:
        if change.new is None or pods.is_terminal(change.new):
            for name in matches.claims_of(change.object):
                yield Key(change.object["metadata"]["namespace"], name)

    name = "persistentvolumeclaim-protection-controller"
    cluster.manager.add(Controller(name, reconcile, (Watch(CLAIMS), Watch(PODS, of_pod))))


def _used(pod: Object) -> Iterator[str]:
    for name in matches.claims_of(pod):
        yield f"{pod['metadata']['namespace']}/{name}"


def add_volumes(cluster: Cluster) -> None:
    """Run persistentvolume-protection-controller."""
    volumes, client = cluster.informer(VOLUMES), cluster.client()

    async def reconcile(key: Key) -> None:
        volume = volumes.get(key)
        if volume is None or not _is_held(volume, VOLUME_FINALIZER):
            return
        if (volume.get("status") or {}).get("phase") != "Bound":
            await _release(client, volume, VOLUME_FINALIZER)

    name = "persistentvolume-protection-controller"
    cluster.manager.add(Controller(name, reconcile, (Watch(VOLUMES),)))
