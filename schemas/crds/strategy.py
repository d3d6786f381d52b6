"""Defaults and server-set members of CustomResourceDefinitions on create, update and delete.

The registry calls these in the order of its write pipeline: `default`, then one of the `prepare_…`.
Objects are changed in place. Follows apiextensions-apiserver's apis/apiextensions/v1/defaults.go,
registry/customresourcedefinition/{strategy,etcd}.go and controller/finalizer.
"""

import copy

from inkube.schemas.crds import conditions
from inkube.schemas.objects import Object

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
_WEBHOOK_PORT = 443


def default(crd: Object) -> None:
    """Set missing names, the conversion and the stored versions."""
    spec = crd["spec"]
    names = spec["names"]
    kind = names.get("kind", "")
    if not names.get("singular") and kind:
        names["singular"] = kind.lower()
    if not names.get("listKind") and kind:
        names["listKind"] = f"{kind}List"
    conversion = spec.get("conversion")
    if conversion is None:
        spec["conversion"] = {"strategy": "None"}
    elif conversion.get("strategy") == "Webhook":
        client = (conversion.get("webhook") or {}).get("clientConfig") or {}
        if client.get("service") is not None:
            client["service"].setdefault("port", _WEBHOOK_PORT)
    status = crd.setdefault("status", {})
    status.setdefault("acceptedNames", {"kind": "", "plural": ""})
    status.setdefault("conditions", None)
    if not status.get("storedVersions"):
        status["storedVersions"] = _storage_versions(spec) or None


def prepare_create(crd: Object) -> None:
    """Set the status of a new CRD, which has only its storage version, and the generation 1."""
    crd["metadata"]["generation"] = 1
    crd["status"] = {
        "acceptedNames": {"kind": "", "plural": ""},
        "conditions": None,
        "storedVersions": _storage_versions(crd["spec"]) or None,
    }


def prepare_update(crd: Object, old: Object) -> None:
    """Restore the status, add the storage version, and increment the generation for a new spec."""
    status = crd["status"] = copy.deepcopy(old["status"])
    generation = old["metadata"].get("generation", 1)
    crd["metadata"]["generation"] = generation + (crd["spec"] != old["spec"])
    stored = status.get("storedVersions") or []
    status["storedVersions"] = [
        *stored,
        *(name for name in _storage_versions(crd["spec"]) if name not in stored),
    ]


def prepare_status_update(crd: Object, old: Object) -> None:
    """Restore the spec (the same dict as in `old`) and the generation."""
    crd["spec"] = old["spec"]
    crd["metadata"]["generation"] = old["metadata"].get("generation", 1)


def prepare_delete(crd: Object, now: str) -> bool:
    """Mark the CRD for deletion; returns whether this changed it.

    The finalizer keeps the CRD until the controller has removed its instances.
    """
    metadata = crd["metadata"]
    if metadata.get("deletionTimestamp"):
        return False
    metadata["deletionTimestamp"] = now
    if FINALIZER not in (metadata.get("finalizers") or ()):
        metadata["finalizers"] = [*(metadata.get("finalizers") or ()), FINALIZER]
    conditions.put(crd["status"], _DELETION_PENDING, now)
    return True


def note_deletion_progress(crd: Object, now: str) -> None:
    """Set the condition for the time while the controller deletes the instances."""
    conditions.put(crd["status"], _DELETION_IN_PROGRESS, now)


def finish_delete(crd: Object, now: str) -> None:
    """Set the last condition and remove the finalizer; called if no instances remain."""
    established = conditions.is_true(crd["status"], conditions.ESTABLISHED)
    conditions.put(crd["status"], _INSTANCES_GONE if established else _NEVER_ESTABLISHED, now)
    remaining = [name for name in crd["metadata"].get("finalizers") or () if name != FINALIZER]
    if remaining:
        crd["metadata"]["finalizers"] = remaining
    else:
        crd["metadata"].pop("finalizers", None)


_DELETION_PENDING = conditions.condition(
    conditions.TERMINATING,
    "True",
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)
_DELETION_IN_PROGRESS = conditions.condition(
    conditions.TERMINATING,
    "True",
    "InstanceDeletionInProgress",
    "CustomResource deletion is in progress",
)
_INSTANCES_GONE = conditions.condition(
    conditions.TERMINATING, "False", "InstanceDeletionCompleted", "removed all instances"
)
_NEVER_ESTABLISHED = conditions.condition(
    conditions.TERMINATING, "False", "NeverEstablished", "resource was never established"
)


def _storage_versions(spec: Object) -> list[str]:
    """Return the name of the first version with `storage`, as a list with at most one item."""
    return [v["name"] for v in spec.get("versions") or () if v.get("storage")][:1]
