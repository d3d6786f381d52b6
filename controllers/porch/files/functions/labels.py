"""set-namespace, set-labels and set-annotations."""

from collections.abc import Iterator
from typing import Any

from inkube.client import Object
from inkube.controllers.porch.files import documents
from inkube.controllers.porch.files.documents import Document
from inkube.controllers.porch.files.functions.base import Failed, Package, Result, parameters

_CLUSTER = frozenset(
    {
        "APIService", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding",
        "ComponentStatus", "CSIDriver", "CSINode", "CustomResourceDefinition", "FlowSchema",
        "IngressClass", "MutatingWebhookConfiguration", "Namespace", "Node", "PersistentVolume",
        "PriorityClass", "PriorityLevelConfiguration", "RuntimeClass", "StorageClass",
        "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration", "VolumeAttachment",
    }
)  # fmt: skip
"""Cluster-scoped kinds of Kubernetes; unknown kinds are treated as namespaced."""
_TEMPLATES = (
    ("spec", "template"),
    ("spec", "jobTemplate"),
    ("spec", "jobTemplate", "spec", "template"),
)
_KINDS_WITH_SELECTOR = frozenset({"Deployment", "ReplicaSet", "DaemonSet", "StatefulSet"})


def set_namespace(config: Object, package: Package) -> list[Result]:
    """Move namespaced objects to a namespace, and update the references to it."""
    wanted = parameters(config).get("namespace")
    if not wanted or not isinstance(wanted, str):
        raise Failed("config is needed: `namespace` must not be empty")
    return _change_each(
        package, lambda tree: _set_namespace(tree, wanted), f'set namespace to "{wanted}"'
    )


def _set_namespace(tree: Any, namespace: str) -> None:
    kind = tree.get("kind")
    if kind == "Namespace":
        documents.descend(tree, "metadata")["name"] = namespace
    elif kind not in _CLUSTER:
        documents.descend(tree, "metadata")["namespace"] = namespace
    if kind in ("RoleBinding", "ClusterRoleBinding"):
        for subject in tree.get("subjects") or ():
            if subject.get("kind") == "ServiceAccount":
                subject["namespace"] = namespace


def set_labels(config: Object, package: Package) -> list[Result]:
    """Set labels on objects, on their pod templates and in their selectors."""
    wanted = _pairs(config, "labels")

    def change(tree: Any) -> None:
        documents.descend(tree, "metadata", "labels").update(wanted)
        for template in _templates(tree):
            documents.descend(template, "metadata", "labels").update(wanted)
        spec = tree.get("spec")
        if not isinstance(spec, dict):
            return
        if tree.get("kind") == "Service" and isinstance(spec.get("selector"), dict):
            spec["selector"].update(wanted)
        if tree.get("kind") in _KINDS_WITH_SELECTOR:
            documents.descend(spec, "selector", "matchLabels").update(wanted)

    return _change_each(package, change, "set labels")


def set_annotations(config: Object, package: Package) -> list[Result]:
    """Set annotations on objects and on their pod templates."""
    wanted = _pairs(config, "annotations")

    def change(tree: Any) -> None:
        documents.descend(tree, "metadata", "annotations").update(wanted)
        for template in _templates(tree):
            documents.descend(template, "metadata", "annotations").update(wanted)

    return _change_each(package, change, "set annotations")


def _pairs(config: Object, member: str) -> dict[str, str]:
    found = parameters(config, member)
    if not found:
        raise Failed(f"config is needed: {member} must not be empty")
    return {str(key): str(value) for key, value in found.items()}


def _change_each(package: Package, change: Any, message: str) -> list[Result]:
    changed: list[Document] = [each for each in package.mutable if each.edit(change)]
    return [Result(message, each) for each in changed]


def _templates(tree: Any) -> Iterator[Any]:
    for path in _TEMPLATES:
        node = tree
        for name in path:
            node = node.get(name) if isinstance(node, dict) else None
        if isinstance(node, dict):
            yield node
