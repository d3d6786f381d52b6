"""The cells of configuration, storage, RBAC, events and the rest."""

from datetime import datetime
from typing import Any

from inkube.schemas import durations
from inkube.schemas.aggregation import registrations
from inkube.schemas.builtin.columns.common import NONE, UNSET, age, containers, pairs, since
from inkube.schemas.objects import Object

_MODES = {
    "ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}  # fmt: skip


def config_map(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a ConfigMap (printConfigMap)."""
    count = len(obj.get("data") or {}) + len(obj.get("binaryData") or {})
    return [count, age(obj, now)]


def secret(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a Secret (printSecret)."""
    return [obj.get("type", ""), len(obj.get("data") or {}), age(obj, now)]


def namespace(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a Namespace (printNamespace)."""
    return [(obj.get("status") or {}).get("phase", ""), age(obj, now)]


def lease(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a Lease (printLease)."""
    return [(obj.get("spec") or {}).get("holderIdentity") or "", age(obj, now)]


def quota(obj: Object, now: datetime) -> list[Any]:
    """printResourceQuota: used and hard amounts, with limits in a separate cell."""
    status = obj.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    texts = {name: f"{name}: {used.get(name, '0')}/{hard[name]}" for name in sorted(hard)}
    limits = [text for name, text in texts.items() if name.startswith("limits.")]
    others = [text for name, text in texts.items() if not name.startswith("limits.")]
    return [", ".join(others), ", ".join(limits), age(obj, now)]


def pod_template(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a PodTemplate (printPodTemplate)."""
    template = obj.get("template") or {}
    return [*containers(template), pairs((template.get("metadata") or {}).get("labels"))]


def component(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a ComponentStatus (printComponentStatus)."""
    found = [c for c in obj.get("conditions") or [] if c.get("type") == "Healthy"]
    first = found[0] if found else {}
    state = {"True": "Healthy", "False": "Unhealthy"}.get(first.get("status", ""), "Unknown")
    return [state, first.get("message", ""), first.get("error", "")]


def event(obj: Object, now: datetime) -> list[Any]:
    """printEvent, for both groups. This is the only table whose first column is not the name."""
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    first = obj.get("firstTimestamp") or obj.get("deprecatedFirstTimestamp")
    last = obj.get("lastTimestamp") or obj.get("deprecatedLastTimestamp")
    moment = obj.get("eventTime")
    series = obj.get("series") or {}
    count = obj.get("count") or obj.get("deprecatedCount") or 0
    if series:
        count, last = series.get("count", count), series.get("lastObservedTime") or last
    return [
        since(last or moment or first, now),
        obj.get("type", ""),
        obj.get("reason", ""),
        _target(about),
        about.get("fieldPath", ""),
        _source(obj),
        (obj.get("message") or obj.get("note") or "").strip(),
        since(first or moment, now),
        count or 1,
        obj["metadata"].get("name", ""),
    ]


def _target(about: Object) -> str:
    kind, name = about.get("kind", "").lower(), about.get("name", "")
    return f"{kind}/{name}" if name else kind


def _source(obj: Object) -> str:
    source = obj.get("source") or obj.get("deprecatedSource") or {}
    reporter = obj.get("reportingComponent") or obj.get("reportingController") or ""
    component_name = source.get("component") or reporter
    host = source.get("host") or obj.get("reportingInstance") or ""
    return f"{component_name}, {host}" if host else str(component_name)


def binding(obj: Object, now: datetime) -> list[Any]:
    """printRoleBinding and printClusterRoleBinding."""
    role = obj.get("roleRef") or {}
    subjects = obj.get("subjects") or []
    names: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in subjects:
        kind, name = subject.get("kind", ""), subject.get("name", "")
        if kind == "ServiceAccount":
            name = f"{subject.get('namespace', '')}/{name}"
        names.setdefault(kind, []).append(name)
    joined = [", ".join(names[kind]) for kind in ("User", "Group", "ServiceAccount")]
    return [f"{role.get('kind', '')}/{role.get('name', '')}", age(obj, now), *joined]


def webhooks(obj: Object, now: datetime) -> list[Any]:
    """printMutatingWebhook and printValidatingWebhook."""
    return [len(obj.get("webhooks") or []), age(obj, now)]


def policy(obj: Object, now: datetime) -> list[Any]:
    """printValidatingAdmissionPolicy and printMutatingAdmissionPolicy."""
    spec = obj.get("spec") or {}
    kind = spec.get("paramKind")
    text = UNSET
    if kind is not None:
        text = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"
    return [len(spec.get("validations") or spec.get("mutations") or []), text, age(obj, now)]


def policy_binding(obj: Object, now: datetime) -> list[Any]:
    """printValidatingAdmissionPolicyBinding and printMutatingAdmissionPolicyBinding."""
    spec = obj.get("spec") or {}
    reference = spec.get("paramRef")
    text = UNSET
    if reference is not None:
        name, space = reference.get("name", ""), reference.get("namespace", "")
        text = f"{space}/{name}" if space else name or "*"
    return [spec.get("policyName", ""), text, age(obj, now)]


def api_service(obj: Object, now: datetime) -> list[Any]:
    """Return the aggregator's own table. A server that only inkube's annotation names is not
    local."""
    service = (obj.get("spec") or {}).get("service")
    url = (obj["metadata"].get("annotations") or {}).get(registrations.URL)
    where = (
        url or "Local" if service is None else f"{service.get('namespace')}/{service.get('name')}"
    )
    found = [
        c for c in (obj.get("status") or {}).get("conditions") or [] if c.get("type") == "Available"
    ]
    state = found[0].get("status", "Unknown") if found else "Unknown"
    if found and state == "False":
        state = f"False ({found[0].get('reason', '')})"
    return [where, state, age(obj, now)]


def revision(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a ControllerRevision (printControllerRevision)."""
    owners = [
        owner for owner in obj["metadata"].get("ownerReferences") or [] if owner.get("controller")
    ]
    text = NONE
    if owners:
        group = owners[0].get("apiVersion", "").rpartition("/")[0]
        kind = owners[0].get("kind", "").lower() + (f".{group}" if group else "")
        text = f"{kind}/{owners[0].get('name', '')}"
    return [text, obj.get("revision", 0), age(obj, now)]


def signing_request(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a CertificateSigningRequest (printCertificateSigningRequest)."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    seconds = spec.get("expirationSeconds")
    duration = NONE if seconds is None else durations.human(seconds)
    kinds = [condition.get("type") for condition in status.get("conditions") or []]
    words = [word for word in ("Approved", "Denied", "Failed") if word in kinds] or ["Pending"]
    if status.get("certificate"):
        words.append("Issued")
    signer, user = spec.get("signerName") or NONE, spec.get("username", "")
    return [age(obj, now), signer, user, duration, ",".join(words)]


def runtime_class(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a RuntimeClass (printRuntimeClass)."""
    return [obj.get("handler", ""), age(obj, now)]


def priority_class(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a PriorityClass (printPriorityClass)."""
    is_default = bool(obj.get("globalDefault"))
    return [obj.get("value", 0), is_default, age(obj, now), obj.get("preemptionPolicy", "")]


def flow_schema(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a FlowSchema (printFlowSchema)."""
    spec = obj.get("spec") or {}
    level = (spec.get("priorityLevelConfiguration") or {}).get("name", "")
    method = (spec.get("distinguisherMethod") or {}).get("type", NONE)
    conditions = (obj.get("status") or {}).get("conditions") or ()
    dangles = [one.get("status", "") for one in conditions if one.get("type") == "Dangling"]
    missing = dangles[0] if dangles else "?"
    return [level, spec.get("matchingPrecedence", 0), method, age(obj, now), missing]


def precedence(obj: Object) -> tuple[int, str]:
    """Return the place of a FlowSchema among all (FlowSchemaSequence of util/apihelpers)."""
    return (obj.get("spec") or {}).get("matchingPrecedence", 0), obj["metadata"]["name"]


def priority_level(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a PriorityLevelConfiguration (printPriorityLevelConfiguration)."""
    spec = obj.get("spec") or {}
    limited = spec.get("limited") or {}
    queuing = (limited.get("limitResponse") or {}).get("queuing") or {}
    queues = [queuing.get(member, NONE) for member in ("queues", "handSize", "queueLengthLimit")]
    shares = limited.get("nominalConcurrencyShares", NONE)
    return [spec.get("type", ""), shares, *queues, age(obj, now)]


def _modes(modes: list[str] | None) -> str:
    return ",".join(_MODES.get(mode, mode) for mode in modes or [])


def volume(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a PersistentVolume (printPersistentVolume)."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    claim = spec.get("claimRef")
    bound = f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""
    terminating = obj["metadata"].get("deletionTimestamp")
    return [
        (spec.get("capacity") or {}).get("storage", "0"),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        "Terminating" if terminating else status.get("phase", ""),
        bound,
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName") or UNSET,
        status.get("reason", ""),
        age(obj, now),
        spec.get("volumeMode") or UNSET,
    ]


def claim(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of a PersistentVolumeClaim (printPersistentVolumeClaim)."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    bound = bool(spec.get("volumeName"))
    terminating = obj["metadata"].get("deletionTimestamp")
    return [
        "Terminating" if terminating else status.get("phase", ""),
        spec.get("volumeName", ""),
        (status.get("capacity") or {}).get("storage", "0") if bound else "",
        _modes(status.get("accessModes")) if bound else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName") or UNSET,
        age(obj, now),
        spec.get("volumeMode") or UNSET,
    ]


def age_only(obj: Object, now: datetime) -> list[Any]:
    """Return the cells of kinds that show only their age."""
    return [age(obj, now)]
