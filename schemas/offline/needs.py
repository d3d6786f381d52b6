"""What an object needs of other objects: the names in it, as data.

A need names a kind, a namespace and a name. Optional references are no needs, and neither are
names of objects that every cluster has.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from inkube.schemas.builtin import podreferences
from inkube.schemas.objects import Object

TEMPLATES = {
    "Pod": (),
    "PodTemplate": ("template",),
    "ReplicationController": ("spec", "template"),
    "Deployment": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
"""Kinds with pods, and the members that lead to their template."""
_CLUSTER_ROLES = frozenset({"admin", "cluster-admin", "edit", "view"})
_PRIORITIES = frozenset({"system-cluster-critical", "system-node-critical"})


class Need(NamedTuple):
    """An object that another one names."""

    kind: str
    namespace: str
    """"" for kinds without namespaces."""
    name: str
    field: str
    """The path of the name."""
    key: str = ""
    """The key of a ConfigMap or Secret that is needed, too."""


def of_object(obj: Object, namespace: str) -> Iterator[Need]:
    """Yield what an object needs. `namespace` is the namespace of the object."""
    kind, spec = obj["kind"], _dict(obj.get("spec"))
    if kind in TEMPLATES:
        path = ".".join((*TEMPLATES[kind], "spec"))
        yield from _of_pod(_dict(template_of(obj).get("spec")), namespace, path)
    reader = _READERS.get(kind)
    if reader is not None:
        yield from reader(obj, spec, namespace)


def template_of(obj: Object) -> Object:
    """Return the pod, or the template of pods, of an object of one of the kinds in TEMPLATES."""
    for member in TEMPLATES[obj["kind"]]:
        obj = _dict(obj.get(member))
    return obj


def _of_pod(spec: Object, namespace: str, path: str) -> Iterator[Need]:
    account = spec.get("serviceAccountName")
    if account and account != "default":
        yield Need("ServiceAccount", namespace, str(account), f"{path}.serviceAccountName")
    priority = spec.get("priorityClassName")
    if priority and priority not in _PRIORITIES:
        yield Need("PriorityClass", "", str(priority), f"{path}.priorityClassName")
    if spec.get("runtimeClassName"):
        yield Need("RuntimeClass", "", str(spec["runtimeClassName"]), f"{path}.runtimeClassName")
    for reference in podreferences.of_spec(spec):
        if reference.path[0] != "imagePullSecrets":
            yield from _referenced(reference, namespace, path)


def _referenced(reference: podreferences.Reference, namespace: str, path: str) -> Iterator[Need]:
    """Yield the need of a reference with a name, unless it is optional. Keys are needed, too."""
    kind, name, value = reference.kind, reference.name, reference.value
    if not name or value.get("optional"):
        return
    at = path + "".join(
        f"[{each}]" if isinstance(each, int) else f".{each}" for each in reference.path
    )
    yield Need(kind, namespace, name, f"{at}.{reference.member}")
    if isinstance(value.get("key"), str):
        yield Need(kind, namespace, name, f"{at}.key", value["key"])
    for index, item in podreferences.items(value.get("items")):
        if isinstance(item.get("key"), str):
            yield Need(kind, namespace, name, f"{at}.items[{index}].key", item["key"])


def _of_binding(obj: Object, _spec: Object, namespace: str) -> Iterator[Need]:
    role = _dict(obj.get("roleRef"))
    name, kind = role.get("name"), role.get("kind")
    is_own = name in _CLUSTER_ROLES or str(name).startswith("system:")
    if name and kind == "Role":
        yield Need("Role", namespace, str(name), "roleRef.name")
    elif name and kind == "ClusterRole" and not is_own:
        yield Need("ClusterRole", "", str(name), "roleRef.name")
    for at, subject in podreferences.items(obj.get("subjects")):
        if subject.get("kind") == "ServiceAccount" and subject.get("name") != "default":
            home = str(subject.get("namespace") or namespace)
            yield Need("ServiceAccount", home, str(subject.get("name")), f"subjects[{at}].name")


def _of_ingress(_obj: Object, spec: Object, namespace: str) -> Iterator[Need]:
    if spec.get("ingressClassName"):
        yield Need("IngressClass", "", str(spec["ingressClassName"]), "spec.ingressClassName")
    yield from _backend(spec.get("defaultBackend"), namespace, "spec.defaultBackend")
    for at, rule in podreferences.items(spec.get("rules")):
        for number, path in podreferences.items(_dict(rule.get("http")).get("paths")):
            place = f"spec.rules[{at}].http.paths[{number}].backend"
            yield from _backend(path.get("backend"), namespace, place)


def _backend(backend: Any, namespace: str, path: str) -> Iterator[Need]:
    service = _dict(_dict(backend).get("service")).get("name")
    if isinstance(service, str) and service:
        yield Need("Service", namespace, service, f"{path}.service.name")


def _of_claim(_obj: Object, spec: Object, _namespace: str) -> Iterator[Need]:
    if spec.get("storageClassName"):
        yield Need("StorageClass", "", str(spec["storageClassName"]), "spec.storageClassName")


def _of_autoscaler(_obj: Object, spec: Object, namespace: str) -> Iterator[Need]:
    target = _dict(spec.get("scaleTargetRef"))
    if target.get("kind") in TEMPLATES and target.get("name"):
        yield Need(target["kind"], namespace, str(target["name"]), "spec.scaleTargetRef.name")


def _of_set(_obj: Object, spec: Object, namespace: str) -> Iterator[Need]:
    if spec.get("serviceName"):
        yield Need("Service", namespace, str(spec["serviceName"]), "spec.serviceName")
    for at, claim in podreferences.items(spec.get("volumeClaimTemplates")):
        inner = _dict(claim.get("spec"))
        for need in _of_claim(claim, inner, namespace):
            yield need._replace(field=f"spec.volumeClaimTemplates[{at}].{need.field}")


def _of_webhooks(obj: Object, _spec: Object, _namespace: str) -> Iterator[Need]:
    for at, webhook in podreferences.items(obj.get("webhooks")):
        service = _dict(_dict(webhook.get("clientConfig")).get("service"))
        if service.get("name"):
            path = f"webhooks[{at}].clientConfig.service.name"
            yield Need("Service", str(service.get("namespace")), str(service["name"]), path)


def _of_policy_binding(obj: Object, spec: Object, _namespace: str) -> Iterator[Need]:
    if spec.get("policyName"):
        kind = obj["kind"].removesuffix("Binding")
        yield Need(kind, "", str(spec["policyName"]), "spec.policyName")


_READERS = {
    "RoleBinding": _of_binding,
    "ClusterRoleBinding": _of_binding,
    "Ingress": _of_ingress,
    "PersistentVolumeClaim": _of_claim,
    "HorizontalPodAutoscaler": _of_autoscaler,
    "StatefulSet": _of_set,
    "ValidatingWebhookConfiguration": _of_webhooks,
    "MutatingWebhookConfiguration": _of_webhooks,
    "ValidatingAdmissionPolicyBinding": _of_policy_binding,
    "MutatingAdmissionPolicyBinding": _of_policy_binding,
}


def _dict(value: Any) -> Object:
    return value if isinstance(value, dict) else {}
