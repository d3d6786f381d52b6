"""References of variables and files to fields of their pod and to resources of a container.

Follows core validation validateObjectFieldSelector, validateContainerResourceFieldSelector and
pkg/apis/core/pods ConvertDownwardAPIFieldLabel.
"""

import re
from collections.abc import Collection

from inkube.schemas import fielderrors
from inkube.schemas.builtin.rules.frames import Frame
from inkube.schemas.fielderrors import FieldError
from inkube.schemas.metadata import names
from inkube.schemas.objects import Object

IN_VARIABLES = frozenset({
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
    "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
})  # fmt: skip
IN_VOLUMES = frozenset({
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace",
    "metadata.uid",
})  # fmt: skip
_KNOWN = IN_VARIABLES | IN_VOLUMES | {"spec.restartPolicy", "spec.schedulerName", "status.phase"}
_RESOURCES = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu",
    "requests.ephemeral-storage", "requests.memory",
)  # fmt: skip
_HUGE = ("limits.hugepages-", "requests.hugepages-")
_SIZES = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"
_DIVISORS: dict[str, tuple[str, str]] = {
    "cpu": ("1m, 1", "only divisor's values 1m and 1 are supported with the cpu resource"),
    "memory": (_SIZES, f"only divisor's values {_SIZES} are supported with the memory resource"),
    "ephemeral-storage": (
        _SIZES,
        f"only divisor's values {_SIZES} are supported with the local ephemeral storage resource",
    ),
    "hugepages": (
        _SIZES,
        f"only divisor's values {_SIZES} are supported with the hugepages resource",
    ),
}
_SUBSCRIPT = re.compile(r"(.*)\['(.*)'\]", re.DOTALL)


def field(reference: Object, path: str, allowed: Collection[str]) -> list[FieldError]:
    """Check a reference to a field of the pod."""
    version, given = reference.get("apiVersion", ""), reference.get("fieldPath", "")
    place = f"{path}.fieldPath"
    if not version:
        return [fielderrors.required(f"{path}.apiVersion")]
    if not given:
        return [fielderrors.required(place)]
    found = _SUBSCRIPT.fullmatch(given)
    label = found[1] if found is not None else given
    trouble = ""
    if version != "v1":
        trouble = f"unsupported pod version: {version}"
    elif found is not None and label not in ("metadata.annotations", "metadata.labels"):
        trouble = f"field label does not support subscript: {given}"
    elif label not in _KNOWN and label != "spec.host":
        trouble = f"field label not supported: {given}"
    if trouble:
        why = f"error converting fieldPath: {trouble}"
        return [fielderrors.invalid(place, given, why)]
    if found is not None:
        key = found[2].lower() if label == "metadata.annotations" else found[2]
        return [fielderrors.invalid(path, found[2], why) for why in names.label_key(key)]
    label = "spec.nodeName" if label == "spec.host" else label
    if label not in allowed:
        return [fielderrors.not_supported(place, label, sorted(allowed))]
    return []


def of_variable(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check a reference to a field of the pod in a variable."""
    return field(value, path, IN_VARIABLES)


def of_variable_resource(value: Object, path: str, _frame: Frame) -> list[FieldError]:
    """Check a reference to a resource of a container in a variable."""
    return resource(value, path)


def resource(reference: Object, path: str, *, volume: bool = False) -> list[FieldError]:
    """Check a reference to a resource of a container. In a volume, it must name the container."""
    given = reference.get("resource", "")
    errors = []
    if volume and not reference.get("containerName"):
        errors.append(fielderrors.required(f"{path}.containerName"))
    elif not given:
        errors.append(fielderrors.required(f"{path}.resource"))
    elif given not in _RESOURCES and not given.startswith(_HUGE):
        errors.append(fielderrors.not_supported(f"{path}.resource", given, _RESOURCES))
    return errors + _divisor(given, reference.get("divisor", "0"), path)


def _divisor(resource: str, divisor: str, path: str) -> list[FieldError]:
    kind = resource.partition(".")[2]
    allowed, why = _DIVISORS.get("hugepages" if resource.startswith(_HUGE) else kind, ("", ""))
    if not allowed or divisor in ("0", *allowed.split(", ")):
        return []
    return [fielderrors.invalid(f"{path}.divisor", resource, why)]
