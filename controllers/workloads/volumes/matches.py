"""Matches claims with volumes. Follows component-helpers/storage/volume/pv_helpers.go."""

from collections.abc import Iterable

from inkube.client import Object
from inkube.controllers.workloads import matching
from inkube.formats import quantity, selectors

BOUND_BY_US = "pv.kubernetes.io/bound-by-controller"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
OLD_CLASS = "volume.beta.kubernetes.io/storage-class"


def annotations(obj: Object) -> dict[str, str]:
    """Return the annotations of an object, or {} without annotations."""
    found: dict[str, str] = obj["metadata"].get("annotations") or {}
    return found


def class_of(obj: Object) -> str:
    """Return the storage class of a claim or a volume, or "" without one."""
    old = annotations(obj).get(OLD_CLASS)
    return old if old is not None else obj["spec"].get("storageClassName") or ""


def has_class(claim: Object) -> bool:
    """Return whether a claim names a class; the name can be empty."""
    return OLD_CLASS in annotations(claim) or claim["spec"].get("storageClassName") is not None


def is_bound(claim: Object) -> bool:
    """Return whether the binding of the claim is complete."""
    return bool(claim["spec"].get("volumeName")) and BIND_COMPLETED in annotations(claim)


def is_for(volume: Object, claim: Object) -> bool:
    """Return whether the claimRef of the volume is this claim (IsVolumeBoundToClaim)."""
    reference = volume["spec"].get("claimRef")
    if not reference:
        return False
    meta = claim["metadata"]
    same_name = (reference.get("namespace"), reference.get("name")) == (
        meta["namespace"],
        meta["name"],
    )
    return same_name and reference.get("uid", meta["uid"]) == meta["uid"]


def capacity(volume: Object) -> quantity.Quantity:
    """Return the storage capacity of a volume."""
    return quantity.parse((volume["spec"].get("capacity") or {}).get("storage", "0"))


def requested_storage(claim: Object) -> quantity.Quantity:
    """Return the requested storage of a claim."""
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return quantity.parse(requests.get("storage", "0"))


def why_not(volume: Object, claim: Object) -> str:
    """Return the reason why a volume does not satisfy a claim (checkVolumeSatisfyClaim), or "" if
    it does."""
    if capacity(volume) < requested_storage(claim):
        return "requested PV is too small"
    if class_of(volume) != class_of(claim):
        return "storageClassName does not match"
    modes = (each["spec"].get("volumeMode") or "Filesystem" for each in (volume, claim))
    if len(set(modes)) > 1:
        return "incompatible volumeMode"
    wanted = claim["spec"].get("accessModes") or ()
    if not set(wanted) <= set(volume["spec"].get("accessModes") or ()):
        return "incompatible accessMode"
    return ""


def best_volume(
    claim: Object, volumes: Iterable[Object], node: Object | None = None
) -> Object | None:
    """Return the volume with a claimRef to the claim, or the smallest available volume that
    satisfies it.

    With a node, the volume must accept this node. Returns None without such a volume.
    """
    found = None
    for volume in volumes:
        if "deletionTimestamp" in volume["metadata"]:
            continue
        if is_for(volume, claim):
            if not why_not(volume, claim) and (node is None or may_be_on(volume, node)):
                return volume
            continue
        if volume["spec"].get("claimRef") or why_not(volume, claim):
            continue
        if (volume.get("status") or {}).get("phase") != "Available":
            continue
        selector = claim["spec"].get("selector")
        if selector and not selectors.selects(selector, volume["metadata"].get("labels") or {}):
            continue
        if node is not None and not may_be_on(volume, node):
            continue
        if found is None or _order(volume) < _order(found):
            found = volume
    return found


def _order(volume: Object) -> tuple[quantity.Quantity, str]:
    return capacity(volume), volume["metadata"]["name"]


def may_be_on(volume: Object, node: Object) -> bool:
    """Return whether a volume's node affinity accepts the node."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return required is None or matching.fits_terms(required.get("nodeSelectorTerms") or (), node)


def reserve(volume: Object, claim: Object) -> None:
    """Set the claimRef of a volume, in place. BOUND_BY_US is set only if the claimRef was not
    already this claim."""
    meta = claim["metadata"]
    if not is_for(volume, claim):
        own = annotations(volume)
        volume["metadata"]["annotations"] = {**own, BOUND_BY_US: "yes"}
    volume["spec"]["claimRef"] = {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta["uid"],
        "resourceVersion": meta["resourceVersion"],
    }
