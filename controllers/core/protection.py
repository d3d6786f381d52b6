"""Protection of objects in use: claims of pods, bound volumes, classes of claims and volumes.

Admission adds a finalizer to each. The controllers remove it when the object is no longer in use.
Follows pkg/controller/volume/{pvcprotection,pvprotection,vacprotection}.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from inkube.controllers.client import Client, Object, ignoring
from inkube.controllers.informer import Change, Informer, Key
from inkube.controllers.manager import Controller, Manager, Watch
from inkube.schemas.meta import GVR

CLAIMS, VOLUMES, PODS = "v1/persistentvolumeclaims", "v1/persistentvolumes", "v1/pods"
CLASSES = str(GVR("storage.k8s.io", "v1", "volumeattributesclasses"))
_WRITER = "kube-controller-manager"
_FINALIZERS = {
    CLAIMS: "kubernetes.io/pvc-protection",
    VOLUMES: "kubernetes.io/pv-protection",
    CLASSES: "kubernetes.io/vac-protection",
}


def claims_of(pod: Object) -> list[str]:
    """Return the names of the claims of a pod, including those of its ephemeral volumes."""
    names = []
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            names.append(volume["persistentVolumeClaim"]["claimName"])
        elif "ephemeral" in volume:
            names.append(f"{pod['metadata']['name']}-{volume['name']}")
    return names


def add_claims(manager: Manager, client: Client) -> None:
    """Run persistentvolumeclaim-protection-controller: pods on nodes use claims until they end."""
    users = manager.informers.of(PODS)
    index = users.index(_claims)

    def is_used(claim: Object) -> bool:
        meta = claim["metadata"]
        found = (users.get(key) for key in index.keys(f"{meta['namespace']}/{meta['name']}"))
        return any(pod is not None and _may_use_volumes(pod) for pod in found)

    def of_pod(change: Change) -> Iterator[Key]:
        if change.new is None or not _may_use_volumes(change.new):
            for name in claims_of(change.object):
                yield Key(change.object["metadata"]["namespace"], name)

    _add(
        manager, client, "persistentvolumeclaim-protection-controller", CLAIMS,
        is_used=is_used, others={PODS: of_pod},
    )  # fmt: skip


def add_volumes(manager: Manager, client: Client) -> None:
    """Run persistentvolume-protection-controller: a volume is used while it is bound."""

    def is_used(volume: Object) -> bool:
        return (volume.get("status") or {}).get("phase") == "Bound"

    name = "persistentvolume-protection-controller"
    _add(manager, client, name, VOLUMES, is_used=is_used, others={})


def add_classes(manager: Manager, client: Client) -> None:
    """Run volumeattributesclass-protection-controller: claims and volumes name their class."""
    claims, volumes = manager.informers.of(CLAIMS), manager.informers.of(VOLUMES)
    indexes = [claims.index(_classes_of_claim), volumes.index(_classes_of_volume)]

    def is_used(volume_class: Object) -> bool:
        return any(index.keys(volume_class["metadata"]["name"]) for index in indexes)

    def of_claim(change: Change) -> Iterator[Key]:
        yield from _classes_no_longer_named(change, _classes_of_claim)

    def of_volume(change: Change) -> Iterator[Key]:
        yield from _classes_no_longer_named(change, _classes_of_volume)

    name = "volumeattributesclass-protection-controller"
    others = {CLAIMS: of_claim, VOLUMES: of_volume}
    _add(manager, client, name, CLASSES, is_used=is_used, others=others)


def _add(
    manager: Manager,
    client: Client,
    name: str,
    resource: str,
    *,
    is_used: Callable[[Object], bool],
    others: Mapping[str, Callable[[Change], Iterable[Key]]],
) -> None:
    """Add a controller that removes the finalizer of deleted objects that are not in use."""
    held: Informer = manager.informers.of(resource)
    users = [manager.informers.of(each) for each in others]
    finalizer = _FINALIZERS[resource]

    async def reconcile(key: Key) -> None:
        obj = held.get(key)
        if obj is None or "deletionTimestamp" not in obj["metadata"]:
            return
        finalizers = obj["metadata"].get("finalizers") or []
        if finalizer not in finalizers or is_used(obj):
            return
        for each in users:  # a new user of the object counts
            await each.caught_up()
        if is_used(obj):
            return
        left = [each for each in finalizers if each != finalizer]
        version = obj["metadata"]["resourceVersion"]
        patch = {"metadata": {"resourceVersion": version, "finalizers": left or None}}
        with ignoring(404, 409):
            await client.patch(
                resource, key.name, key.namespace, patch=patch, field_manager=_WRITER
            )

    watches = (Watch(resource), *(Watch(other, keys) for other, keys in others.items()))
    manager.add(Controller(name, reconcile, watches))


def _claims(pod: Object) -> Iterator[str]:
    return (f"{pod['metadata']['namespace']}/{name}" for name in claims_of(pod))


def _may_use_volumes(pod: Object) -> bool:
    """Return whether a kubelet can use the volumes of a pod: it has a node and is not terminal."""
    phase = (pod.get("status") or {}).get("phase")
    return bool(pod["spec"].get("nodeName")) and phase not in ("Succeeded", "Failed")


def _classes_of_claim(claim: Object) -> list[str]:
    observed = claim.get("status") or {}
    names = (
        claim["spec"].get("volumeAttributesClassName"),
        observed.get("currentVolumeAttributesClassName"),
        (observed.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    return [name for name in dict.fromkeys(names) if name]


def _classes_of_volume(volume: Object) -> list[str]:
    name = volume["spec"].get("volumeAttributesClassName")
    return [name] if name else []


def _classes_no_longer_named(
    change: Change, classes: Callable[[Object], list[str]]
) -> Iterator[Key]:
    before = classes(change.old) if change.old is not None else []
    after = classes(change.new) if change.new is not None else []
    return (Key("", name) for name in before if name not in after)
