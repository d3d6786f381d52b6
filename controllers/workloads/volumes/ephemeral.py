"""Creates claims for the ephemeral volumes of a pod, which are deleted with the pod.

Follows pkg/controller/volume/ephemeral.
"""

from collections.abc import Iterator

from inkube.client import Object, ignoring
from inkube.controllers.workloads import pods, templates, writes
from inkube.controllers.workloads.claims import is_controlled_by
from inkube.controllers.workloads.cluster import PODS, Cluster
from inkube.controllers.workloads.volumes import CLAIMS
from inkube.formats import controller_reference
from inkube.kinds import Change, Controller, Key, Reason, Watch

NAME = "ephemeral-volume-controller"
_COMPONENT = "ephemeral_volume"


def add(cluster: Cluster) -> None:
    """Run the controller that creates claims for ephemeral volumes."""
    known, claims = cluster.informer(PODS), cluster.informer(CLAIMS)
    client, events = cluster.client(), cluster.recorder(_COMPONENT)

    async def create(pod: Object, volume: Object) -> None:
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        own = f"{name}-{volume['name']}"
        present = claims.get(Key(namespace, own))
        if present is not None:
            if not is_controlled_by(present, pod):
                text = f"PVC {namespace}/{own} was not created for pod {namespace}/{name} "
                text += "(pod is not owner)"
                await events.warning(pod, "EphemeralVolumeCreateFailed", text)
            return
        template = templates.copy(volume["ephemeral"]["volumeClaimTemplate"])
        meta = template.get("metadata") or {}
        owner = controller_reference({"apiVersion": "v1", "kind": "Pod", **pod})
        body: Object = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                **{part: meta[part] for part in ("labels", "annotations") if meta.get(part)},
                "name": own,
                "namespace": namespace,
                "ownerReferences": [owner],
            },
            "spec": template["spec"],
        }
        with ignoring(Reason.ALREADY_EXISTS):
            await client.create(body)

    async def reconcile(key: Key) -> None:
        pod = known.get(key)
        if pod is None or pods.is_deleting(pod):
            return
        for volume in _ephemeral(pod):
            await create(pod, volume)

    def of_pod(change: Change) -> Iterator[Key]:
        """Yield the pod of a change, if it has ephemeral volumes. Most pods do not."""
        pod = change.new
        if pod is not None and not pods.is_deleting(pod) and any(_ephemeral(pod)):
            yield Key.of(pod)

    watches = (Watch(PODS, of_pod), Watch(CLAIMS, lambda _: ()))
    cluster.manager.add(Controller(NAME, writes.patient(reconcile), watches))


def _ephemeral(pod: Object) -> Iterator[Object]:
    """Yield the volumes of a pod that have a template for a claim."""
    for volume in pod["spec"].get("volumes") or ():
        if (volume.get("ephemeral") or {}).get("volumeClaimTemplate"):
            yield volume
