"""The fields that a kind of write resets, so that its managers never own them.

A write to an object does not change its status; a write to the status changes only the status.
Follows the GetResetFields of the strategies of kube-apiserver and apiextensions-apiserver.
"""

from inkube.schemas import releases
from inkube.schemas.ownership import fieldsets
from inkube.schemas.ownership.fieldsets import EMPTY, FieldSet

_STATUS = fieldsets.named("status")
_SPEC = fieldsets.named("spec")
_ALL_BUT_STATUS = fieldsets.named("metadata", "spec")
_OF_CUSTOM = {"": _STATUS, "status": _ALL_BUT_STATUS}
_RESETS_METADATA = 36
"""The first minor in which a write to the status of a custom resource owns no labels, and in which
definitions and ServiceCIDRs name exactly the fields that they reset."""
_OF_STATUS = {
    ("apps", "Deployment"): fieldsets.named("spec", "metadata.labels"),
    ("", "Pod"): fieldsets.named("spec", "metadata.deletionTimestamp", "metadata.ownerReferences"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): _ALL_BUT_STATUS,
    ("apiregistration.k8s.io", "APIService"): _ALL_BUT_STATUS,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): _ALL_BUT_STATUS,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): _ALL_BUT_STATUS,
    ("networking.k8s.io", "ServiceCIDR"): _ALL_BUT_STATUS,
    ("resource.k8s.io", "ResourceClaim"): _ALL_BUT_STATUS,
    ("storage.k8s.io", "VolumeAttachment"): _ALL_BUT_STATUS,
}
_REQUEST = ("certificates.k8s.io", "CertificateSigningRequest")
_OTHERS = {
    (*_REQUEST, ""): fieldsets.named("spec", "status"),
    (*_REQUEST, "status"): fieldsets.named("spec", "status.conditions"),
    (*_REQUEST, "approval"): fieldsets.named("spec", "status.certificate"),
    ("", "Namespace", "finalize"): _STATUS,
}
"""What writes to the object ("") and its other addresses reset, if it is not what most reset."""
_BEFORE = {
    ("apiextensions.k8s.io", "CustomResourceDefinition", "status"): _ALL_BUT_STATUS,
    ("networking.k8s.io", "ServiceCIDR", "status"): EMPTY,
    ("networking.k8s.io", "ServiceCIDR", ""): EMPTY,
}
"""What differs before _RESETS_METADATA."""


def of_custom(subresource: str, *, status: bool, minor: int = releases.NEWEST.minor) -> FieldSet:
    """Return the fields for custom resources; `status`: whether the version has a status
    subresource."""
    if status and subresource == "status" and minor < _RESETS_METADATA:
        return _SPEC
    return _OF_CUSTOM.get(subresource, EMPTY) if status else EMPTY


def of_builtin(
    group: str, kind: str, subresource: str, *, status: bool, minor: int = releases.NEWEST.minor
) -> FieldSet:
    """Return the fields for built-in kinds; `status`: whether the kind has a status subresource."""
    if not status:
        return EMPTY
    if minor < _RESETS_METADATA and (group, kind, subresource) in _BEFORE:
        return _BEFORE[group, kind, subresource]
    if (group, kind, subresource) in _OTHERS:
        return _OTHERS[group, kind, subresource]
    if subresource == "status":
        return _OF_STATUS.get((group, kind), _SPEC)
    return EMPTY if subresource else _STATUS
