"""Which fields of built-in kinds a field selector may name, and what they read when absent.

A line of the table is `label`, `label=zero` or `label:path=zero`: where the value stands when not
under the label itself, and what Go's zero value reads. Follows the field label conversions of
pkg/apis/*/v1/conversion.go and the selectable fields of pkg/registry/*/strategy.go.
"""

from typing import NamedTuple

from inkube.schemas.meta import GVK

_EVENT = """involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid
    involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason
    reportingComponent source:source.component type"""
_TABLE: dict[tuple[str, str], str] = {
    ("", "events"): _EVENT,
    ("", "namespaces"): "status.phase",
    ("", "nodes"): "spec.unschedulable=false",
    ("", "pods"): """spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName
        spec.hostNetwork=false status.phase status.podIP status.podIPs status.nominatedNodeName""",
    ("", "replicationcontrollers"): "status.replicas=0",
    ("", "secrets"): "type",
    ("", "services"): "spec.clusterIP spec.type",
    ("batch", "jobs"): "status.successful:status.succeeded=0",
    ("certificates.k8s.io", "certificatesigningrequests"): "spec.signerName",
    ("events.k8s.io", "events"): """reason regarding.kind regarding.namespace regarding.name
        regarding.uid regarding.apiVersion regarding.resourceVersion regarding.fieldPath
        reportingController type""",
    ("resource.k8s.io", "resourceslices"): "spec.nodeName spec.driver",
}


class Field(NamedTuple):
    """A field that may be selected by: its label, where it stands, what it reads when absent."""

    label: str
    path: str
    zero: str = ""


def of(group: str, plural: str) -> tuple[Field, ...]:
    """The fields of a kind beyond its name and namespace."""
    return tuple(map(_field, _TABLE.get((group, plural), "").split()))


def _field(text: str) -> Field:
    named, _, zero = text.partition("=")
    label, _, path = named.partition(":")
    return Field(label, path or label, zero)


def refusal(gvk: GVK, label: str) -> str:
    """What a selector by another field of a kind with fields of its own is told."""
    if (gvk.group, gvk.kind) == ("batch", "Job"):
        return f'field label "{label}" not supported for Job'
    if (gvk.group, gvk.kind) == ("resource.k8s.io", "ResourceSlice"):
        return f"field label not supported for {gvk.group}/{gvk.version}, Kind={gvk.kind}: {label}"
    return f"field label not supported: {label}"
