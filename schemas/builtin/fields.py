"""The fields of built-in kinds that field selectors can use, and their values when absent.

A word of the table is `label`, `label=zero` or `label:path=zero`: where the value stands when not
under the label itself, and what Go's zero value reads. Follows the field label conversions of
pkg/apis/*/v1/conversion.go and the selectable fields of pkg/registry/*/strategy.go.
"""

from inkube.schemas.definitions import NAME_FIELD, NAMESPACE_FIELD, SelectableField

_EVENT = """involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid
    involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason
    reportingComponent source:source.component|reportingComponent type"""
_TABLE: dict[tuple[str, str], str] = {
    ("", "events"): _EVENT,
    ("", "namespaces"): "status.phase",
    ("", "nodes"): "spec.unschedulable=false",
    ("", "pods"): """spec.nodeName spec.host:spec.nodeName spec.restartPolicy spec.schedulerName
        spec.serviceAccountName spec.hostNetwork=false status.phase status.podIP status.podIPs
        status.nominatedNodeName""",
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
_REFUSALS = {
    ("batch", "jobs"): 'field label "{label}" not supported for Job',
    ("resource.k8s.io", "resourceslices"): (
        "field label not supported for resource.k8s.io/{version}, Kind=ResourceSlice: {label}"
    ),
}
_OWN = "field label not supported: {label}"
# runtime.DefaultMetaV1FieldSelectorConversion
_NONE = '"{label}" is not a known field selector: only "metadata.name", "metadata.namespace"'


def of(group: str, plural: str, *, namespaced: bool) -> tuple[SelectableField, ...]:
    """Return the selectable fields of a kind: name, namespace and its own fields. The namespace is
    missing for cluster-scoped kinds with own fields."""
    own = _TABLE.get((group, plural), "").split()
    base = (NAME_FIELD, NAMESPACE_FIELD) if namespaced or not own else (NAME_FIELD,)
    return (*base, *map(_field, own))


def refusal(group: str, plural: str, version: str) -> str:
    """Return the error text for a selector with another field. `{label}` stands for the field."""
    known = (group, plural)
    text = _REFUSALS.get(known, _OWN if known in _TABLE else _NONE)
    return text.replace("{version}", version)


def _field(text: str) -> SelectableField:
    named, _, zero = text.partition("=")
    label, _, path = named.partition(":")
    return SelectableField(label, path or label, zero)
