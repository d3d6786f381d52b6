"""Validation of the metadata of built-in objects, and of the templates in them.

`schemas.metadata.objectmeta` contains the rules. Core kinds have one more, for finalizers. Follows
pkg/apis/core/validation ValidateObjectMeta.
"""

from inkube.schemas import fielderrors
from inkube.schemas.builtin import naming
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names, objectmeta
from inkube.schemas.objects import Object

_PLAIN = frozenset({
    "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io",
    "coordination.k8s.io", "node.k8s.io",
})  # fmt: skip
_PLAIN_KINDS = frozenset({("policy", "poddisruptionbudgets")})
"""Kinds with apimachinery's validation of metadata, without core's."""
_UNQUALIFIED = "name is neither a standard finalizer name nor is it fully qualified"
_STANDARD = frozenset({"kubernetes", "orphan", "foregroundDeletion"})


def validate(meta: Object, *, namespaced: bool, check: str) -> list[FieldError]:
    """Return the errors of metadata. `check` is a key of `naming.NAME_CHECKS`."""
    rule = naming.NAME_CHECKS[check]
    errors = objectmeta.validate(meta, namespaced=namespaced, name_check=rule)
    return list(errors)


_UNCOMPARED_STATUS = frozenset(
    {
        ("batch", "cronjobs"),
        ("flowcontrol.apiserver.k8s.io", "flowschemas"),
        ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
        ("policy", "poddisruptionbudgets"),
    }
)
"""The kinds whose strategy of /status does not call ValidateObjectMetaUpdate."""


def compares_on_status(group: str, plural: str) -> bool:
    """Return whether a write to /status compares the metadata with the old metadata."""
    return (group, plural) not in _UNCOMPARED_STATUS


def is_validated_last(group: str, plural: str) -> bool:
    """Return whether only rest.BeforeCreate validates the metadata of a new object, after the kind
    has accepted the rest."""
    return (group, plural) in _PLAIN_KINDS


def labels(pairs: dict[str, str], path: str) -> list[FieldError]:
    """Return the errors of labels: keys must be qualified names, values must be label values."""
    return list(objectmeta.label_errors(pairs, path))


def template(meta: Object, path: str) -> list[FieldError]:
    """Return the errors of the labels and annotations of a pod template."""
    errors = labels(meta.get("labels") or {}, f"{path}.labels")
    for key in meta.get("annotations") or {}:
        wrong = names.label_key(key.lower())
        errors += [fielderrors.invalid(f"{path}.annotations", key, why) for why in wrong]
    return errors


_OF_TEMPLATES = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation",
    "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences",
    "finalizers", "managedFields",
)  # fmt: skip


def only_labels(meta: Object, path: str) -> list[FieldError]:
    """Return errors for members of a claim template's metadata other than labels and annotations.

    An empty list also counts as set (ValidateTemplateObjectMeta, which writes uid as uID).
    """
    return [
        fielderrors.forbidden(f"{path}.{'uID' if member == 'uid' else member}", "cannot be set")
        for member in _OF_TEMPLATES
        if meta.get(member) is not None
    ]


def unknown_finalizer(name: str, path: str) -> list[FieldError]:
    """Return an error for a finalizer that is neither standard nor has a domain."""
    if "/" in name or name in _STANDARD:
        return []
    return [fielderrors.invalid(path, name, _UNQUALIFIED)]


def unqualified(group: str, plural: str, meta: Object) -> list[FieldError]:
    """Return errors for finalizers without a domain, which core validation requires. Some groups
    use no core validation."""
    if group in _PLAIN or (group, plural) in _PLAIN_KINDS:
        return []
    return [
        error
        for index, name in enumerate(meta.get("finalizers") or ())
        for error in unknown_finalizer(name, f"metadata.finalizers[{index}]")
    ]
