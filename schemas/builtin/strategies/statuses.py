"""Writes to /status: the metadata that they do not change.

Follows the PrepareForUpdate of the status strategies in pkg/registry.
"""

from inkube.schemas.objects import Object

_ALL = ("labels", "annotations", "finalizers", "ownerReferences")  # ResetObjectMetaForStatus
_KEPT: dict[tuple[str, str], tuple[str, ...]] = {
    ("", "pods"): ("ownerReferences",),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): _ALL,
    ("apiregistration.k8s.io", "apiservices"): _ALL,
    ("apps", "deployments"): ("labels",),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): _ALL,
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): _ALL,
    ("internal.apiserver.k8s.io", "storageversions"): _ALL,
    ("networking.k8s.io", "servicecidrs"): _ALL,
    ("resource.k8s.io", "resourceclaims"): _ALL,
    ("storage.k8s.io", "volumeattachments"): _ALL,
    ("storagemigration.k8s.io", "storageversionmigrations"): _ALL,
}


def keep_metadata(group: str, plural: str, meta: Object, old: Object) -> None:
    """Restore metadata that a write to the status of a kind must not change, in place."""
    for member in _KEPT.get((group, plural), ()):
        if member in old:
            meta[member] = old[member]
        else:
            meta.pop(member, None)
