"""The cells of storage and devices.

Follows pkg/printers/internalversion/printers.go.
"""

from datetime import datetime
from typing import Any

from inkube.schemas.builtin.columns.common import NONE, UNSET, age
from inkube.schemas.objects import Object

_DEFAULT = "storageclass.kubernetes.io/is-default-class"
_BETA_DEFAULT = "storageclass.beta.kubernetes.io/is-default-class"


def is_default(obj: Object) -> bool:
    """Return whether an annotation makes this the storage class for claims without one."""
    annotations = obj["metadata"].get("annotations") or {}
    return "true" in (annotations.get(_DEFAULT), annotations.get(_BETA_DEFAULT))


def storage_class(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a StorageClass (printStorageClass)."""
    expands = bool(obj.get("allowVolumeExpansion"))
    return [
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy") or "Delete",
        obj.get("volumeBindingMode") or "Immediate",
        expands,
        age(obj, now),
    ]


def attributes_class(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a VolumeAttributesClass (printVolumeAttributesClass)."""
    return [obj.get("driverName", ""), age(obj, now)]


def attachment(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a VolumeAttachment (printVolumeAttachment)."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    volume = (spec.get("source") or {}).get("persistentVolumeName") or ""
    attached = bool(status.get("attached"))
    return [spec.get("attacher", ""), volume, spec.get("nodeName", ""), attached, age(obj, now)]


def driver(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a CSIDriver (printCSIDriver)."""
    spec = obj.get("spec") or {}
    audiences = [one.get("audience", "") for one in spec.get("tokenRequests") or ()]
    return [
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        ",".join(audiences) if audiences else UNSET,
        spec.get("requiresRepublish", False),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        age(obj, now),
    ]


def node(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a CSINode (printCSINode)."""
    return [len((obj.get("spec") or {}).get("drivers") or ()), age(obj, now)]


def device_claim(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a ResourceClaim (printResourceClaim)."""
    status = obj.get("status") or {}
    states = ["deleted"] if obj["metadata"].get("deletionTimestamp") else []
    if status.get("allocation") is not None:
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    elif not states:
        states.append("pending")
    return [",".join(states), age(obj, now)]


def device_slice(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a ResourceSlice (printResourceSlice)."""
    spec = obj.get("spec") or {}
    pool = (spec.get("pool") or {}).get("name", "")
    return [spec.get("nodeName", ""), spec.get("driver", ""), pool, age(obj, now)]
